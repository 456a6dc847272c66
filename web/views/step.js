// One query through the equations, with its numbers.
import { headsOf } from '../capture.js';
import { bar, choice, el } from '../dom.js';
import { largestDifference } from '../equations.js';
import { picker } from '../picker.js';
import { concatenation, layerSteps, queryThroughHead } from '../steps.js';
import { largest, stripCanvas, vector } from '../strip.js';
import { number, tokenText, visible } from '../text.js';

const SHORT = 10; // keys shown at first
const MOST = 512; // keys shown at all

/** One step: number, title, formula, words, content. */
function card(count, title, formula, words, ...content) {
  return el(
    'section',
    { class: 'card step-card', 'aria-label': title },
    el(
      'header',
      {},
      el('span', { class: 'count' }, String(count)),
      el('h2', {}, title),
      formula ? el('span', { class: 'formula' }, formula) : null,
    ),
    el('p', { class: 'note' }, words),
    content,
  );
}

/** Tokens to choose the query from. */
function queryChoice({ capture, store }, attention) {
  const tokens = capture.tokens(attention.queries);
  if (tokens.length > 48) {
    return choice(
      'Query',
      tokens.map(({ text }, index) => [String(index), `${index}: ${visible(text)}`]),
      store.state.query,
      (query) => store.set({ query }),
    );
  }
  return el(
    'div',
    { class: 'query-choice', role: 'group', 'aria-label': 'Query' },
    tokens.map(({ text }, index) =>
      el('button', {
        type: 'button',
        class: 'piece',
        'aria-pressed': String(String(index) === store.state.query),
        data: { query: index },
        onclick: () => store.set({ query: String(index) }),
      }, tokenText(text))
    ),
  );
}

/** What the scores are multiplied by. */
function factorOf({ scale, size }) {
  return Math.abs(scale * Math.sqrt(size) - 1) < 1e-6 ? '÷ √d' : `× ${number(scale, 3)}`;
}

/** The table of all keys: product, scale, mask, softmax, and what was captured. */
function scoreTable(context, work, tokens) {
  const order = work.captured.map((_, j) => j).sort((a, b) =>
    work.captured[b] - work.captured[a] || a - b
  );
  const most = order.reduce((size, j) => Math.max(size, largest(work.key(j))), 0);
  const row = (j) =>
    el(
      'tr',
      { data: { key: j } },
      el(
        'th',
        { scope: 'row' },
        el('button', {
          type: 'button',
          class: 'unfold',
          'aria-expanded': 'false',
          title: 'Shows how the score comes about',
          onclick: (event) => toggleTerms(context, work, j, event.currentTarget),
        }, tokenText(tokens[j].text)),
        el('span', { class: 'index' }, String(j)),
      ),
      el('td', { class: 'wide' }, stripCanvas(context, work.key(j), { most, label: `key ${j}` })),
      [work.scores[j], work.scaled[j], work.masked[j]].map((value) =>
        el('td', {}, number(value, 3))
      ),
      el(
        'td',
        { class: 'weighed' },
        bar(work.weights[j]),
        el('b', {}, number(work.weights[j], 4)),
      ),
      el('td', { class: 'captured' }, number(work.captured[j], 4)),
    );
  const body = el('tbody');
  const fill = (all) =>
    body.replaceChildren(
      ...(all ? order.slice(0, MOST).sort((a, b) => a - b) : order.slice(0, SHORT)).map(row),
    );
  fill(false);
  const table = el(
    'div',
    { class: 'sideways', tabindex: 0, role: 'region', 'aria-label': 'Scores' },
    el(
      'table',
      { class: 'scores' },
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          ['key', 'k', 'q · k', factorOf(work), 'masked', 'softmax', 'captured'].map((name) =>
            el('th', { scope: 'col', class: name === 'k' ? 'wide' : null }, name)
          ),
        ),
      ),
      body,
    ),
  );
  return [
    table,
    work.count > SHORT ? unfold(work.count, fill) : null,
    softmaxLine(work, tokens, order[0]),
  ];
}

/** Softmax in numbers, for the strongest key. */
function softmaxLine({ masked, weights }, tokens, j) {
  const most = Math.max(...masked);
  if (!Number.isFinite(most)) return null;
  const sum = masked.reduce((total, score) => total + Math.exp(score - most), 0);
  return el(
    'p',
    { class: 'note' },
    'Softmax for ',
    tokenText(tokens[j].text),
    `: exp(${number(masked[j], 3)} − ${number(most, 3)}) ÷ Σ = ` +
      `${number(Math.exp(masked[j] - most), 3)} ÷ ${number(sum, 3)} = `,
    el('b', {}, number(weights[j], 4)),
  );
}

