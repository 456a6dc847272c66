// Elements. Text from a capture only ever becomes a text node: there is no innerHTML in this page.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, any>} Properties  class, attributes, `on…` listeners, `data` for data-*
 */

/** @param {Element} element @param {Properties} properties @param {Child[]} children */
function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'data') Object.assign(/** @type {HTMLElement} */ (element).dataset, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child || child === 0)
      .map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))),
  );
  return element;
}

/** @param {string} tag @param {Properties} [properties] @param {...any} children */
export function el(tag, properties = {}, ...children) {
  return /** @type {HTMLElement} */ (fill(document.createElement(tag), properties, children));
}

/** @param {string} tag @param {Properties} [properties] @param {...any} children */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** A bar that is filled to a share of its width. @param {number} share in [0, 1] */
export function bar(share) {
  const item = el('i', { class: 'bar' });
  item.style.setProperty('--share', String(share));
  return item;
}

/** What a selector finds, as elements of HTML. @returns {HTMLElement[]} */
export function all(root, selector) {
  return [...root.querySelectorAll(selector)];
}

/**
 * Gives a canvas as many pixels as the screen has under it, and a context measured in CSS pixels.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height  CSS pixels
 */
export function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
  return context;
}

/**
 * A function that runs `draw` once before the next frame, however often it is called until then.
 * @param {() => void} draw
 */
export function onceAFrame(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
}

/**
 * @template T
 * @param {string} label @param {[T, string][]} options @param {T} value @param {(value: T) => void} choose
 */
export function choice(label, options, value, choose) {
  const select = el(
    'select',
    { 'aria-label': label },
    options.map(([option, text]) =>
      el('option', { value: option, selected: option === value }, text)
    ),
  );
  select.addEventListener(
    'change',
    () => choose(options[/** @type {HTMLSelectElement} */ (select).selectedIndex][0]),
  );
  return el('label', { class: 'field' }, el('span', {}, label), select);
}
