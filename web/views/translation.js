// An encoder–decoder: the three attentions of one output token, and which words belong together.
import { css, inkOn, weightColour } from '../colour.js';
import { headsOf } from '../capture.js';
import { choice, el, svg } from '../dom.js';
import { within } from '../store.js';
import { number, percent, tokenText, visible } from '../text.js';

/**
 * Tokens shaded by how much they are looked at.
 * @param {import('../app.js').Context} context @param {import('../capture.js').Token[]} tokens
 * @param {number[]} weights
 * @param {{own?: number, open?: (index: number) => void}} [options] own: the one that looks
 */
function shaded(context, tokens, weights, { own = -1, open } = {}) {
  const palette = context.palette();
  return el(
    'div',
    { class: 'shaded' },
    tokens.map(({ text }, index) => {
      const weight = weights[index];
      const piece = el(
        'button',
        {
          type: 'button',
          class: `piece${index === own ? ' own' : ''}`,
          data: { index, weight },
          title: `${index}: ${number(weight, 4)}`,
          'aria-label': `${visible(text)}, weight ${number(weight, 4)}`,
          onclick: () => open?.(index),
        },
        tokenText(text),
        el('small', {}, weight >= 0.01 ? number(weight, 2) : ''),
      );
      piece.style.backgroundColor = weightColour(palette, weight);
      piece.style.color = inkOn(palette, weight);
      return piece;
    }),
  );
}

/** The words of a side as text. @param {number[][]} words first and last token */
function wordsOf(tokens, words) {
  return words.map(([first, last]) =>
    tokens.slice(first, last + 1).map(({ text }) => visible(text)).join('').replace(/·/g, '')
      .replace(/▁|Ġ/g, '')
  );
}

/** Two lines of words and the pairs between them. */
function alignmentPicture(context, { pairs, source, target }) {
  const palette = context.palette();
  const row = (words, side) =>
    el(
      'div',
      { class: `words ${side}` },
      words.map((word, index) =>
        el('span', { class: 'word', data: { word: index } }, el('bdi', {}, word))
      ),
    );
  const [above, below] = [row(source, 'source'), row(target, 'target')];
  const lines = svg('svg', { class: 'bond-lines', 'aria-hidden': 'true' });
  const stack = el(
    'div',
    {
      class: 'alignment',
      role: 'img',
      'aria-label': `Alignment: ${pairs.map(([s, t]) => `${source[s]} – ${target[t]}`).join(', ')}`,
    },
    above,
    lines,
    below,
  );
  const draw = () => {
    const box = lines.getBoundingClientRect();
    const middle = (line, index) => {
      const place = line.children[index].getBoundingClientRect();
      return place.left + place.width / 2 - box.left;
    };
    lines.replaceChildren(...pairs.map(([s, t, weight]) => {
      const [x, end] = [middle(above, s), middle(below, t)];
      const path = svg('path', {
        d: `M${x} 0C${x} ${box.height * 0.5} ${end} ${box.height * 0.5} ${end} ${box.height}`,
        fill: 'none',
        'stroke-linecap': 'round',
        'stroke-width': String(1 + 4 * weight),
        stroke: css(palette.weights, 110 + 145 * Math.sqrt(weight)),
        'data-pair': `${s},${t}`,
      });
      path.append(svg('title', {}, `${source[s]} – ${target[t]}: ${number(weight, 3)}`));
      return path;
    }));
  };
  const sizes = new ResizeObserver(draw);
  sizes.observe(stack);
  return { element: el('div', { class: 'sideways' }, stack), close: () => sizes.disconnect() };
}

/** The alignment in numbers. */
function alignmentTable({ pairs, source, target }) {
  return el(
    'details',
    {},
    el('summary', {}, 'as a table'),
    el(
      'table',
      { class: 'pairs' },
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          ['source', 'target', 'weight'].map((name) => el('th', { scope: 'col' }, name)),
        ),
      ),
      el(
        'tbody',
        {},
        pairs.map(([s, t, weight]) =>
          el(
            'tr',
            {},
            el('td', {}, el('bdi', {}, source[s])),
            el('td', {}, el('bdi', {}, target[t])),
            el('td', {}, number(weight, 3)),
          )
        ),
      ),
    ),
  );
}

/** What one output token comes from, by the gradients: shares of the token that matters most. */
function relevanceCard(context) {
  const { capture } = context;
  const { rollout, explained } = capture.meta;
  if (!rollout?.cross || !explained) return null;
  const tokens = el('div', {});
  capture.values(rollout.cross).then((values) => {
    const source = capture.tokens('encoder');
    const row = values.slice(
      explained.position * source.length,
      (explained.position + 1) * source.length,
    );
    const most = Math.max(...row, 1e-12);
    tokens.replaceChildren(shaded(context, source, Array.from(row, (value) => value / most)));
  });
  return el(
    'section',
    { class: 'card relevance' },
    el('h2', {}, 'What ', tokenText(explained.text), ' comes from'),
    el(
      'p',
      { class: 'note' },
      'Gradient-weighted rollout through all layers, from the input to what follows ',
      tokenText(capture.tokens('decoder')[explained.position].text),
      '; 1 is the token that matters most.',
    ),
    tokens,
  );
}

