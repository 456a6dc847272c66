// One head as a map that can be zoomed from all tokens to single cells.
import { css } from '../colour.js';
import { choice, el, fitCanvas, onceAFrame } from '../dom.js';
import { LONG } from '../head_map.js';
import { picker, placeOf } from '../picker.js';
import { within } from '../store.js';
import { number, shorten, tokenText, visible } from '../text.js';
import { Viewport } from '../viewport.js';

const RIGHT = 30; // CSS pixels beside the map, for the last slanted label
const LABEL_FROM = 11; // CSS pixels a cell must have before its token is written

/** The colours and what they stand for. */
function legend(palette, gain) {
  const canvas = /** @type {HTMLCanvasElement} */ (el('canvas', {
    width: 256,
    height: 1,
    'aria-hidden': 'true',
  }));
  const context = canvas.getContext('2d');
  for (let i = 0; i < 256; ++i) {
    context.fillStyle = css(palette.weights, i);
    context.fillRect(i, 0, 1, 1);
  }
  const most = 1 / gain ** 2;
  const weights = gain === 1 ? [0, 0.01, 0.1, 0.25, 0.5, 1] : [0, most / 16, most / 4, most];
  const ticks = weights.map((weight) => {
    const tick = el(
      'span',
      {},
      gain === 1
        ? String(weight)
        : `${weight ? number(weight, 4) : 0}${weight === most ? ' +' : ''}`,
    );
    tick.style.left = `${100 * Math.sqrt(weight / most)}%`;
    return tick;
  });
  return el(
    'div',
    {
      class: 'legend',
      role: 'img',
      'aria-label': `Colour scale from 0 to ${number(most, 4)}, by the square root`,
    },
    canvas,
    el('div', { class: 'ticks' }, ticks),
  );
}

