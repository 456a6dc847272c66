// All layers × heads, small.
import { headsOf } from '../capture.js';
import { css } from '../colour.js';
import { all, bar, choice, el } from '../dom.js';
import { LONG } from '../head_map.js';
import { number, percent, tokenText } from '../text.js';

const MEASURES = {
  entropy: [
    'Entropy',
    'How widely a head spreads its attention, in nats: 0 looks at one token, ln n at all n alike.',
  ],
  distance: ['Distance', 'How many tokens away the attention lies on average.'],
  previous_token: ['Previous token', 'The share of attention on the token just before.'],
  induction: [
    'Induction',
    'The share of attention on what followed an earlier copy of the same token.',
  ],
  cls: ['First token', 'The share of attention on the first token, often a resting place.'],
};

const MOST = 200; // tokens of the text that are shown
const THUMB = 96; // CSS pixels; scaled down by the style where there is less room

/** @param {HTMLCanvasElement} canvas @param {import('../head_map.js').HeadMap} map */
async function drawThumb(canvas, map, palette) {
  await map.prepare('max');
  const size = Math.round(THUMB * Math.min(2, window.devicePixelRatio || 1));
  const ratio = map.columns / map.rows;
  canvas.width = ratio >= 1 ? size : Math.max(1, Math.round(size * ratio));
  canvas.height = ratio >= 1 ? Math.max(1, Math.round(size / ratio)) : size;
  const context = canvas.getContext('2d');
  const image = context.createImageData(canvas.width, canvas.height);
  const whole = { top: 0, left: 0, height: map.rows, width: map.columns };
  const gain = map.columns > LONG ? map.stretch : 1;
  map.paint(image, whole, palette.weights, 'max', gain);
  context.putImageData(image, 0, 0);
}

/** Draws each thumbnail when it is first scrolled into view. */
function lazily(context) {
  const jobs = new Map();
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      const { attention, head } = jobs.get(target);
      context.capture.headMap(attention, head)
        .then((map) => drawThumb(/** @type {HTMLCanvasElement} */ (target), map, context.palette()))
        .then(() => {
          /** @type {HTMLElement} */ (target).dataset.drawn = 'yes';
        });
    }
  }, { rootMargin: '200px' });
  return {
    add(canvas, attention, head) {
      jobs.set(canvas, { attention, head });
      observer.observe(canvas);
    },
    close: () => observer.disconnect(),
  };
}

function thumb(context, lazy, attention, head) {
  const canvas = el('canvas', { width: THUMB, height: THUMB, 'aria-hidden': 'true' });
  lazy.add(canvas, attention, head);
  return el(
    'button',
    {
      class: 'thumb',
      type: 'button',
      tabindex: -1,
      data: { attention: attention.name, head },
      'aria-label': `Layer ${attention.layer}, head ${head}: open`,
      onclick: () =>
        context.store.set({ view: 'head', attention: attention.name, head: String(head) }),
    },
    canvas,
    el('span', { class: 'thumb-name' }, `${head}`),
    el('span', { class: 'measure' }),
  );
}