class TranslationView {
  /** @param {import('../app.js').Context} context */
  constructor(context) {
    this.context = context;
    const { capture } = context;
    this.controls = el('div', { class: 'picker' });
    this.panels = el('div', { class: 'three' });
    this.source = capture.tokens('encoder');
    this.target = capture.tokens('decoder');
    const found = capture.meta.alignment?.pairs.length ? capture.meta.alignment : null;
    this.picture = found && alignmentPicture(context, this.#words(found));
    this.element = el(
      'div',
      { class: 'translation-view' },
      found
        ? el(
          'section',
          { class: 'card' },
          el('h2', {}, 'Which words belong together'),
          el(
            'p',
            { class: 'note' },
            'From the cross-attention: each output word and the input words it looked at most.',
          ),
          this.picture.element,
          alignmentTable(this.#words(found)),
        )
        : null,
      relevanceCard(context),
      this.controls,
      this.panels,
    );
  }

  #words({ pairs, source_words: source, target_words: target }) {
    return { pairs, source: wordsOf(this.source, source), target: wordsOf(this.target, target) };
  }

  close() {
    this.picture?.close();
  }

  /** The layer of one kind at a depth from 0 to 1. */
  #layer(id, depth) {
    const group = this.context.capture.groups.find((one) => one.id === id);
    const inside =
      group?.attentions.filter((one) => this.context.capture.attentions.includes(one)) ?? [];
    return inside.find(({ layer }) => layer === depth) ?? inside.at(-1);
  }

  async update(state) {
    const { capture, store } = this.context;
    const cross = this.#layer('decoder-cross', Number(state.depth ?? NaN));
    const depth = cross.layer;
    const inside = headsOf(cross).map(String);
    const head = inside.includes(state.mix) ? state.mix : 'mean';
    const output = within(state.output, this.target.length, Math.min(1, this.target.length - 1));
    /** @type {[string, string][]} */
    const layers = capture.attentions.filter(({ kind }) => kind === 'cross')
      .map(({ layer }) => [String(layer), String(layer)]);
    /** @type {[string, string][]} */
    const heads = [
      ['mean', 'mean of all'],
      ...inside.map((one) => /** @type {[string, string]} */ ([one, one])),
    ];
    this.controls.replaceChildren(
      choice('Layer', layers, String(depth), (value) => store.set({ depth: value })),
      choice('Head', heads, head, (mix) => store.set({ mix })),
      choice(
        'Output token',
        this.target.map(({ text }, i) => [String(i), `${i}: ${visible(text)}`]),
        String(output),
        (value) => store.set({ output: value }),
      ),
    );
    const weights = async (attention, row) =>
      (await capture.headMap(attention, head === 'mean' ? 'mean' : Number(head))).row(row);
    const seen = await weights(cross, output);
    const strongest = seen.indexOf(Math.max(...seen));
    const own = this.#layer('decoder-self', depth);
    const inner = this.#layer('encoder-self', depth);
    const openOutput = (index) => store.set({ output: String(index) });
    const panels = [
      this.#panel(
        cross,
        'Cross-attention',
        [
          'While it chooses what follows ',
          tokenText(this.target[output].text),
          ', the decoder looks at the input:',
        ],
        shaded(this.context, this.source, seen),
        head,
        output,
      ),
      own &&
      this.#panel(
        own,
        'Decoder self-attention',
        [tokenText(this.target[output].text), ' looks back at what was said so far:'],
        shaded(this.context, this.target, await weights(own, output), {
          own: output,
          open: openOutput,
        }),
        head,
        output,
      ),
      inner &&
      this.#panel(
        inner,
        'Encoder self-attention',
        [
          'The input token it looked at most, ',
          tokenText(this.source[strongest].text),
          ` (${percent(seen[strongest])}), was read with:`,
        ],
        shaded(this.context, this.source, await weights(inner, strongest), { own: strongest }),
        head,
        strongest,
      ),
    ];
    this.panels.replaceChildren(...panels.filter(Boolean));
  }

  #panel(attention, title, words, content, head, row) {
    const { store } = this.context;
    return el(
      'section',
      { class: 'card', data: { attention: attention.name, row } },
      el('h2', {}, title),
      el('p', { class: 'note' }, words),
      content,
      el(
        'p',
        { class: 'actions' },
        el('button', {
          type: 'button',
          class: 'link',
          onclick: () =>
            store.set({ view: 'matrix', attention: attention.name, head, query: String(row) }),
        }, 'as a matrix'),
      ),
    );
  }
}

/** @type {import('../app.js').View} */
export const translationView = {
  id: 'translation',
  title: 'Encoder–decoder',
  applies: (capture) => capture.attentions.some(({ kind }) => kind === 'cross'),
  open(context) {
    const view = new TranslationView(context);
    return {
      element: view.element,
      update: (state) => view.update(state),
      close: () => view.close(),
    };
  },
};
