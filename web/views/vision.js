// A picture, and where the model looks in it.
import { headsOf } from '../capture.js';
import { choice, el, onceAFrame } from '../dom.js';
import { picker } from '../picker.js';
import { within } from '../store.js';
import { number, visible } from '../text.js';

/** The picture as the model saw it. @returns {Promise<HTMLImageElement>} */
function load({ png }) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.addEventListener('load', () => resolve(image));
    image.addEventListener(
      'error',
      () => reject(new Error('the picture in the capture cannot be read')),
    );
    image.src = `data:image/png;base64,${png}`;
  });
}

/** What covers a picture so that it shows: light over a dark one, dark over a light one. */
function veilColour(image) {
  const side = 16;
  const canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { width: side, height: side }));
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(image, 0, 0, side, side);
  const { data } = context.getImageData(0, 0, side, side);
  let light = 0;
  for (let i = 0; i < data.length; i += 4) {
    light += 0.2126 * data[i] + 0.7152 * data[i + 1] + 0.0722 * data[i + 2];
  }
  return light / (side * side) < 110 ? [160, 172, 248] : [10, 12, 24];
}

/** One pixel a patch, the more opaque the less it is looked at. @returns {HTMLCanvasElement} */
function veil(rows, columns, weights, strength, colour) {
  const canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { width: columns, height: rows }));
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, rows);
  const most = Math.max(...weights, 1e-12);
  weights.forEach((weight, index) => {
    const share = Math.sqrt(Math.max(0, weight) / most);
    image.data.set([...colour, Math.round(255 * strength * 0.86 * (1 - share))], 4 * index);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Lays weights over the picture: a veil that opens where the model looks.
 * @param {HTMLCanvasElement} canvas @param {number[]} weights of the patches
 */
function lay(canvas, image, { rows, columns }, weights, strength, grid) {
  const context = canvas.getContext('2d');
  const { width, height } = canvas;
  context.imageSmoothingEnabled = image.width > width;
  context.drawImage(image, 0, 0, width, height);
  context.imageSmoothingEnabled = false;
  const colour = veilColour(image);
  context.drawImage(veil(rows, columns, weights, strength, colour), 0, 0, width, height);
  if (!grid) return;
  const [w, h] = [width / columns, height / rows];
  context.strokeStyle = 'rgb(128 128 128 / 0.3)';
  context.lineWidth = 1;
  context.beginPath();
  for (let i = 1; i < columns; ++i) {
    context.moveTo(Math.round(i * w) + 0.5, 0), context.lineTo(Math.round(i * w) + 0.5, height);
  }
  for (let i = 1; i < rows; ++i) {
    context.moveTo(0, Math.round(i * h) + 0.5), context.lineTo(width, Math.round(i * h) + 0.5);
  }
  context.stroke();
}

class VisionView {
  /** @param {import('../app.js').Context} context */
  constructor(context) {
    this.context = context;
    this.picture = context.capture.meta.image;
    /** @type {HTMLImageElement | undefined} */
    this.image = undefined;
    this.controls = el('div', {});
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', {
      class: 'picture',
      tabindex: 0,
      role: 'application',
    }));
    this.reading = el('p', { class: 'reading-line', role: 'status', 'aria-live': 'polite' });
    this.strip = el('div', { class: 'overlays', role: 'group', 'aria-label': 'Heads' });
    this.strength = el('input', {
      type: 'range',
      min: 0,
      max: 100,
      value: 100,
      'aria-label': 'Strength of the veil',
      oninput: () => this.draw(),
    });
    this.element = el(
      'div',
      { class: 'vision-view' },
      this.controls,
      el(
        'div',
        { class: 'split' },
        el('div', { class: 'card' }, this.canvas, this.reading),
        el('div', { class: 'card' }, this.strip),
      ),
    );
    this.draw = onceAFrame(() => this.#paint());
    this.canvas.addEventListener('pointermove', (event) => this.#point(event));
    this.canvas.addEventListener('pointerleave', () => context.tooltip.hide());
    this.canvas.addEventListener('click', (event) => this.#ask(this.#patchAt(event)));
    this.canvas.addEventListener('keydown', (event) => this.#key(event));
  }

  /** The map that is chosen: one head, the mean of heads, or the rollout. */
  #map(attention, overlay) {
    const { capture } = this.context;
    if (overlay === 'rollout') return capture.map(capture.meta.rollout.encoder);
    return capture.headMap(attention, overlay === 'mean' ? 'mean' : Number(overlay));
  }

  async update(state) {
    const { capture, store } = this.context;
    const attention = capture.attention(state.attention);
    this.image ??= await load(this.picture);
    const overlays = [
      ...headsOf(attention).map(String),
      'mean',
      ...(capture.meta.rollout?.encoder ? ['rollout'] : []),
    ];
    this.overlay = overlays.includes(state.overlay) ? state.overlay : overlays.at(-1);
    this.row = within(state.from_patch, capture.tokens('encoder').length, 0);
    const line = picker(this.context, { heads: false });
    line.append(
      el('label', { class: 'field' }, el('span', {}, 'Veil'), this.strength),
      choice(
        'From',
        capture.tokens('encoder').map((
          { text },
          i,
        ) => [String(i), i < this.picture.prefix ? visible(text) : `patch ${this.#name(i)}`]),
        String(this.row),
        (from) => store.set({ from_patch: from }),
      ),
    );
    this.controls.replaceChildren(line);
    const maps = await Promise.all(overlays.map((overlay) => this.#map(attention, overlay)));
    this.weights = overlays.map((_, i) => maps[i].row(this.row));
    this.overlays = overlays;
    this.#fillStrip(overlays);
    this.#describe();
    this.draw();
  }

  #name(token) {
    const at = token - this.picture.prefix;
    return `${Math.floor(at / this.picture.columns)},${at % this.picture.columns}`;
  }

  #label(overlay) {
    return { mean: 'mean of heads', rollout: 'rollout, all layers' }[overlay] ?? `head ${overlay}`;
  }

  #fillStrip(overlays) {
    const { store } = this.context;
    const ratio = this.picture.height / this.picture.width;
    this.strip.replaceChildren(...overlays.map((overlay, index) => {
      const canvas = /** @type {HTMLCanvasElement} */ (el('canvas', {
        width: 168,
        height: Math.round(168 * ratio),
        'aria-hidden': 'true',
      }));
      lay(
        canvas,
        this.image,
        this.picture,
        this.weights[index].slice(this.picture.prefix),
        1,
        false,
      );
      return el(
        'button',
        {
          type: 'button',
          class: 'overlay',
          'aria-pressed': String(overlay === this.overlay),
          data: { overlay },
          onclick: () => store.set({ overlay }),
        },
        canvas,
        el('span', {}, this.#label(overlay)),
      );
    }));
  }

  #current() {
    return this.weights[this.overlays.indexOf(this.overlay)];
  }

  #describe() {
    const { capture } = this.context;
    const weights = this.#current();
    const { prefix } = this.picture;
    const best =
      weights.slice(prefix).reduce((at, weight, i, all) => (weight > all[at] ? i : at), 0) + prefix;
    const outside = weights.slice(0, prefix).reduce((sum, weight) => sum + weight, 0);
    const from = this.row < prefix
      ? visible(capture.tokens('encoder')[this.row].text)
      : `patch ${this.#name(this.row)}`;
    const layer = this.overlay === 'rollout'
      ? ''
      : `layer ${capture.attention(this.context.store.state.attention).layer}, `;
    this.reading.textContent =
      `From ${from}, ${layer}${this.#label(this.overlay)}: most on patch ${this.#name(best)} (${
        number(weights[best], 4)
      })` +
      `${
        prefix
          ? `; ${number(outside, 4)} stays on ${
            capture.tokens('encoder').slice(0, prefix).map(({ text }) => visible(text)).join(', ')
          }`
          : ''
      }.`;
    this.canvas.setAttribute(
      'aria-label',
      `${this.reading.textContent} Arrow keys choose the patch to look from, Escape goes back to the first token.`,
    );
  }

  #paint() {
    if (!this.image) return;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.min(
      this.canvas.parentElement.clientWidth - 32,
      560,
      (window.innerHeight * 0.62 * this.picture.width) / this.picture.height,
    );
    const height = (width * this.picture.height) / this.picture.width;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    const strength = Number(/** @type {HTMLInputElement} */ (this.strength).value) / 100;
    lay(
      this.canvas,
      this.image,
      this.picture,
      this.#current().slice(this.picture.prefix),
      strength,
      true,
    );
    if (this.row < this.picture.prefix) return;
    const at = this.row - this.picture.prefix;
    const [w, h] = [
      this.canvas.width / this.picture.columns,
      this.canvas.height / this.picture.rows,
    ];
    const context = this.canvas.getContext('2d');
    context.strokeStyle = '#ffd166';
    context.lineWidth = 2 * ratio;
    context.strokeRect(
      (at % this.picture.columns) * w,
      Math.floor(at / this.picture.columns) * h,
      w,
      h,
    );
  }

  /** The token of the patch under the pointer. */
  #patchAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * this.picture.columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * this.picture.rows);
    return this.picture.prefix +
      Math.max(0, Math.min(this.picture.rows - 1, row)) * this.picture.columns +
      Math.max(0, Math.min(this.picture.columns - 1, column));
  }

  #point(event) {
    if (!this.weights) return;
    const token = this.#patchAt(event);
    this.context.tooltip.show(
      event,
      el('div', {}, `patch ${this.#name(token)}, ${this.#label(this.overlay)}`),
      el('b', {}, number(this.#current()[token], 5)),
    );
  }

  #ask(token) {
    this.context.store.set({ from_patch: String(token === this.row ? 0 : token) });
  }

  #key(event) {
    const { prefix, rows, columns } = this.picture;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (event.key === 'Escape') this.#ask(this.row);
    else if (step) {
      const next = this.row < prefix ? prefix : this.row + step;
      if (next >= prefix && next < prefix + rows * columns) this.#ask(next);
    } else return;
    event.preventDefault();
  }
}

/** @type {import('../app.js').View} */
export const visionView = {
  id: 'vision',
  title: 'Picture',
  applies: (capture) => Boolean(capture.meta.image?.png) && capture.attentions.length > 0,
  open(context) {
    const view = new VisionView(context);
    return { element: view.element, update: (state) => view.update(state) };
  },
};
