// Tokens joined by lines: each query on the left, what it looks at on the right.
import { headsOf } from '../capture.js';
import { inkOn, weightColour } from '../colour.js';
import { all, bar, choice, el, fitCanvas, onceAFrame } from '../dom.js';
import { picker, placeOf } from '../picker.js';
import { within } from '../store.js';
import { number, tokenText, visible } from '../text.js';

const WINDOW = 384; // tokens shown at once
const STRONGEST = 8;

/** @typedef {{head: number, map: import('../head_map.js').HeadMap, colour: string}} Layer */

/** The heads that are drawn: those of the address, or the one that is chosen. */
function drawnHeads(attention, state) {
  const inside = headsOf(attention);
  const asked = (state.heads ?? '').split(',').filter(Boolean).map(Number).filter((head) =>
    inside.includes(head)
  );
  if (asked.length) return asked;
  return state.head === 'mean' ? inside : [Number(state.head)];
}

/** One switch a head. */
function headFilter(context, attention) {
  const { store, palette } = context;
  const drawn = drawnHeads(attention, store.state);
  const inside = headsOf(attention);
  const set = (heads) =>
    store.set(
      heads.length === 1 ? { heads: '', head: String(heads[0]) } : { heads: heads.join(',') },
    );
  const chips = inside.map((head) => {
    const chip = el(
      'button',
      {
        type: 'button',
        class: 'chip',
        'aria-pressed': String(drawn.includes(head)),
        data: { head },
        'aria-label': `Head ${head}`,
        title: 'Shows or hides this head',
        onclick: () =>
          set(
            drawn.includes(head)
              ? (drawn.length > 1 ? drawn.filter((one) => one !== head) : drawn)
              : [...drawn, head].sort((a, b) => a - b),
          ),
      },
      el('i', {}),
      String(head),
    );
    chip.style.setProperty(
      '--colour',
      palette().heads[inside.indexOf(head) % palette().heads.length],
    );
    return chip;
  });
  return el(
    'div',
    { class: 'filter', role: 'group', 'aria-label': 'Heads that are drawn' },
    chips,
    el('button', {
      type: 'button',
      class: 'link',
      onclick: () => set(drawn.length === inside.length ? [inside[0]] : inside),
    }, drawn.length === inside.length ? 'one' : 'all'),
  );
}

/** The part of a long sequence that is shown. */
function windowOf(count, start) {
  const first = Math.max(0, Math.min(start, count - WINDOW));
  return { first, end: Math.min(count, first + WINDOW) };
}

class HeadView {
  /** @type {Layer[]} */
  #layers = [];
  #focus = null; // {side: 'query' | 'key', index} while a token is isolated

  /** @param {import('../app.js').Context} context */
  constructor(context) {
    this.context = context;
    this.controls = el('div', {});
    this.filter = el('div', {});
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.columns = el('div', { class: 'columns' });
    this.scroller = el('div', { class: 'scroller', tabindex: -1 }, this.columns);
    this.details = el('aside', { class: 'card details', 'aria-live': 'polite' });
    this.element = el(
      'div',
      { class: 'head-view' },
      this.controls,
      this.filter,
      el(
        'div',
        { class: 'split' },
        el('div', { class: 'card bonds' }, this.scroller, this.canvas),
        this.details,
      ),
    );
    this.draw = onceAFrame(() => this.#paint());
    this.scroller.addEventListener('scroll', this.draw);
    this.sizes = new ResizeObserver(this.draw);
    this.sizes.observe(this.scroller);
    this.columns.addEventListener('mouseleave', () => this.#isolate(null));
  }

  close() {
    this.sizes.disconnect();
  }

  /** @param {import('../store.js').State} state */
  async update(state) {
    const { capture, palette } = this.context;
    const attention = capture.attention(state.attention);
    const start = within(state.from, this.context.capture.tokens(attention.queries).length, 0);
    const key = `${attention.name} ${start}`;
    this.controls.replaceChildren(this.#controls(attention, state));
    this.filter.replaceChildren(headFilter(this.context, attention));
    if (this.shown !== key) this.#fillColumns(attention, start);
    this.shown = key;
    const heads = drawnHeads(attention, state);
    const inside = headsOf(attention);
    const maps = await Promise.all(heads.map((head) => capture.headMap(attention, head)));
    const colours = palette().heads;
    this.#layers = maps.map((map, index) => ({
      head: heads[index],
      map,
      colour: colours[inside.indexOf(heads[index]) % colours.length],
    }));
    this.pinned = state.token ? { side: 'query', index: Number(state.query) } : null;
    this.#reveal();
    this.#refresh();
  }

