// What the views show, the keys, and how exact the numbers in the page are.
import { WEIGHT_ERROR } from './capture.js';
import { el } from './dom.js';

const ABOUT = {
  model:
    'Every head of every layer as a small picture: rows ask, columns are looked at. Choose one to open it.',
  head:
    'One head as lines from each token (left) to the tokens that it looks at (right). Point at a token to see only its lines; choose several heads to compare them.',
  matrix:
    'One head as a map, from all tokens at once down to single cells with their exact weights.',
  step: 'One query through the equations, with the numbers of this run.',
  translation:
    'The three attentions of an encoder–decoder for one output token, and which words belong together.',
  vision:
    'Where the model looks in the picture: [CLS] or any patch, a head, all heads, or the rollout through all layers.',
  generation:
    'The tokens that were produced, what else was likely, and every path that the search looked at.',
  lens: 'What each layer would already have answered, at each position.',
  anatomy: 'The parts of the model: shapes, parameters, memory.',
};
const KEYS = [
  ['1 – 9', 'a view'],
  ['← →', 'next view, on the tabs; neighbours, in a picture'],
  ['[ ]', 'previous and next head'],
  ['{ }', 'previous and next layer'],
  ['+ − 0', 'closer, further, everything (matrix)'],
  ['Enter', 'opens what is chosen'],
  ['?', 'this help'],
];

/** @param {import('./capture.js').Capture} capture @param {import('./app.js').View[]} views */
export function openHelp(capture, views) {
  const dialog = /** @type {HTMLDialogElement} */ (el(
    'dialog',
    { class: 'help', 'aria-labelledby': 'help-title' },
    el(
      'form',
      { method: 'dialog' },
      el('button', { class: 'quiet close', 'aria-label': 'Close' }, '×'),
    ),
    el('h2', { id: 'help-title' }, 'What is shown here'),
    el(
      'dl',
      { class: 'about' },
      views.map(({ id, title }) => [el('dt', {}, title), el('dd', {}, ABOUT[id])]),
    ),
    el('h2', {}, 'Keys'),
    el(
      'dl',
      { class: 'keys' },
      KEYS.map(([key, what]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)]),
    ),
    el('h2', {}, 'How exact the numbers are'),
    el(
      'p',
      {},
      `Attention weights lie in this page as 16-bit square roots: each is exact to ${
        WEIGHT_ERROR.toExponential(1)
      } or ` +
        'better, a weight of 0.0001 to 0.2 % of itself. Colour follows the square root too, so that small weights are seen. ' +
        'Other numbers are 16-bit floats: three significant digits. ' +
        `${capture.source.shapes.size} tensors are inside; nothing is loaded from elsewhere.`,
    ),
  ));
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}
