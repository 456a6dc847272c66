// The frame around the views: the captures, the model's name, the tabs, the theme, the keys that work
// everywhere.
import { headsOf } from './capture.js';
import { paletteFor } from './colour.js';
import { el } from './dom.js';
import { openHelp } from './help.js';
import { stepHead, stepLayer } from './picker.js';
import { Store, within } from './store.js';
import { grouped, rounded, tokenText } from './text.js';
import { Theme } from './theme.js';
import { Tooltip } from './tooltip.js';
import { anatomyView } from './views/anatomy.js';
import { generationView } from './views/generation.js';
import { headView } from './views/head.js';
import { lensView } from './views/lens.js';
import { matrixView } from './views/matrix.js';
import { modelView } from './views/model.js';
import { stepView } from './views/step.js';
import { translationView } from './views/translation.js';
import { visionView } from './views/vision.js';

/**
 * @typedef {object} Context  what a view is given
 * @property {import('./capture.js').Capture} capture
 * @property {Pick<Store, 'state' | 'set'>} store  the state stays once the reader is in another view
 * @property {Tooltip} tooltip
 * @property {() => import('./colour.js').Palette} palette
 * @typedef {object} Mounted
 * @property {HTMLElement} element
 * @property {(state: import('./store.js').State) => void} [update]  another choice in the same view
 * @property {() => void} [close]
 * @typedef {object} View
 * @property {string} id
 * @property {string} title
 * @property {(capture: import('./capture.js').Capture) => boolean} applies
 * @property {(context: Context) => Mounted} open
 */

/** @type {View[]} */
const VIEWS = [
  modelView,
  headView,
  matrixView,
  stepView,
  translationView,
  visionView,
  generationView,
  lensView,
  anatomyView,
];

/**
 * A capture and the views that have something to show of it.
 * @typedef {{capture: import('./capture.js').Capture, views: View[]}} Shown
 * @param {import('./capture.js').Capture[]} captures @returns {Shown[]}
 */
function shownOf(captures) {
  return captures
    .map((capture) => ({ capture, views: VIEWS.filter((view) => view.applies(capture)) }))
    .filter(({ views }) => views.length);
}

/** @param {Shown[]} shown @param {import('./store.js').State} state @returns {Shown} */
function chosenOf(shown, state) {
  return shown[within(state.capture, shown.length, 0)];
}

/** Fills in what an address leaves open, and drops what its capture does not have. @param {Shown[]} shown */
function completer(shown) {
  return ({ capture: number, ...state }) => {
    const { capture, views } = chosenOf(shown, { capture: number });
    if (shown.length > 1) state.capture = String(within(number, shown.length, 0));
    const attention = capture.attention(state.attention) ?? capture.attentions[0];
    const view = views.some(({ id }) => id === state.view) ? state.view : views[0].id;
    if (!attention) return { ...state, view };
    const heads = headsOf(attention);
    const head = state.head === 'mean' || heads.includes(Number(state.head)) && state.head
      ? state.head
      : String(heads[0]);
    const count = capture.tokens(attention.queries).length;
    const followed = capture.meta.steps?.row?.[attention.queries] ?? 0;
    const query = within(state.query, count, followed);
    return { ...state, view, attention: attention.name, head, query: String(query) };
  };
}

/** The line under the name: what kind of model, how large, what it read and said. */
function summaryOf({ meta }) {
  const { model } = meta;
  const stacks = {
    encoder: 'encoder',
    decoder: 'decoder',
    encoder_decoder: 'encoder–decoder',
    vision: 'vision encoder',
  };
  const parts = [model.family, stacks[model.stack] ?? model.stack];
  if (model.parameters) parts.push(`${rounded(model.parameters)} parameters`);
  for (const [side, { tokens }] of Object.entries(meta.sides ?? {})) {
    if (!meta.image) {
      parts.push(
        `${grouped(tokens.length)} ${Object.keys(meta.sides).length > 1 ? `${side} ` : ''}tokens`,
      );
    }
  }
  if (meta.image) parts.push(`${meta.image.rows} × ${meta.image.columns} patches`);
  return parts.filter(Boolean).join(' · ');
}

/**
 * Which of several captures is shown, by their models' names; nothing where there is one.
 * @param {Shown[]} shown @param {Store} store
 */
function switchOf(shown, store) {
  const buttons = shown.map(({ capture }, index) =>
    el('button', {
      type: 'button',
      onclick: () => store.go({ view: store.state.view, capture: String(index) }),
    }, tokenText(capture.meta.model.name))
  );
  const select = () =>
    buttons.forEach((button, index) =>
      button.setAttribute('aria-pressed', String(String(index) === store.state.capture))
    );
  const element = shown.length > 1 &&
    el('div', { class: 'segments captures', role: 'group', 'aria-label': 'Captures' }, buttons);
  return { element, select };
}

