// The tokens that were produced, what else was likely, and every path of the search.
import { inkOn, weightColour } from '../colour.js';
import { all, bar, el } from '../dom.js';
import { within } from '../store.js';
import { number, percent, tokenText, visible } from '../text.js';

const FATES = { kept: ['●', 'went on'], finished: ['✓', 'finished'], dropped: ['×', 'dropped'] };

/** The tokens in a row, shaded by their probability. */
function tokenLine({ store, palette }, tokens, chosen) {
  return el(
    'div',
    { class: 'shaded produced', role: 'group', 'aria-label': 'Tokens that were produced' },
    tokens.map(({ text, probability }, index) => {
      const piece = el(
        'button',
        {
          type: 'button',
          class: 'piece',
          'aria-pressed': String(index === chosen),
          data: { produced: index, probability },
          'aria-label': `${visible(text)}, ${percent(probability)}`,
          onclick: () => store.set({ produced: String(index) }),
        },
        tokenText(text),
        el('small', {}, percent(probability).replace(' %', '%')),
      );
      piece.style.backgroundColor = weightColour(palette(), probability ** 2);
      piece.style.color = inkOn(palette(), probability ** 2);
      return piece;
    }),
  );
}

/** What could have stood in one place. */
function alternatives({ text, id, probability, alternatives: others = [] }) {
  const all = others.some((other) => other.id === id)
    ? others
    : [{ text, id, probability }, ...others];
  return el(
    'ol',
    { class: 'ranking' },
    all.map((other) =>
      el(
        'li',
        {
          class: other.id === id ? 'chosen' : '',
          data: { id: other.id, probability: other.probability },
        },
        tokenText(other.text),
        el('span', { class: 'index' }, `id ${other.id}`),
        bar(other.probability),
        el('b', {}, percent(other.probability)),
      )
    ),
  );
}

/** @param {any} tree as in beam_tree.h */
function childrenOf({ nodes }) {
  const children = new Map();
  nodes.forEach(({ parent }, index) =>
    children.set(parent, [...(children.get(parent) ?? []), index])
  );
  return children;
}

/** The nodes on the way to the results. */
function onTheWay({ nodes, results }) {
  const way = new Set();
  for (const last of results) {
    for (let at = last; at >= 0 && !way.has(at); at = nodes[at].parent) way.add(at);
  }
  return way;
}

class BeamTree {
  constructor(tree) {
    this.tree = tree;
    this.children = childrenOf(tree);
    this.best = onTheWay({ nodes: tree.nodes, results: tree.results.slice(0, 1) });
    this.element = el(
      'ul',
      { class: 'tree', role: 'tree', 'aria-label': 'Beam search' },
      this.#items(-1, 1),
    );
    for (const first of all(this.element, '[role=treeitem]').slice(0, 1)) first.tabIndex = 0;
    this.element.addEventListener('keydown', (event) => this.#key(event));
  }

  #items(parent, level) {
    return (this.children.get(parent) ?? []).map((index) => this.#item(index, level));
  }

  #item(index, level) {
    const { text, token, token_score: own, score, fate } = this.tree.nodes[index];
    const [sign, word] = FATES[fate] ?? ['', fate];
    const rank = this.tree.results.indexOf(index);
    const inner = this.children.has(index);
    const item = el(
      'li',
      {
        role: 'treeitem',
        tabindex: -1,
        'aria-level': level,
        'aria-expanded': inner ? 'false' : null,
        data: { node: index, fate },
        'aria-label': `${visible(text ?? String(token))}, ${percent(Math.exp(own))}, ${word}`,
        class: `${fate} ${this.best.has(index) ? 'best' : ''}`,
      },
      el(
        'div',
        { class: 'node', onclick: () => this.#toggle(item) },
        el('span', { class: 'fold', 'aria-hidden': 'true' }, inner ? '▸' : ''),
        el('span', { class: 'fate', title: word }, sign),
        tokenText(text ?? String(token)),
        el('span', { class: 'chance' }, bar(Math.exp(own)), percent(Math.exp(own))),
        el('span', { class: 'score', title: 'score so far' }, number(score, 2)),
        rank >= 0 ? el('span', { class: 'rank' }, `result ${rank + 1}`) : null,
      ),
    );
    if (this.best.has(index)) this.#open(item, level);
    return item;
  }

  #open(item, level = Number(item.getAttribute('aria-level'))) {
    const index = Number(item.dataset.node);
    if (!this.children.has(index)) return;
    item.setAttribute('aria-expanded', 'true');
    item.querySelector(':scope > .node > .fold').textContent = '▾';
    item.append(el('ul', { role: 'group' }, this.#items(index, level + 1)));
  }

  #close(item) {
    item.setAttribute('aria-expanded', 'false');
    item.querySelector(':scope > .node > .fold').textContent = '▸';
    item.querySelector(':scope > ul')?.remove();
  }

  #toggle(item) {
    this.#focus(item);
    const open = item.getAttribute('aria-expanded');
    if (open === 'true') this.#close(item);
    else if (open === 'false') this.#open(item);
  }

