// What the views read: the capture's meta by the questions that they ask, and its tensors, each
// decoded once.
import { codeOf, weightOf } from './codec.js';
import { HeadMap } from './head_map.js';

/**
 * @typedef {object} Attention  one attention layer, as in meta.attentions
 * @property {string} name
 * @property {number} layer
 * @property {'self' | 'cross'} kind
 * @property {string} queries  the side whose tokens ask
 * @property {string} keys
 * @property {number} heads
 * @property {number} head_size
 * @property {boolean} causal
 * @property {Record<string, (number | null)[]>} [measures]
 * @property {number[]} [kept_heads]  those whose weights are inside; all where there is none
 * @typedef {{id: number, text: string}} Token
 * @typedef {{id: string, title: string, attentions: Attention[]}} Group  the layers of one kind
 */

/** Two captured tensors may differ by rounding; weights are kept to half a step of their root. */
export const WEIGHT_ERROR = 1 / 65535;

/** @param {any} meta @returns {Group[]} */
function groupsOf(meta) {
  const sides = Object.keys(meta.sides ?? {});
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const attention of meta.attentions ?? []) {
    const id = `${attention.queries}-${attention.kind}`;
    const side = attention.queries === 'encoder' ? 'Encoder' : 'Decoder';
    const title = attention.kind === 'cross'
      ? 'Cross-attention'
      : sides.length > 1
      ? `${side} self-attention`
      : 'Self-attention';
    if (!groups.has(id)) groups.set(id, { id, title, attentions: [] });
    groups.get(id).attentions.push(attention);
  }
  return [...groups.values()];
}

/** Tokens of a picture that was captured without names for them. @returns {Token[]} */
function patchTokens({ prefix, rows, columns }) {
  const names = ['[CLS]', '[DIST]'].slice(0, prefix);
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) names.push(`${row},${column}`);
  }
  return names.map((text, id) => ({ id, text }));
}

export class Capture {
  /** @type {Map<string, Promise<any>>} */
  #kept = new Map();

  /** @param {import('./source.js').Source} source */
  constructor(source) {
    this.source = source;
    this.meta = source.meta;
    this.groups = groupsOf(source.meta);
    /** @type {Attention[]} */
    this.attentions = this.groups.flatMap((group) => group.attentions)
      .filter((attention) => this.has(`${attention.name}.weights`));
  }

  /** @param {string} tensor */
  has(tensor) {
    return this.source.shapes.has(tensor);
  }

  /** @param {string} name @returns {Attention | undefined} */
  attention(name) {
    return this.attentions.find((attention) => attention.name === name);
  }

  /** @param {Attention} attention @returns {Group} */
  groupOf(attention) {
    return this.groups.find((group) => group.attentions.includes(attention));
  }

  /** @param {string} side @returns {Token[]} */
  tokens(side) {
    const found = this.meta.sides?.[side]?.tokens;
    return found ?? (this.meta.image ? patchTokens(this.meta.image) : []);
  }

  /** @param {string} name @returns {Promise<import('./source.js').Tensor>} */
  tensor(name) {
    return this.#once(name, () => this.source.tensor(name));
  }

  /** The values of a tensor that is not made of weights. @returns {Promise<Float32Array>} */
  async values(name) {
    const { values, codes } = await this.tensor(name);
    return values ?? Float32Array.from(codes, weightOf);
  }

  /**
   * The weights of one head [queries, keys]; of head 'mean', those of all on average.
   * @param {Attention} attention @param {number | 'mean'} head @returns {Promise<HeadMap>}
   */
  headMap(attention, head) {
    return this.#once(`${attention.name}#${head}`, async () => {
      const tensor = await this.tensor(`${attention.name}.weights`);
      const maps = splitHeads(tensor);
      return head === 'mean' ? meanOf(maps) : maps[headsOf(attention).indexOf(head)];
    });
  }

  /** @param {string} name of a tensor [queries, keys] @returns {Promise<HeadMap>} */
  map(name) {
    return this.#once(`${name}#map`, async () => {
      const { shape, codes, values } = await this.tensor(name);
      return splitHeads({ shape: [1, ...shape], codes, values })[0];
    });
  }

  #once(key, make) {
    if (!this.#kept.has(key)) this.#kept.set(key, make());
    return this.#kept.get(key);
  }
}

/** The heads whose weights are inside. @param {Attention} attention @returns {number[]} */
export function headsOf(attention) {
  return attention.kept_heads?.length
    ? attention.kept_heads
    : Array.from({ length: attention.heads }, (_, head) => head);
}

/** @param {import('./source.js').Tensor} tensor [heads, queries, keys] */
function splitHeads({ shape: [heads, rows, columns], codes, values }) {
  const all = codes ?? Uint16Array.from(values, (value) => codeOf(Math.min(1, Math.max(0, value))));
  return Array.from(
    { length: heads },
    (_, head) =>
      new HeadMap(rows, columns, all.subarray(head * rows * columns, (head + 1) * rows * columns)),
  );
}

/** @param {HeadMap[]} maps */
function meanOf(maps) {
  const [{ rows, columns }] = maps;
  const sums = new Float64Array(rows * columns);
  for (const { codes } of maps) for (let i = 0; i < sums.length; ++i) sums[i] += weightOf(codes[i]);
  return new HeadMap(rows, columns, Uint16Array.from(sums, (sum) => codeOf(sum / maps.length)));
}
