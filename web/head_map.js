// One head's weights and how they become pixels. A map of thousands of tokens has more cells than
// the screen has pixels: it is halved again and again, once, and every draw reads the level whose
// cells are about as large as a pixel. A draw costs what the screen costs, not what the map costs.
import { codeOf, pause, weightOf } from './codec.js';

/** @typedef {'max' | 'mean'} Summary  what a pixel shows of the cells under it */
/** @typedef {{rows: number, columns: number, codes: Uint16Array}} Level */

/** From so many keys on, colours are stretched unless the reader says otherwise. */
export const LONG = 256;
const SLICE = 1 << 21; // cells reduced before the browser may answer

/** Half as many rows and columns. @param {Level} level @param {Summary} summary @returns {Promise<Level>} */
async function halve({ rows, columns, codes }, summary) {
  const half = { rows: (rows + 1) >> 1, columns: (columns + 1) >> 1 };
  const out = new Uint16Array(half.rows * half.columns);
  const rowsInSlice = Math.max(1, Math.floor(SLICE / columns));
  for (let row = 0; row < half.rows; ++row) {
    if (row > 0 && row % rowsInSlice === 0) await pause();
    const upper = 2 * row * columns;
    const lower = Math.min(2 * row + 1, rows - 1) * columns; // An odd last row counts twice.
    for (let column = 0; column < half.columns; ++column) {
      const left = 2 * column;
      const right = Math.min(left + 1, columns - 1);
      const a = codes[upper + left];
      const b = codes[upper + right];
      const c = codes[lower + left];
      const d = codes[lower + right];
      out[row * half.columns + column] = summary === 'max'
        ? Math.max(a, b, c, d)
        : a | b | c | d
        ? codeOf((weightOf(a) + weightOf(b) + weightOf(c) + weightOf(d)) / 4)
        : 0;
    }
  }
  return { ...half, codes: out };
}

export class HeadMap {
  /** @type {Partial<Record<Summary, Level[]>>} */
  #levels = {};
  #stretch = 0; // 0 until it is asked for

  /** @param {number} rows queries @param {number} columns keys @param {Uint16Array} codes */
  constructor(rows, columns, codes) {
    this.rows = rows;
    this.columns = columns;
    this.codes = codes;
  }

  /** @param {number} row @param {number} column */
  at(row, column) {
    return weightOf(this.codes[row * this.columns + column]);
  }

  /** The weights of one query. @param {number} row */
  row(row) {
    return Array.from(this.codes.subarray(row * this.columns, (row + 1) * this.columns), weightOf);
  }

  /** What the draws of this summary read; a big map takes a while, in small pieces. @param {Summary} summary */
  async prepare(summary) {
    if (this.#levels[summary]) return;
    /** @type {Level[]} */
    const levels = [{ rows: this.rows, columns: this.columns, codes: this.codes }];
    while (Math.max(levels.at(-1).rows, levels.at(-1).columns) > 64) {
      levels.push(await halve(levels.at(-1), summary));
    }
    this.#levels[summary] = levels;
  }

  /** What brings all but the strongest hundredth of the cells into the scale: the longer a text, the
   * less there is for each token of it. */
  get stretch() {
    if (this.#stretch) return this.#stretch;
    const counts = new Uint32Array(65536);
    let seen = 0;
    const step = Math.max(1, Math.floor(this.codes.length / 1e6)) | 1;
    for (let i = 0; i < this.codes.length; i += step) {
      counts[this.codes[i]] += 1;
      seen += this.codes[i] > 0 ? 1 : 0;
    }
    let code = 65535;
    for (let above = counts[code]; code > 1 && above < seen / 100; above += counts[code]) code -= 1;
    this.#stretch = 65535 / code;
    return this.#stretch;
  }

  /**
   * Draws the cells [top, top + height) × [left, left + width), fractions included, over an image.
   * @param {ImageData} image @param {{top: number, left: number, height: number, width: number}} part
   * @param {Uint32Array} scale @param {Summary} summary prepared before
   * @param {number} gain what codes are multiplied by, to stretch the colours
   */
  paint(image, part, scale, summary, gain = 1) {
    const cells = Math.min(part.height / image.height, part.width / image.width);
    const levels = this.#levels[summary];
    const depth = Math.max(0, Math.min(levels.length - 1, Math.floor(Math.log2(cells))));
    const level = levels[depth];
    const size = 2 ** depth;
    const pixels = new Uint32Array(image.data.buffer);
    const across = spans(part.left / size, part.width / size, image.width, level.columns);
    const down = spans(part.top / size, part.height / size, image.height, level.rows);
    for (let y = 0; y < image.height; ++y) {
      if (y > 0 && down[2 * y] === down[2 * y - 2] && down[2 * y + 1] === down[2 * y - 1]) {
        pixels.copyWithin(y * image.width, (y - 1) * image.width, y * image.width);
        continue;
      }
      for (let x = 0; x < image.width; ++x) {
        const [top, bottom] = [down[2 * y], down[2 * y + 1]];
        const code = summarise(level, summary, top, bottom, across[2 * x], across[2 * x + 1]);
        pixels[y * image.width + x] = scale[Math.min(255, (code * gain) >> 8)];
      }
    }
  }
}

/** First and last cell under each pixel. */
function spans(start, extent, pixels, limit) {
  const found = new Int32Array(2 * pixels);
  for (let i = 0; i < pixels; ++i) {
    const first = Math.min(limit - 1, Math.max(0, Math.floor(start + (i * extent) / pixels)));
    const end = Math.ceil(start + ((i + 1) * extent) / pixels - 1e-6) - 1;
    found[2 * i] = first;
    found[2 * i + 1] = extent < pixels ? first : Math.min(limit - 1, Math.max(first, end));
  }
  return found;
}

/** @param {Level} level @param {Summary} summary @returns {number} a code */
function summarise({ columns, codes }, summary, top, bottom, left, right) {
  if (top === bottom && left === right) return codes[top * columns + left];
  let most = 0;
  let sum = 0;
  for (let row = top; row <= bottom; ++row) {
    for (let at = row * columns + left, end = row * columns + right; at <= end; ++at) {
      const code = codes[at];
      if (code > most) most = code;
      sum += code * code;
    }
  }
  return summary === 'max' ? most : Math.sqrt(sum / ((bottom - top + 1) * (right - left + 1)));
}