/** Arrow keys go from head to head and from layer to layer. @param {HTMLElement} grid */
function arrows(grid) {
  const rows = all(grid, '.heads').map((row) => all(row, '.thumb'));
  if (rows[0]?.[0]) rows[0][0].tabIndex = 0;
  grid.addEventListener('keydown', (event) => {
    const [down, right] =
      { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ??
        [];
    const focused = /** @type {HTMLElement} */ (document.activeElement);
    const row = rows.findIndex((one) => one.includes(focused));
    if (down === undefined || row < 0) return;
    event.preventDefault();
    const column = rows[row].indexOf(focused);
    const target = rows[row + down]?.[Math.min(column + right, rows[row + down].length - 1)];
    if (!target) return;
    for (const one of rows.flat()) one.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  });
}

/** A bar and a number under each thumbnail. @param {HTMLElement} root */
function showMeasure(root, capture, name) {
  const found = capture.attentions.flatMap(({ measures }) => measures?.[name] ?? []);
  const most = Math.max(...found, 1e-9); // An unknown one is null, which counts as 0.
  for (const button of all(root, '.thumb')) {
    const { attention, head } = button.dataset;
    const { measures, kept_heads: kept } = capture.attention(attention);
    const values = measures?.[name] ?? [];
    const value = values[
      kept?.length && values.length === kept.length ? kept.indexOf(Number(head)) : Number(head)
    ];
    button.querySelector('.measure').replaceChildren(
      ...(name && value !== undefined && value !== null
        ? [bar(value / most), el('b', {}, number(value, 2))]
        : []),
    );
  }
}

function measureChoice(capture, root) {
  const found = [
    ...new Set(capture.attentions.flatMap(({ measures }) =>
      Object.entries(measures ?? {})
        .filter(([, values]) => values.some((value) => value !== null)).map(([name]) => name)
    )),
  ];
  if (!found.length) return null;
  const about = el('p', { class: 'note' });
  /** @type {[string, string][]} */
  const options = found.map((name) => [name, MEASURES[name]?.[0] ?? name]);
  options.unshift(['', 'none']);
  return [
    choice('Measure', options, '', (name) => {
      showMeasure(root, capture, name);
      about.textContent = MEASURES[name]?.[1] ?? '';
    }),
    about,
  ];
}

/** What the model answered, in a line. */
function predictionOf({ meta }) {
  const row = meta.prediction?.rows?.[0] ?? (meta.prediction?.top ? meta.prediction : null);
  if (!row?.top?.length) return null;
  const what = {
    classification: 'It answers',
    next_token: 'It goes on with',
    masked: 'It fills in',
    answer: 'It answers',
  };
  return el(
    'p',
    { class: 'prediction' },
    el('span', {}, `${what[meta.prediction.kind] ?? 'It says'} `),
    row.top.slice(0, 5).map(({ label, token, text, probability }) =>
      el(
        'span',
        { class: 'guess' },
        tokenText(label ?? token ?? text),
        el('b', {}, percent(probability)),
      )
    ),
  );
}

/** The text that was read, its tokens shaded by how much they mattered where that was asked for. */
function inputOf(capture) {
  const sides = Object.keys(capture.meta.sides ?? {});
  const lines = Object.entries(capture.meta.sides ?? {}).map(([side, { tokens }]) => {
    if (capture.meta.image) return null;
    const shown = tokens.slice(0, MOST);
    return el(
      'p',
      { class: 'reading', data: { side } },
      el('span', { class: 'side' }, side === 'encoder' || sides.length === 1 ? 'reads' : 'writes'),
      shown.map(({ text }) => el('span', { class: 'piece' }, tokenText(text))),
      tokens.length > MOST ? ` … ${tokens.length} tokens` : null,
    );
  });
  return el('div', { class: 'input' }, lines, ablationOf(capture), predictionOf(capture));
}

/** What was taken out of the model before it answered, and what it said before. */
function ablationOf({ meta }) {
  if (!meta.ablation) return null;
  const best = meta.ablation.before?.rows?.[0]?.top?.[0];
  return el(
    'p',
    { class: 'prediction' },
    `Without ${meta.ablation.steps.join(', ')}.`,
    best
      ? [
        ' Before, it said ',
        el(
          'span',
          { class: 'guess' },
          tokenText(best.label ?? best.token),
          el('b', {}, percent(best.probability)),
        ),
      ]
      : null,
  );
}

/** Shades the tokens by how much they mattered. @param {HTMLElement} root */
async function showSaliency(root, { capture, palette }) {
  const { saliency } = capture.meta;
  const line = saliency && root.querySelector(`.reading[data-side="${saliency.side}"]`);
  if (!line || !capture.has(saliency.tensor)) return;
  const values = await capture.values(saliency.tensor);
  const most = values.reduce((size, value) => Math.max(size, Math.abs(value)), 1e-30);
  all(line, '.piece').forEach((piece, index) => {
    const share = (values[index] / most) || 0;
    piece.style.backgroundColor = css(palette().signed, 127.5 + 127.5 * share);
    piece.style.color = Math.abs(share) > 0.75 ? (palette().dark ? '#14161d' : '#ffffff') : '';
    piece.title = number(values[index], 5);
  });
  const method = saliency.method.replace('_', ' ');
  line.after(
    el(
      'p',
      { class: 'note' },
      'Shaded by how much each token mattered for ',
      tokenText(saliency.target),
      ` (${method}): blue for it, orange against it.`,
    ),
  );
}

/** @type {import('../app.js').View} */
export const modelView = {
  id: 'model',
  title: 'Model',
  applies: (capture) => capture.attentions.length > 0,
  open(context) {
    const { capture } = context;
    const lazy = lazily(context);
    const root = el('div', { class: 'model-view' });
    const sections = capture.groups.map((group) =>
      el(
        'section',
        {},
        capture.groups.length > 1 ? el('h2', {}, group.title) : null,
        group.attentions.filter((attention) => capture.attentions.includes(attention)).map(
          (attention) => {
            const heads = el('div', {
              class: 'heads',
              role: 'group',
              'aria-label': `${group.title}, layer ${attention.layer}`,
            }, headsOf(attention).map((head) => thumb(context, lazy, attention, head)));
            heads.style.setProperty('--heads', String(headsOf(attention).length));
            return el(
              'div',
              { class: 'layer' },
              el('h3', {}, 'Layer ', el('b', {}, attention.layer)),
              heads,
            );
          },
        ),
      )
    );
    root.append(
      inputOf(capture),
      el('div', { class: 'picker' }, measureChoice(capture, root)),
      ...sections,
    );
    arrows(root);
    showSaliency(root, context);
    return { element: root, close: lazy.close };
  },
};
