// Where captures come from. A page from disk carries its own; a server can hand over other objects
// with the same members.
import { decodeCodes, halvesToFloats } from './codec.js';

/**
 * @typedef {object} TensorEntry
 * @property {string} name
 * @property {number[]} shape
 * @property {'root' | 'half'} type  root: a weight in [0, 1] by its square root; half: a float16
 * @property {number} scale  what a half is multiplied by
 * @typedef {object} Tensor
 * @property {number[]} shape
 * @property {Uint16Array} [codes]  of a `root` tensor, see codec.js
 * @property {Float32Array} [values]  of a `half` tensor
 * @typedef {object} Source
 * @property {any} meta
 * @property {Map<string, number[]>} shapes  of every tensor there is
 * @property {(name: string) => Promise<Tensor>} tensor
 */

/** @param {Document} document @param {string} id */
function block(document, id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`it has no block “${id}”`);
  return found;
}

/** One of the captures in the page. @param {Document} document @returns {Source} */
function openEmbedded(document, number) {
  /** @type {TensorEntry[]} */
  const entries = JSON.parse(block(document, `tensors-${number}`).textContent);
  const places = new Map(entries.map((entry, index) => [entry.name, index]));
  return {
    meta: JSON.parse(block(document, `meta-${number}`).textContent),
    shapes: new Map(entries.map(({ name, shape }) => [name, shape])),
    async tensor(name) {
      const index = places.get(name);
      if (index === undefined) throw new Error(`the capture has no tensor “${name}”`);
      const { shape, type, scale } = entries[index];
      const count = shape.reduce((product, size) => product * size, 1);
      const text = block(document, `tensor-${number}-${index}`).textContent.trim();
      const codes = await decodeCodes(text, count);
      return type === 'root' ? { shape, codes } : { shape, values: halvesToFloats(codes, scale) };
    },
  };
}

/** All captures in the page, at least one. @param {Document} document @returns {Source[]} */
export function allEmbedded(document) {
  const sources = [openEmbedded(document, 0)];
  while (document.getElementById(`meta-${sources.length}`)) {
    sources.push(openEmbedded(document, sources.length));
  }
  return sources;
}
