// Which attention: its kind, its layer, its head. The same line in every view that shows one head.
import { headsOf } from './capture.js';
import { choice, el } from './dom.js';

/** @typedef {import('./app.js').Context} Context */

/** @param {Context} context */
function chosen({ capture, store }) {
  return capture.attention(store.state.attention);
}

/** The layers of the same kind whose weights are inside. */
function siblings(capture, attention) {
  return capture.groupOf(attention).attentions.filter((one) => capture.attentions.includes(one));
}

/** @param {Context} context @param {number} step */
export function stepLayer(context, step) {
  const attention = chosen(context);
  if (!attention) return;
  const layers = siblings(context.capture, attention);
  const next = layers[layers.indexOf(attention) + step];
  if (next) context.store.set({ attention: next.name });
}

/** @param {Context} context @param {number} step */
export function stepHead(context, step) {
  const attention = chosen(context);
  if (!attention) return;
  const heads = headsOf(attention);
  const next = heads[heads.indexOf(Number(context.store.state.head)) + step];
  if (next !== undefined) context.store.set({ head: String(next) });
}

function stepper(label, keys, options, value, choose, step) {
  const places = options.map(([option]) => option).filter((option) => option !== 'mean');
  const at = places.indexOf(value);
  const button = (move, sign, key) =>
    el('button', {
      type: 'button',
      class: 'step',
      disabled: at < 0 || !places[at + move],
      title: `${move < 0 ? 'Previous' : 'Next'} ${label.toLowerCase()} (${key})`,
      'aria-label': `${move < 0 ? 'Previous' : 'Next'} ${label.toLowerCase()}`,
      onclick: () => step(move),
    }, sign);
  return el(
    'div',
    { class: 'stepper' },
    choice(label, options, value, choose),
    button(-1, '‹', keys[0]),
    button(1, '›', keys[1]),
  );
}

/**
 * @param {Context} context
 * @param {{heads?: boolean, mean?: boolean, layers?: (a: import('./capture.js').Attention) => boolean}} [options]
 *   heads: false leaves the choice of a head out; mean adds the mean of all; layers says which are offered
 */
export function picker(context, { heads = true, mean = false, layers = () => true } = {}) {
  const { capture, store } = context;
  const attention = chosen(context);
  const offered = capture.attentions.filter(layers);
  const groups = capture.groups.filter((group) =>
    group.attentions.some((one) => offered.includes(one))
  );
  const near = (group) => {
    const inside = group.attentions.filter((one) => offered.includes(one));
    return inside.find((one) => one.layer === attention.layer) ?? inside[0];
  };
  const parts = [];
  if (groups.length > 1) {
    parts.push(
      el(
        'div',
        { class: 'segments', role: 'group', 'aria-label': 'Kind of attention' },
        groups.map((group) =>
          el('button', {
            type: 'button',
            'aria-pressed': String(group === capture.groupOf(attention)),
            onclick: () => store.set({ attention: near(group).name }),
          }, group.title)
        ),
      ),
    );
  }
  const inside = siblings(capture, attention).filter((one) => offered.includes(one));
  parts.push(
    stepper(
      'Layer',
      ['{', '}'],
      inside.map((one) => [one.name, String(one.layer)]),
      attention.name,
      (name) => store.set({ attention: name }),
      (step) => stepLayer(context, step),
    ),
  );
  if (heads) {
    const options = headsOf(attention).map((head) => [String(head), String(head)]);
    if (mean) options.push(['mean', 'mean of all']);
    parts.push(
      stepper(
        'Head',
        ['[', ']'],
        options,
        store.state.head,
        (head) => store.set({ head }),
        (step) => stepHead(context, step),
      ),
    );
  }
  return el('div', { class: 'picker' }, parts);
}

/** A line of words that says what is looked at: "Layer 3, head 5". @param {Context} context */
export function placeOf({ capture, store }) {
  const attention = capture.attention(store.state.attention);
  const head = store.state.head === 'mean' ? 'mean of heads' : `head ${store.state.head}`;
  return `${capture.groupOf(attention).title}, layer ${attention.layer}, ${head}`;
}
