// Which part of a map is on the screen: wheel, pinch and drag, and the way back from a pixel to a cell.

/** @typedef {{left: number, top: number, width: number, height: number}} Frame  CSS pixels in the canvas */

const NEAREST = 4; // cells that remain when it is closest

export class Viewport {
  /** What is shown, in cells. */
  part = { top: 0, left: 0, height: 1, width: 1 };
  #frame = { left: 0, top: 0, width: 1, height: 1 };
  #size = { rows: 0, columns: 0 };
  /** @type {Map<number, PointerEvent>} */
  #pointers = new Map();
  #moved = 0;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{changed: () => void, pointed: (cell: {row: number, column: number} | null, event: PointerEvent | MouseEvent | null) => void}} listeners
   */
  constructor(canvas, listeners) {
    this.canvas = canvas;
    this.listeners = listeners;
    canvas.style.touchAction = 'pan-y';
    canvas.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.#down(event));
    canvas.addEventListener('pointermove', (event) => this.#move(event));
    canvas.addEventListener('pointerup', (event) => this.#pointers.delete(event.pointerId));
    canvas.addEventListener('pointercancel', (event) => this.#pointers.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => listeners.pointed(null, null));
    canvas.addEventListener(
      'click',
      (event) => this.#moved < 5 && listeners.pointed(this.cellAt(event), event),
    );
    canvas.addEventListener('dblclick', (event) => this.#zoomAt(2, this.#inFrame(event)));
  }

  /** @param {Frame} frame @returns {boolean} whether the map is another one */
  frame(frame, rows, columns) {
    const changed = rows !== this.#size.rows || columns !== this.#size.columns;
    this.#frame = frame;
    this.#size = { rows, columns };
    return changed;
  }

  reset() {
    this.part = { top: 0, left: 0, height: this.#size.rows, width: this.#size.columns };
    this.listeners.changed();
  }

  get cell() {
    return {
      width: this.#frame.width / this.part.width,
      height: this.#frame.height / this.part.height,
    };
  }

  /** Where a cell begins, in CSS pixels from the frame's corner. */
  corner(row, column) {
    return {
      x: (column - this.part.left) * this.cell.width,
      y: (row - this.part.top) * this.cell.height,
    };
  }

  /** @returns {{index: number, at: number}[]} the rows on the screen and where they begin */
  rows() {
    return this.#along(this.part.top, this.part.height, this.#size.rows, this.cell.height);
  }

  columns() {
    return this.#along(this.part.left, this.part.width, this.#size.columns, this.cell.width);
  }

  #along(start, extent, limit, size) {
    const first = Math.floor(start);
    const count = Math.min(limit, Math.ceil(start + extent)) - first;
    return Array.from(
      { length: Math.max(0, count) },
      (_, i) => ({ index: first + i, at: (first + i - start) * size }),
    );
  }

  #inFrame(event) {
    const box = this.canvas.getBoundingClientRect();
    return {
      x: event.clientX - box.left - this.#frame.left,
      y: event.clientY - box.top - this.#frame.top,
    };
  }

  /** The cell under the pointer. @returns {{row: number, column: number} | null} */
  cellAt(event) {
    const { x, y } = this.#inFrame(event);
    if (x < 0 || y < 0 || x >= this.#frame.width || y >= this.#frame.height) return null;
    return {
      row: Math.min(this.#size.rows - 1, Math.floor(this.part.top + y / this.cell.height)),
      column: Math.min(this.#size.columns - 1, Math.floor(this.part.left + x / this.cell.width)),
    };
  }

  /** @param {number} factor @param {{row: number, column: number}} [around] a cell, or the middle */
  zoom(factor, around) {
    const { width, height } = this.#frame;
    const corner = around && this.corner(around.row + 0.5, around.column + 0.5);
    const inside = corner && corner.x >= 0 && corner.y >= 0 && corner.x <= width &&
      corner.y <= height;
    this.#zoomAt(factor, inside ? corner : { x: width / 2, y: height / 2 });
    if (around) this.reveal(around.row, around.column);
  }

  #zoomAt(factor, { x, y }) {
    const { rows, columns } = this.#size;
    const fx = Math.max(0, Math.min(1, x / this.#frame.width));
    const fy = Math.max(0, Math.min(1, y / this.#frame.height));
    const share = Math.max(
      Math.min(1, NEAREST / Math.min(rows, columns)),
      Math.min(1, this.part.width / columns / factor),
    );
    const [width, height] = [columns * share, rows * share];
    this.#place(
      this.part.top + fy * (this.part.height - height),
      this.part.left + fx * (this.part.width - width),
      height,
      width,
    );
  }

  /** Moves as little as is needed to show a cell. */
  reveal(row, column) {
    const { top, left, height, width } = this.part;
    this.#place(
      Math.max(row + 1 - height, Math.min(row, top)),
      Math.max(column + 1 - width, Math.min(column, left)),
      height,
      width,
    );
  }

  #place(top, left, height, width) {
    const { rows, columns } = this.#size;
    this.part = {
      top: Math.max(0, Math.min(top, rows - height)),
      left: Math.max(0, Math.min(left, columns - width)),
      height,
      width,
    };
    this.canvas.style.touchAction = width < columns ? 'none' : 'pan-y';
    this.listeners.changed();
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    const whole = this.part.width >= this.#size.columns;
    if (!this.cellAt(event) || (whole && event.deltaY > 0)) return; // Then the page scrolls.
    event.preventDefault();
    this.#zoomAt(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0022)), this.#inFrame(event));
    this.listeners.pointed(this.cellAt(event), event);
  }

  /** @param {PointerEvent} event */
  #down(event) {
    this.#pointers.set(event.pointerId, event);
    this.#moved = 0;
    if (event.pointerType !== 'mouse' || event.button === 0) {
      this.canvas.setPointerCapture(event.pointerId);
    }
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const last = this.#pointers.get(event.pointerId);
    if (!last) return this.listeners.pointed(this.cellAt(event), event);
    const others = [...this.#pointers.values()].filter((one) => one.pointerId !== event.pointerId);
    const [dx, dy] = [event.clientX - last.clientX, event.clientY - last.clientY];
    this.#moved += Math.abs(dx) + Math.abs(dy);
    this.#pointers.set(event.pointerId, event);
    if (others.length) {
      const far = (one) =>
        Math.hypot(one.clientX - others[0].clientX, one.clientY - others[0].clientY);
      const { x, y } = this.#inFrame(event);
      const other = this.#inFrame(others[0]);
      return this.#zoomAt(far(event) / Math.max(1, far(last)), {
        x: (x + other.x) / 2,
        y: (y + other.y) / 2,
      });
    }
    const { top, left, height, width } = this.part;
    return this.#place(top - dy / this.cell.height, left - dx / this.cell.width, height, width);
  }
}
