// A vector as a strip of colours with its first numbers beside it; all of them when it is opened.
import { el } from './dom.js';
import { number } from './text.js';

/** @param {ArrayLike<number>} values */
export function largest(values) {
  let most = 0;
  for (let i = 0; i < values.length; ++i) {
    if (Number.isFinite(values[i])) most = Math.max(most, Math.abs(values[i]));
  }
  return most;
}

/**
 * @param {import('./app.js').Context} context @param {ArrayLike<number>} values
 * @param {{most?: number, label: string}} options most: the value of the strongest colour
 */
export function stripCanvas({ palette, tooltip }, values, { most = largest(values), label }) {
  const canvas = /** @type {HTMLCanvasElement} */ (el('canvas', {
    class: 'strip',
    width: values.length,
    height: 1,
    role: 'img',
    'aria-label': `${label}: ${values.length} numbers`,
  }));
  const context = canvas.getContext('2d');
  const image = context.createImageData(values.length, 1);
  const pixels = new Uint32Array(image.data.buffer);
  const scale = palette().signed;
  for (let i = 0; i < values.length; ++i) {
    const share = most > 0 ? Math.max(-1, Math.min(1, values[i] / most)) || 0 : 0;
    pixels[i] = scale[Math.round(127.5 + 127.5 * Math.sign(share) * Math.sqrt(Math.abs(share)))];
  }
  context.putImageData(image, 0, 0);
  canvas.addEventListener('pointermove', (event) => {
    const box = canvas.getBoundingClientRect();
    const index = Math.max(
      0,
      Math.min(
        values.length - 1,
        Math.floor(((event.clientX - box.left) / box.width) * values.length),
      ),
    );
    tooltip.show(
      event,
      el('div', {}, `${label} [${index}]`),
      el('b', {}, number(values[index], 5)),
    );
  });
  canvas.addEventListener('pointerleave', () => tooltip.hide());
  return canvas;
}

/** All numbers of a vector, for reading. */
function listing(values) {
  return el(
    'div',
    { class: 'numbers' },
    Array.from(values, (value, index) => el('span', { title: String(index) }, number(value, 3))),
  );
}

/** The first numbers: "[0.312, −1.204, …]". */
function preview(values) {
  const first = Array.from(values).slice(0, 10).map((value) => number(value, 3));
  return `[${first.join(', ')}${values.length > first.length ? ', …' : ''}]`;
}

/**
 * A named vector: strip, size, length, and its numbers to unfold.
 * @param {import('./app.js').Context} context @param {string} label @param {ArrayLike<number>} values
 * @param {{most?: number, name?: string}} [options] name: that of the step, as the probe has it
 */
export function vector(context, label, values, { most, name } = {}) {
  let sum = 0;
  for (let i = 0; i < values.length; ++i) sum += values[i] * values[i];
  const details = el(
    'details',
    { class: 'vector', data: { vector: name ?? label } },
    el(
      'summary',
      {},
      el('span', { class: 'vector-name' }, label),
      stripCanvas(context, values, { most, label }),
      el(
        'span',
        { class: 'vector-size' },
        `${values.length} numbers, length ${number(Math.sqrt(sum), 2)}`,
      ),
      el('span', { class: 'preview' }, preview(values)),
    ),
  );
  details.addEventListener('toggle', () => {
    if (/** @type {HTMLDetailsElement} */ (details).open && !details.querySelector('.numbers')) {
      details.append(listing(values));
    }
  });
  return details;
}