/** Under a key, the terms whose sum its score is: query times key, dimension by dimension. */
function toggleTerms(context, work, j, button) {
  const row = button.closest('tr');
  const open = button.getAttribute('aria-expanded') === 'true';
  button.setAttribute('aria-expanded', String(!open));
  if (open) {
    row.nextElementSibling.remove();
    return;
  }
  const terms = work.query.map((value, d) => value * work.key(j)[d]);
  row.after(
    el(
      'tr',
      { class: 'terms' },
      el(
        'td',
        { colspan: 7 },
        el(
          'p',
          { class: 'note' },
          `q · k is a sum of ${terms.length} terms, one a dimension; together ${
            number(work.scores[j], 3)
          }:`,
        ),
        vector(context, 'q × k', terms, { name: 'terms' }),
      ),
    ),
  );
}

/** Switches between the strongest keys and all of them. */
function unfold(count, fill) {
  let all = false;
  const button = el('button', { type: 'button', class: 'link' });
  const label = () => {
    button.textContent = all
      ? `the ${SHORT} strongest`
      : count > MOST
      ? `the ${MOST} strongest of ${count}, in order`
      : `all ${count}, in order`;
  };
  button.addEventListener('click', () => {
    all = !all;
    fill(all);
    label();
  });
  label();
  return button;
}

/** What the page worked out against what the model gave. */
function verdict(work) {
  const difference = largestDifference(work.weights, work.captured);
  const fine = difference < 0.01;
  return el(
    'p',
    { class: `verdict ${fine ? 'agrees' : 'differs'}`, data: { difference } },
    fine ? '✓ ' : '≠ ',
    `Worked out here from q and k, the weights agree with the captured ones to ${
      number(difference, 5)
    }. `,
    fine
      ? ''
      : work.knownMask
      ? 'q and k are in the page with three digits only.'
      : 'This model adds something to its scores (a position bias, a window, a cap) that is in the page only for the query that was followed.',
  );
}

/** The strongest values, each with its weight, and their sum. */
function valueTable(context, work, tokens) {
  const order = work.captured.map((_, j) => j).sort((a, b) =>
    work.captured[b] - work.captured[a] || a - b
  ).slice(0, 6);
  const most = order.reduce((size, j) => Math.max(size, largest(work.value(j))), 0);
  return el(
    'div',
    { class: 'sum' },
    order.map((j) =>
      el(
        'div',
        { class: 'term' },
        el('b', {}, number(work.captured[j], 3)),
        el('span', {}, '×'),
        tokenText(tokens[j].text),
        stripCanvas(context, work.value(j), { most, label: `value ${j}` }),
      )
    ),
    work.count > order.length
      ? el(
        'p',
        { class: 'note' },
        `+ ${work.count - order.length} more, together ${
          number(Math.max(0, 1 - order.reduce((sum, j) => sum + work.captured[j], 0)), 3)
        } of the weight`,
      )
      : null,
  );
}

/** What follows in the layer, for the query that was followed. */
async function rest(context, attention, count) {
  const { capture } = context;
  const cards = [];
  for (const { name, words } of layerSteps(capture, attention).after) {
    const own = name === `${attention.name}.output`;
    cards.push(
      card(
        count + cards.length,
        own ? 'Through W_O' : words[0],
        own ? 'concat · W_O' : null,
        own
          ? 'The output matrix mixes the heads: what this attention adds to the token.'
          : words[1],
        vector(context, name, await capture.values(name), { name }),
      ),
    );
  }
  return cards;
}

/** Says why the rest of the layer is missing, and leads to where it is. */
function onlyThere({ capture, store }, attention) {
  const row = capture.meta.steps.row?.[attention.queries];
  if (row === undefined) return null;
  return el(
    'p',
    { class: 'card note' },
    'W_O, the residual, the norms and the feed-forward network were captured for one query: ',
    el(
      'button',
      {
        type: 'button',
        class: 'link',
        data: { go: 'followed' },
        onclick: () => store.set({ query: String(row) }),
      },
      tokenText(capture.tokens(attention.queries)[row].text),
      ` (${row})`,
    ),
  );
}

