// Light, dark, or as the system says.

const NEXT = { auto: 'light', light: 'dark', dark: 'auto' };
const KEPT = 'glassformer-theme';

/** Storage may be refused to pages from disk. */
function stored() {
  try {
    return window.localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

export class Theme {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    this.system = window.matchMedia('(prefers-color-scheme: dark)');
    this.system.addEventListener('change', () => changed());
    this.choice = NEXT[stored()] ? stored() : 'auto';
    this.#apply();
  }

  get dark() {
    return this.choice === 'auto' ? this.system.matches : this.choice === 'dark';
  }

  next() {
    this.choice = NEXT[this.choice];
    try {
      window.localStorage.setItem(KEPT, this.choice);
    } catch {
      // The choice lasts as long as the page.
    }
    this.#apply();
    this.changed();
  }

  #apply() {
    document.documentElement.dataset.theme = this.choice;
  }
}