/** @param {Theme} theme @param {() => void} help */
function headerOf(theme, help) {
  const themeButton = el('button', { class: 'quiet', type: 'button', onclick: () => theme.next() });
  const label = () => {
    const names = { auto: 'as the system', light: 'light', dark: 'dark' };
    themeButton.textContent = { auto: '◐', light: '☀', dark: '☾' }[theme.choice];
    themeButton.setAttribute('aria-label', `Theme: ${names[theme.choice]}`);
    themeButton.title = `Theme: ${names[theme.choice]}`;
  };
  label();
  const name = el('h1', {});
  const summary = el('p', { class: 'summary' });
  /** @param {import('./capture.js').Capture} capture */
  const show = (capture) => {
    name.replaceChildren(tokenText(capture.meta.model.name));
    summary.textContent = summaryOf(capture);
  };
  const element = el(
    'header',
    { class: 'top' },
    el(
      'div',
      { class: 'title' },
      el('span', { class: 'mark', 'aria-hidden': 'true' }),
      el('div', {}, name, summary),
    ),
    el(
      'div',
      { class: 'tools' },
      themeButton,
      el('button', {
        class: 'quiet',
        type: 'button',
        title: 'Help (?)',
        'aria-label': 'Help',
        onclick: help,
      }, '?'),
    ),
  );
  return { element, label, show };
}

/** The tabs of one capture. @param {View[]} views @param {Store} store */
function tabsOf(views, store) {
  const tabs = views.map(({ id, title }, index) =>
    el('button', {
      role: 'tab',
      type: 'button',
      id: `tab-${id}`,
      'aria-controls': 'panel',
      title: `${title} (${index + 1})`,
      onclick: () => store.set({ view: id }),
    }, title)
  );
  const list = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Views' }, tabs);
  list.addEventListener('keydown', (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const at = views.findIndex(({ id }) => id === store.state.view);
    const next = (at + move + views.length) % views.length;
    store.set({ view: views[next].id });
    tabs[next].focus();
  });
  const select = (view) =>
    tabs.forEach((tab, index) => {
      const chosen = views[index].id === view;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen) list.scrollLeft = tab.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
    });
  return { element: list, select };
}

/**
 * Keys that work in every view, unless the reader is typing.
 * @param {Store} store @param {() => Shown} chosen @param {() => void} help
 */
function listenToKeys(store, chosen, help) {
  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target instanceof Element && event.target.closest('select, input, dialog')) return;
    const context = { store, capture: chosen().capture };
    const view = chosen().views[Number(event.key) - 1];
    if (view) store.set({ view: view.id });
    else if (event.key === '?') help();
    else if (event.key === '[' || event.key === ']') stepHead(context, event.key === ']' ? 1 : -1);
    else if (event.key === '{' || event.key === '}') stepLayer(context, event.key === '}' ? 1 : -1);
    else return;
    event.preventDefault();
  });
}

/** @param {HTMLElement} root @param {import('./capture.js').Capture[]} captures */
export function openApp(root, captures) {
  const shown = shownOf(captures);
  if (!shown.length) throw new Error('the capture is empty');
  const store = new Store(completer(shown));
  const tooltip = new Tooltip();
  const panel = el('main', { id: 'panel', role: 'tabpanel', tabindex: -1 });
  const nav = el('nav', {});
  let { capture, views } = chosenOf(shown, store.state);
  /** @type {ReturnType<typeof tabsOf>} */
  let tabs;
  /** @type {Mounted | undefined} */
  let mounted;
  /** @type {Context['store']} */
  let choices;
  const update = () => {
    choices.state = store.state;
    mounted.update?.(store.state);
  };
  const open = () => {
    mounted?.close?.();
    tooltip.hide();
    const view = views.find(({ id }) => id === store.state.view);
    choices = { state: store.state, set: (patch) => store.set(patch) };
    mounted = view.open({ capture, store: choices, tooltip, palette });
    panel.setAttribute('aria-labelledby', `tab-${view.id}`);
    panel.replaceChildren(mounted.element);
    tabs.select(view.id);
    update();
    document.title = `${view.title} – ${capture.meta.model.name}`;
  };
  const turn = () => {
    ({ capture, views } = chosenOf(shown, store.state));
    header.show(capture);
    captureSwitch.select();
    tabs = tabsOf(views, store);
    nav.replaceChildren(tabs.element);
    open();
  };
  const theme = new Theme(() => {
    header.label();
    open();
  });
  const palette = () => paletteFor(theme.dark);
  const help = () => openHelp(capture, views);
  const header = headerOf(theme, help);
  const captureSwitch = switchOf(shown, store);
  root.replaceChildren(
    ...[captureSwitch.element, header.element, nav, panel, tooltip.box, tooltip.voice]
      .filter(Boolean),
  );
  store.listen((state, before) => {
    if (state.capture !== before.capture) turn();
    else if (state.view !== before.view) open();
    else update();
  });
  listenToKeys(store, () => ({ capture, views }), help);
  turn();
}