/** The sums of the heads in one vector: words and the vector, captured where it was. */
async function allHeads(context, attention, head, row, work) {
  const { capture } = context;
  const name = `${attention.name}.concat`;
  const heads = headsOf(attention);
  const size = work.output.length;
  const summed = await concatenation(capture, attention, row, heads);
  const captured = work.followed && capture.has(name) ? await capture.values(name) : null;
  const complete = heads.length === attention.heads;
  const place = (captured || complete ? head : heads.indexOf(head)) * size;
  const words = [
    captured || complete
      ? `The sums of all ${attention.heads} heads.`
      : `The sums of heads ${heads.join(', ')}.`,
    ` Head ${head} has numbers ${place} to ${place + size - 1}. `,
    captured && complete
      ? `Summed here, they agree with the captured ones to ${
        number(largestDifference(summed, captured), 5)
      }.`
      : '',
  ];
  return [words, vector(context, 'concat', captured ?? summed, { name: 'concat' })];
}

/** @param {import('../app.js').Context} context @param {import('../store.js').State} state */
async function cards(context, state, attention) {
  const { capture } = context;
  const [head, row] = [Number(state.head), Number(state.query)];
  const work = await queryThroughHead(capture, attention, head, row);
  const keys = capture.tokens(attention.keys);
  const token = capture.tokens(attention.queries)[row];
  const { before } = layerSteps(capture, attention);
  const list = [];
  const add = (title, formula, words, ...content) =>
    list.push(card(list.length + 1, title, formula, words, ...content));
  if (work.followed) {
    for (const { name, words } of before) {
      add(words[0], null, words[1], vector(context, name, await capture.values(name), { name }));
    }
  }
  add('The query', 'q = x · W_Q', [
    `What `,
    tokenText(token.text),
    ` asks for, in head ${head}: ${work.size} numbers.`,
  ], vector(context, 'q', work.query, { name: 'query' }));
  add(
    'Scores, scale, mask, softmax',
    `αⱼ = softmax(q · kⱼ ${factorOf(work)} + mask)`,
    'Every key answers with a number: how well it fits the query. Scaled, masked and passed through softmax they add up to 1.',
    scoreTable(context, work, keys),
    verdict(work),
  );
  add(
    'The weighted sum of the values',
    'z = Σⱼ αⱼ vⱼ',
    'The values of the tokens, each as much as its weight.',
    valueTable(context, work, keys),
    vector(context, 'z', work.output, { name: 'head_output' }),
  );
  add(
    'All heads next to each other',
    'concat = [z₀ z₁ …]',
    ...await allHeads(context, attention, head, row, work),
  );
  return [
    ...list,
    ...(work.followed
      ? await rest(context, attention, list.length + 1)
      : [onlyThere(context, attention)]),
  ];
}

/** @type {import('../app.js').View} */
export const stepView = {
  id: 'step',
  title: 'Step by step',
  applies: (capture) => stepAttentions(capture).length > 0,
  open(context) {
    const { capture, store } = context;
    const controls = el('div', {});
    const body = el('div', { class: 'cards' });
    const inside = stepAttentions(capture);
    const update = async (state) => {
      const attention = inside.find(({ name }) => name === state.attention);
      if (!attention || state.head === 'mean') {
        store.set({
          attention: (attention ?? inside[0]).name,
          head: state.head === 'mean' ? String(headsOf(attention ?? inside[0])[0]) : state.head,
        });
        return;
      }
      controls.replaceChildren(
        picker(context, { layers: (one) => inside.includes(one) }),
        queryChoice(context, attention),
      );
      const place = `${state.attention} ${state.head} ${state.query}`;
      body.dataset.wanted = place;
      const made = await cards(context, state, attention);
      if (body.dataset.wanted !== place) return;
      body.replaceChildren(...made.filter(Boolean));
      body.dataset.shown = place;
    };
    return { element: el('div', { class: 'step-view' }, controls, body), update };
  },
};

/** The attentions whose query, key and value are inside. @param {import('../capture.js').Capture} capture */
function stepAttentions(capture) {
  return (capture.meta.steps?.attentions ?? []).map((name) => capture.attention(name))
    .filter((attention) =>
      attention &&
      ['query', 'key', 'value'].every((part) => capture.has(`${attention.name}.${part}`))
    );
}