class MatrixView {
  /** @param {import('../app.js').Context} context */
  constructor(context) {
    this.context = context;
    /** @type {import('../head_map.js').Summary} */
    this.summary = 'max';
    this.controls = el('div', {});
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', {
      tabindex: 0,
      role: 'application',
      'aria-label':
        'Attention matrix. Arrow keys move from cell to cell, plus and minus zoom, 0 shows everything.',
    }));
    this.stage = el('div', { class: 'card stage' }, this.canvas);
    this.legend = el('div', {});
    this.gain = 1;
    this.reading = el('p', { class: 'reading-line', role: 'status', 'aria-live': 'polite' });
    this.element = el(
      'div',
      { class: 'matrix-view' },
      this.controls,
      this.stage,
      this.reading,
      this.legend,
    );
    this.draw = onceAFrame(() => this.#paint());
    this.viewport = new Viewport(this.canvas, {
      changed: this.draw,
      pointed: (place, event) => this.#point(place, event),
    });
    this.sizes = new ResizeObserver(() => this.#fit());
    this.sizes.observe(this.stage);
    this.canvas.addEventListener('keydown', (event) => this.#key(event));
  }

  close() {
    this.sizes.disconnect();
  }

  /** @param {import('../store.js').State} state */
  async update(state) {
    const { capture } = this.context;
    const attention = capture.attention(state.attention);
    this.controls.replaceChildren(this.#controls(state));
    const summary = state.summary === 'mean' ? 'mean' : 'max';
    const place = `${state.attention} ${state.head} ${summary}`;
    if (place !== this.place) {
      this.place = place;
      this.canvas.dataset.ready = '';
      const map = await capture.headMap(
        attention,
        state.head === 'mean' ? 'mean' : Number(state.head),
      );
      await map.prepare(summary);
      if (place !== this.place || !this.canvas.isConnected) return; // Another head was chosen meanwhile.
      this.map = map;
      this.summary = summary;
      this.queries = capture.tokens(attention.queries);
      this.keys = capture.tokens(attention.keys);
      this.cursor = {
        row: within(state.query, map.rows, 0),
        column: within(state.key, map.columns, 0),
      };
      this.#fit();
      this.canvas.dataset.ready = place;
    }
    if (!this.map) return;
    this.gain = this.#colours(state) === 'stretched' ? this.map.stretch : 1;
    this.legend.replaceChildren(legend(this.context.palette(), this.gain));
    this.#say();
    this.draw();
  }

  /**
   * How colours are chosen: as the reader says, otherwise by the number of keys.
   * @param {import('../store.js').State} state
   */
  #colours({ attention, colours }) {
    const { capture } = this.context;
    const count = capture.tokens(capture.attention(attention).keys).length;
    return colours ?? (count > LONG ? 'stretched' : 'plain');
  }

  #controls(state) {
    const { store } = this.context;
    const line = picker(this.context, { mean: true });
    const zoom = (label, text, act) =>
      el('button', {
        type: 'button',
        class: 'step',
        'aria-label': label,
        title: label,
        onclick: act,
      }, text);
    line.append(
      choice(
        'A pixel shows',
        [['max', 'the largest weight'], ['mean', 'the mean']],
        state.summary ?? 'max',
        (summary) => store.set({ summary }),
      ),
      choice(
        'Colours',
        [['plain', 'from 0 to 1'], ['stretched', 'stretched']],
        this.#colours(state),
        (colours) => store.set({ colours }),
      ),
      el(
        'div',
        { class: 'stepper' },
        zoom('Closer (+)', '+', () => this.viewport.zoom(2)),
        zoom('Further (−)', '−', () => this.viewport.zoom(0.5)),
        zoom('Everything (0)', '⤢', () => this.#fit(true)),
      ),
    );
    return line;
  }

  /** The frame inside the canvas, beside the labels; the map keeps its cells square where it can. */
  #fit(reset = false) {
    if (!this.map) return;
    const width = this.stage.clientWidth;
    const narrow = width < 520;
    const margin = { left: narrow ? 54 : 96, top: narrow ? 48 : 84 };
    const ratio = this.map.rows / this.map.columns;
    const room = Math.max(260, Math.min(window.innerHeight - 380, 900));
    let across = width - margin.left - RIGHT;
    let down = Math.min(room, across * Math.max(0.3, Math.min(ratio, 3)));
    if (ratio >= 0.3 && down / ratio < across) across = Math.max(200, down / ratio);
    down = Math.max(down, 120);
    this.frame = { ...margin, width: across, height: down };
    const changed = this.viewport.frame(this.frame, this.map.rows, this.map.columns);
    if (reset || changed) this.viewport.reset();
    this.draw();
  }

  #paint() {
    if (!this.map || !this.frame) return;
    const { left, top, width, height } = this.frame;
    const ratio = window.devicePixelRatio || 1;
    const context = fitCanvas(this.canvas, left + width + RIGHT, top + height);
    const image = context.createImageData(
      Math.max(1, Math.round(width * ratio)),
      Math.max(1, Math.round(height * ratio)),
    );
    this.map.paint(
      image,
      this.viewport.part,
      this.context.palette().weights,
      this.summary,
      this.gain,
    );
    context.putImageData(image, Math.round(left * ratio), Math.round(top * ratio));
    this.#grid(context);
    this.#labels(context);
    this.#captions(context);
    this.#mark(context);
  }

  #grid(context) {
    const { cell } = this.viewport;
    if (cell.width < 14 || cell.height < 14) return;
    const { left, top, width, height } = this.frame;
    context.strokeStyle = getComputedStyle(this.element).getPropertyValue('--line');
    context.lineWidth = 0.5;
    context.beginPath();
    for (const { at } of this.viewport.columns()) {
      context.moveTo(left + at, top), context.lineTo(left + at, top + height);
    }
    for (const { at } of this.viewport.rows()) {
      context.moveTo(left, top + at), context.lineTo(left + width, top + at);
    }
    context.stroke();
  }

  /** Tokens along the sides, or their numbers where there is no room for a token each. */
  #labels(context) {
    const style = getComputedStyle(this.element);
    const { left, top, width, height } = this.frame;
    const { cell } = this.viewport;
    const size = Math.max(9, Math.min(13, Math.min(cell.width, cell.height) * 0.8));
    context.font = `${size}px ${style.getPropertyValue('--text-font')}`;
    context.textBaseline = 'middle';
    context.direction = 'ltr';
    const write = (text, x, y, turn, strong) => {
      context.save();
      context.translate(x, y);
      if (turn) context.rotate(-Math.PI / 2.6);
      context.textAlign = turn ? 'left' : 'right';
      context.fillStyle = style.getPropertyValue(strong ? '--accent' : '--muted');
      context.fillText(text, 0, 0);
      context.restore();
    };
    const every = (extent) => Math.max(1, 10 ** Math.ceil(Math.log10(28 / extent)));
    const rows = cell.height >= LABEL_FROM ? 1 : every(cell.height);
    const columns = cell.width >= LABEL_FROM ? 1 : every(cell.width);
    const room = this.frame.left < 80 ? 7 : 12;
    for (const { index, at } of this.viewport.rows()) {
      const y = top + at + cell.height / 2;
      if (index % rows || y < top || y > top + height) continue;
      write(
        rows === 1 ? shorten(visible(this.queries[index].text), room) : String(index),
        left - 6,
        y,
        false,
        index === this.cursor.row,
      );
    }
    for (const { index, at } of this.viewport.columns()) {
      const x = left + at + cell.width / 2;
      if (index % columns || x < left || x > left + width) continue;
      write(
        columns === 1 ? shorten(visible(this.keys[index].text), room) : String(index),
        x,
        top - 7,
        true,
        index === this.cursor.column,
      );
    }
  }

  /** Which way is which. */
  #captions(context) {
    const { left, top } = this.frame;
    context.font = `11px ${getComputedStyle(this.element).getPropertyValue('--text-font')}`;
    context.textAlign = 'right';
    context.fillStyle = getComputedStyle(this.element).getPropertyValue('--faint');
    context.fillText(left < 80 ? 'at →' : 'looks at →', left - 8, top - 24);
    context.fillText('from ↓', left - 8, top - 9);
  }

  #mark(context) {
    const { left, top, width, height } = this.frame;
    const { cell } = this.viewport;
    const { x, y } = this.viewport.corner(this.cursor.row, this.cursor.column);
    context.save();
    context.beginPath();
    context.rect(left - 1, top - 1, width + 2, height + 2);
    context.clip();
    context.strokeStyle = getComputedStyle(this.element).getPropertyValue('--mark');
    context.lineWidth = 2;
    const [w, h] = [Math.max(7, cell.width), Math.max(7, cell.height)];
    context.strokeRect(left + x + cell.width / 2 - w / 2, top + y + cell.height / 2 - h / 2, w, h);
    context.restore();
  }

  /** @param {{row: number, column: number} | null} place @param {PointerEvent | MouseEvent | null} event a click when it is one */
  #point(place, event) {
    const { tooltip, store } = this.context;
    if (!place || !this.map) return tooltip.hide();
    const { row, column } = place;
    tooltip.show(
      event,
      el(
        'div',
        {},
        tokenText(this.queries[row].text),
        el('span', { class: 'index' }, String(row)),
        ' → ',
        tokenText(this.keys[column].text),
        el('span', { class: 'index' }, String(column)),
      ),
      el('b', {}, number(this.map.at(row, column), 5)),
    );
    if (event.type === 'click') {
      this.cursor = place;
      store.set({ query: String(row), key: String(column) });
    }
    return undefined;
  }

  #say() {
    if (!this.map) return;
    const { row, column } = this.cursor;
    this.reading.replaceChildren(
      `${placeOf(this.context)}: `,
      tokenText(this.queries[row].text),
      el('span', { class: 'index' }, String(row)),
      ' looks at ',
      tokenText(this.keys[column].text),
      el('span', { class: 'index' }, String(column)),
      ' with weight ',
      el('b', {}, number(this.map.at(row, column), 5)),
    );
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const [down, right] =
      { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ??
        [0, 0];
    if (event.key === '+' || event.key === '=') this.viewport.zoom(2, this.cursor);
    else if (event.key === '-') this.viewport.zoom(0.5, this.cursor);
    else if (event.key === '0') this.#fit(true);
    else if (event.key === 'Enter') this.context.store.set({ view: 'head', token: '1' });
    else if (down || right) {
      const far = event.shiftKey ? 10 : 1;
      this.cursor = {
        row: Math.max(0, Math.min(this.map.rows - 1, this.cursor.row + far * down)),
        column: Math.max(0, Math.min(this.map.columns - 1, this.cursor.column + far * right)),
      };
      this.viewport.reveal(this.cursor.row, this.cursor.column);
      this.context.store.set({ query: String(this.cursor.row), key: String(this.cursor.column) });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @type {import('../app.js').View} */
export const matrixView = {
  id: 'matrix',
  title: 'Matrix',
  applies: (capture) => capture.attentions.length > 0,
  open(context) {
    const view = new MatrixView(context);
    return {
      element: view.element,
      update: (state) => view.update(state),
      close: () => view.close(),
    };
  },
};