  /** Scrolls to the token that is kept, where it is out of sight. */
  #reveal() {
    const kept = this.pinned &&
      all(this.columns, `.query button[data-index="${this.pinned.index}"]`)[0];
    if (!kept) return;
    const [row, box] = [kept.getBoundingClientRect(), this.scroller.getBoundingClientRect()];
    if (row.top < box.top || row.bottom > box.bottom) {
      this.scroller.scrollTop += row.top - box.top - box.height / 2;
    }
  }

  #controls(attention, state) {
    const { store, capture } = this.context;
    const line = picker(this.context);
    line.append(
      choice(
        'Hide below',
        [['0', 'nothing'], ['0.01', '0.01'], ['0.05', '0.05'], ['0.1', '0.1'], ['0.3', '0.3']],
        state.least ?? '0.05',
        (least) => store.set({ least }),
      ),
    );
    const count = Math.max(
      capture.tokens(attention.queries).length,
      capture.tokens(attention.keys).length,
    );
    if (count > WINDOW) {
      const parts = Array.from({ length: Math.ceil(count / WINDOW) }, (_, i) => i * WINDOW);
      line.append(
        choice(
          'Tokens',
          parts.map((
            first,
          ) => [String(first), `${first} – ${Math.min(count, first + WINDOW) - 1}`]),
          String(state.from ?? 0),
          (from) => store.set({ from }),
        ),
      );
    }
    return line;
  }

  #fillColumns(attention, start) {
    const { capture } = this.context;
    this.sides = {
      query: {
        tokens: capture.tokens(attention.queries),
        ...windowOf(capture.tokens(attention.queries).length, start),
      },
      key: {
        tokens: capture.tokens(attention.keys),
        ...windowOf(capture.tokens(attention.keys).length, start),
      },
    };
    const column = (side, title) =>
      el(
        'div',
        { class: `column ${side}` },
        el('h3', {}, title),
        this.sides[side].tokens.slice(this.sides[side].first, this.sides[side].end).map(
          ({ text }, offset) => {
            const index = this.sides[side].first + offset;
            return el(
              'button',
              {
                type: 'button',
                data: { index, side },
                title: `${index}: ${visible(text)}`,
                onmouseenter: () => this.#isolate({ side, index }),
                onfocus: () => this.#isolate({ side, index }),
                onblur: () => this.#isolate(null),
                onclick: () => this.#pin(side, index),
                onkeydown: (event) => this.#walk(event),
              },
              tokenText(text),
            );
          },
        ),
      );
    this.columns.replaceChildren(
      column('query', 'looks from'),
      el('div', { class: 'gap' }),
      column('key', 'looks at'),
    );
  }

  /** Up and down go along a column, left and right across. @param {KeyboardEvent} event */
  #walk(event) {
    const button = /** @type {HTMLElement} */ (event.currentTarget);
    const across = (side) =>
      this.columns.querySelectorAll(
        `.${side} button`,
      )[[...button.parentElement.children].indexOf(button) - 1];
    const target = {
      ArrowDown: () => button.nextElementSibling,
      ArrowUp: () => button.previousElementSibling,
      ArrowLeft: () => across('query'),
      ArrowRight: () => across('key'),
    }[event.key]?.();
    if (!(target instanceof HTMLButtonElement)) return;
    event.preventDefault();
    target.focus();
  }

  #isolate(focus) {
    this.#focus = focus;
    this.#refresh();
  }

  /** A click keeps a query isolated; another one lets it go. */
  #pin(side, index) {
    const { store } = this.context;
    if (side !== 'query') return;
    const again = this.pinned?.index === index;
    store.set(again ? { token: '' } : { query: String(index), token: '1' });
  }

  /** The weight between a query and a key, of the strongest head drawn. */
  #weight(query, key) {
    return Math.max(...this.#layers.map(({ map }) => map.at(query, key)));
  }

  #refresh() {
    const focus = this.#focus ?? this.pinned;
    for (const button of this.columns.querySelectorAll('button')) {
      const index = Number(button.dataset.index);
      const { side } = button.dataset;
      const own = focus?.side === side && focus.index === index;
      const weight = !focus || side === focus.side
        ? 0
        : this.#weight(side === 'key' ? focus.index : index, side === 'key' ? index : focus.index);
      const colour = weight > 0 ? weightColour(this.context.palette(), weight) : '';
      button.style.backgroundColor = colour;
      button.style.color = weight > 0 ? inkOn(this.context.palette(), weight) : '';
      button.classList.toggle('own', own);
    }
    this.#describe(focus);
    this.draw();
  }

  /** In words and numbers: what the token looks at, or who looks at it. */
  #describe(focus) {
    const { capture, store } = this.context;
    const attention = capture.attention(store.state.attention);
    const from = focus ?? { side: 'query', index: Number(store.state.query) };
    const other = from.side === 'query' ? 'key' : 'query';
    const count = this.sides[other].tokens.length;
    const ranked = this.#layers.length
      ? Array.from({ length: count }, (_, index) => ({
        index,
        weight: from.side === 'query'
          ? this.#weight(from.index, index)
          : this.#weight(index, from.index),
      }))
        .sort((a, b) => b.weight - a.weight || a.index - b.index).slice(0, STRONGEST)
      : [];
    const token = this.sides[from.side].tokens[from.index];
    this.details.replaceChildren(
      el(
        'p',
        { class: 'place' },
        this.#layers.length > 1
          ? `${
            capture.groupOf(attention).title
          }, layer ${attention.layer}, strongest of ${this.#layers.length} heads`
          : placeOf(this.context),
      ),
      el('h3', {}, tokenText(token.text), el('span', { class: 'index' }, `token ${from.index}`)),
      el('p', {}, from.side === 'query' ? 'looks most at' : 'is looked at most by'),
      el(
        'ol',
        { class: 'ranking' },
        ranked.map(({ index, weight }) =>
          el(
            'li',
            { data: { index, weight } },
            tokenText(this.sides[other].tokens[index].text),
            el('span', { class: 'index' }, String(index)),
            bar(weight),
            el('b', {}, number(weight)),
          )
        ),
      ),
      el(
        'p',
        { class: 'actions' },
        el('button', {
          type: 'button',
          class: 'link',
          onclick: () => store.set({ view: 'matrix' }),
        }, 'as a matrix'),
        (capture.meta.steps?.attentions ?? []).includes(attention.name)
          ? el('button', {
            type: 'button',
            class: 'link',
            onclick: () =>
              store.set({
                view: 'step',
                ...(from.side === 'query' ? { query: String(from.index) } : {}),
              }),
          }, 'step by step')
          : null,
      ),
    );
  }

  /** Only the lines that cross what is visible are drawn. */
  #paint() {
    const box = this.scroller.getBoundingClientRect();
    if (!box.width || !this.#layers.length) return;
    const context = fitCanvas(
      /** @type {HTMLCanvasElement} */ (this.canvas),
      this.scroller.clientWidth,
      this.scroller.clientHeight,
    );
    const gap = this.columns.querySelector('.gap').getBoundingClientRect();
    const [left, right] = [gap.left - box.left, gap.right - box.left];
    const middles = (side) =>
      [...this.columns.querySelectorAll(`.${side} button`)].map((button) => {
        const place = button.getBoundingClientRect();
        return place.top + place.height / 2 - box.top;
      });
    const [queries, keys] = [middles('query'), middles('key')];
    const focus = this.#focus ?? this.pinned;
    const least = focus ? 0.002 : Number(this.context.store.state.least ?? 0.05);
    const height = this.scroller.clientHeight;
    context.lineCap = 'round';
    queries.forEach((y, row) => {
      const query = this.sides.query.first + row;
      if (focus?.side === 'query' && focus.index !== query) return;
      keys.forEach((end, column) => {
        const key = this.sides.key.first + column;
        if (focus?.side === 'key' && focus.index !== key) return;
        if (Math.max(y, end) < 0 || Math.min(y, end) > height) return;
        for (const { map, colour } of this.#layers) {
          const weight = map.at(query, key);
          if (weight < least || weight === 0) continue;
          context.strokeStyle = colour;
          context.globalAlpha = Math.min(1, 0.12 + 0.88 * weight);
          context.lineWidth = 0.6 + 3.4 * weight;
          context.beginPath();
          context.moveTo(left, y);
          context.bezierCurveTo(
            left + (right - left) * 0.45,
            y,
            right - (right - left) * 0.45,
            end,
            right,
            end,
          );
          context.stroke();
        }
      });
    });
  }
}

/** @type {import('../app.js').View} */
export const headView = {
  id: 'head',
  title: 'Head',
  applies: (capture) => capture.attentions.length > 0,
  open(context) {
    const view = new HeadView(context);
    return {
      element: view.element,
      update: (state) => view.update(state),
      close: () => view.close(),
    };
  },
};
