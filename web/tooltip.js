// One box near the pointer, and one live region that says the same to a screen reader.
import { el } from './dom.js';

export class Tooltip {
  constructor() {
    this.box = el('div', { class: 'tooltip', 'aria-hidden': 'true', hidden: true });
    this.voice = el('div', { class: 'unseen', role: 'status', 'aria-live': 'polite' });
  }

  /** @param {{clientX: number, clientY: number}} place @param {...any} content */
  show(place, ...content) {
    this.box.replaceChildren(...content);
    this.box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = Math.min(place.clientX + 14, window.innerWidth - width - 8);
    const below = place.clientY + 18;
    const top = below + height < window.innerHeight ? below : place.clientY - height - 12;
    this.box.style.left = `${Math.max(8, left)}px`;
    this.box.style.top = `${Math.max(8, top)}px`;
  }

  hide() {
    this.box.hidden = true;
  }

  /** @param {string} text */
  say(text) {
    this.voice.textContent = text;
  }
}
