// What the reader has chosen, kept in the address after # so that a place in the page can be linked
// to: #matrix/attention=encoder.3.self_attention&head=4&query=7

/** @typedef {Record<string, string>} State  `view` and what it shows */

/** A whole number below `count` in an address, or what stands for it. @param {string | undefined} text */
export function within(text, count, otherwise) {
  const value = Number(text ?? NaN);
  return Number.isInteger(value) && value >= 0 && value < count ? value : otherwise;
}

/** @param {string} hash @returns {State} */
function parse(hash) {
  const [view, rest = ''] = hash.replace(/^#/, '').split('/');
  return { ...Object.fromEntries(new URLSearchParams(rest)), view: decodeURIComponent(view) };
}

/** @param {State} state */
function print({ view, ...rest }) {
  const query = new URLSearchParams(rest).toString();
  return `#${encodeURIComponent(view)}${query ? `/${query}` : ''}`;
}

export class Store {
  /** @type {Set<(state: State, before: State) => void>} */
  #listeners = new Set();

  /** @param {(state: State) => State} complete fills in and corrects what an address leaves open */
  constructor(complete) {
    this.complete = complete;
    this.state = this.#read();
    window.addEventListener('hashchange', () => this.#change(this.#read()));
  }

  #read() {
    try {
      return this.complete(parse(window.location.hash));
    } catch {
      return this.complete({ view: '' }); // An address that is not well formed.
    }
  }

  /** Some choices become others. @param {State} patch */
  set(patch) {
    this.go({ ...this.state, ...patch });
  }

  /**
   * To a place of which only these choices are known. A new view or capture is a new step in the
   * browser's history; other choices replace the last.
   * @param {State} choices
   */
  go(choices) {
    const state = this.complete(choices);
    const { view, capture } = this.state;
    const address = print(state);
    if (state.view !== view || state.capture !== capture) {
      window.history.pushState(null, '', address);
    } else window.history.replaceState(null, '', address);
    this.#change(state);
  }

  /** @param {(state: State, before: State) => void} listener */
  listen(listener) {
    this.#listeners.add(listener);
  }

  /** @param {State} state */
  #change(state) {
    const before = this.state;
    this.state = state;
    for (const listener of this.#listeners) listener(state, before);
  }
}
