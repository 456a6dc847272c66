// The captured steps of one query: which there are, in the order in which the layer runs them.
import { attend, dot, scaleOf, weightedSum } from './equations.js';

/** @typedef {import('./capture.js').Attention} Attention */

const FEED_FORWARD = ['up', 'gate', 'hidden', 'output'];
const WORDS = {
  norm: [
    'Norm',
    'Brings the vector to an even size, number by number scaled and shifted as learned.',
  ],
  residual: [
    'Residual',
    'What came in plus what was added to it: the stream that runs through all layers.',
  ],
  'feed_forward.up': ['Feed-forward, up', 'The vector widened, before the activation.'],
  'feed_forward.gate': ['Feed-forward, gate', 'A second widening that lets the first through.'],
  'feed_forward.hidden': [
    'Feed-forward, hidden',
    'After the activation: each number is a feature that fires or not.',
  ],
  'feed_forward.output': ['Feed-forward, output', 'Back to the width of the model.'],
  'self_attention.output': ['Self-attention', 'What self-attention adds.'],
  'cross_attention.output': ['Cross-attention', 'What the look at the encoder adds.'],
};

/** Whether norms come before the sub-layers. */
function normsFirst(capture, side) {
  const lines = capture.meta.model.description ?? [];
  const line = lines.find((text) => text.startsWith(side)) ?? lines.join(' ');
  return /\bpre\b/.test(line);
}

/**
 * The steps of the layer around an attention, in order, as far as they were captured.
 * @param {import('./capture.js').Capture} capture @param {Attention} attention
 * @returns {{before: {name: string, words: string[]}[], after: {name: string, words: string[]}[]}}
 */
export function layerSteps(capture, attention) {
  const layer = attention.name.slice(0, attention.name.lastIndexOf('.'));
  const crossed = capture.meta.attentions.some(({ name }) => name === `${layer}.cross_attention`);
  const first = normsFirst(capture, attention.queries);
  const parts = [
    ['self_attention.output'],
    ...(crossed ? [['cross_attention.output']] : []),
    FEED_FORWARD.map((step) => `feed_forward.${step}`),
  ];
  const all = parts.flatMap((
    part,
    i,
  ) => (first
    ? [`norm_${i + 1}`, ...part, `residual_${i + 1}`]
    : [...part, `residual_${i + 1}`, `norm_${i + 1}`])
  );
  const own = all.indexOf(`${attention.name.slice(layer.length + 1)}.output`);
  const named = (names) =>
    names.map((name) => ({
      name: `${layer}.${name}`,
      words: WORDS[name] ?? WORDS[name.replace(/_\d$/, '')],
    }))
      .filter(({ name }) => capture.has(name));
  return { before: first ? named(all.slice(own - 1, own)) : [], after: named(all.slice(own)) };
}

/** Rows of a [heads, tokens, size] tensor. @param {import('./source.js').Tensor} tensor */
function rowsOf({ shape: [, tokens, size], values }, head) {
  return (token) =>
    values.subarray((head * tokens + token) * size, (head * tokens + token + 1) * size);
}

/**
 * Everything that is known of one query of one head.
 * @param {import('./capture.js').Capture} capture @param {Attention} attention @param {number} head @param {number} row
 */
export async function queryThroughHead(capture, attention, head, row) {
  const part = (name) => capture.tensor(`${attention.name}.${name}`);
  const [queries, keys, values, map] = await Promise.all([
    part('query'),
    part('key'),
    part('value'),
    capture.headMap(attention, head),
  ]);
  const shared = (tensor) => Math.floor((head * tensor.shape[0]) / attention.heads); // Fewer key heads serve several.
  const key = rowsOf(keys, shared(keys));
  const value = rowsOf(values, shared(values));
  const query = rowsOf(queries, shared(queries))(row);
  const size = query.length;
  const followed = capture.meta.steps.row?.[attention.queries] === row;
  const captured = async (name) => {
    if (!followed || !capture.has(`${attention.name}.${name}`)) return null;
    const { shape, values: all } = await part(name);
    const at = Math.floor((head * shape[0]) / attention.heads);
    return all.subarray(at * shape.at(-1), (at + 1) * shape.at(-1));
  };
  const [scaled, masked] = await Promise.all([
    captured('scaled_scores'),
    captured('masked_scores'),
  ]);
  const count = keys.shape[1];
  const scores = Array.from({ length: count }, (_, j) => dot(query, key(j)));
  const scale = scaled ? scaleOf(scores, scaled, size) : 1 / Math.sqrt(size);
  const hidden = (j) => attention.causal && j > row + count - queries.shape[1];
  const mask = masked && scaled
    ? (score, j) => (masked[j] === -Infinity ? -Infinity : score + (masked[j] - scaled[j]))
    : (score, j) => (hidden(j) ? -Infinity : score);
  const work = attend({ query, key, keys: count, scale, mask });
  const weights = map.row(row);
  return {
    ...work,
    query,
    key,
    value,
    size,
    scale,
    count,
    captured: weights,
    followed,
    knownMask: Boolean(masked),
    output: weightedSum(weights, value, values.shape[2]),
  };
}

/** The outputs of all heads for one query, next to each other. */
export async function concatenation(capture, attention, row, heads) {
  const { shape, values } = await capture.tensor(`${attention.name}.value`);
  const size = shape[2];
  const whole = new Float32Array(heads.length * size);
  for (const [place, head] of heads.entries()) {
    const map = await capture.headMap(attention, head);
    const value = rowsOf({ shape, values }, Math.floor((head * shape[0]) / attention.heads));
    whole.set(weightedSum(map.row(row), value, size), place * size);
  }
  return whole;
}