  #focus(item) {
    for (const one of all(this.element, '[role=treeitem]')) one.tabIndex = -1;
    item.tabIndex = 0;
    item.focus();
  }

  #key(event) {
    const item = event.target.closest?.('[role=treeitem]');
    if (!item) return;
    const items = [...this.element.querySelectorAll('[role=treeitem]')];
    const at = items.indexOf(item);
    const open = item.getAttribute('aria-expanded');
    if (event.key === 'ArrowDown') items[at + 1] && this.#focus(items[at + 1]);
    else if (event.key === 'ArrowUp') items[at - 1] && this.#focus(items[at - 1]);
    else if (event.key === 'ArrowRight') {
      open === 'false' ? this.#open(item) : items[at + 1] && this.#focus(items[at + 1]);
    } else if (event.key === 'ArrowLeft') {
      open === 'true' ? this.#close(item) : item.parentElement.closest('[role=treeitem]') &&
        this.#focus(item.parentElement.closest('[role=treeitem]'));
    } else if (event.key === 'Enter' || event.key === ' ') this.#toggle(item);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @type {import('../app.js').View} */
export const generationView = {
  id: 'generation',
  title: 'Generation',
  applies: ({ meta }) =>
    Boolean(meta.generation?.tokens?.length || meta.generation?.tree?.nodes?.length),
  open(context) {
    const { tokens = [], tree } = context.capture.meta.generation;
    const line = el('div', {});
    const choices = el('div', { 'aria-live': 'polite' });
    const update = (state) => {
      if (!tokens.length) return;
      const chosen = within(state.produced, tokens.length, 0);
      line.replaceChildren(tokenLine(context, tokens, chosen));
      choices.replaceChildren(
        el('h3', {}, `In place ${chosen}: `, tokenText(tokens[chosen].text)),
        alternatives(tokens[chosen]),
      );
    };
    return {
      element: el(
        'div',
        { class: 'generation-view' },
        tokens.length
          ? el(
            'section',
            { class: 'card' },
            el('h2', {}, 'What was produced'),
            el(
              'p',
              { class: 'note' },
              'The stronger the colour, the surer the model was. Choose a token to see what else was likely there.',
            ),
            line,
            choices,
          )
          : null,
        tree?.nodes?.length
          ? el(
            'section',
            { class: 'card' },
            el('h2', {}, 'The search'),
            el(
              'p',
              { class: 'note' },
              '● went on  ✓ finished  × dropped. The way to the best result is unfolded; bars are the probability of the token, numbers the score of the whole so far.',
            ),
            el('div', { class: 'sideways' }, new BeamTree(tree).element),
          )
          : null,
      ),
      update,
    };
  },
};
