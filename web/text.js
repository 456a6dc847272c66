// Tokens and numbers as text that can be read, whatever is in them.
import { el } from './dom.js';

// What is invisible, or changes the order of what stands beside it: controls, format characters,
// line separators, lone surrogates, fillers. A joiner inside an emoji stays.
const UNSEEN =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d|(?!\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;
const PICTURES = { '\n': '↵', '\t': '⇥' };

/** @param {string} found */
function nameUnseen(found) {
  const digits = found.codePointAt(0).toString(16);
  return PICTURES[found] ??
    (digits.length > 2 ? `\\u{${digits}}` : `\\x${digits.padStart(2, '0')}`);
}

/** A token as one line in which everything can be seen: " a\n" → "·a↵". @param {string} text */
export function visible(text) {
  if (text === '') return '∅';
  return text.replace(UNSEEN, nameUnseen).replace(
    /^[ \u00a0]+|[ \u00a0]+$/g,
    (spaces) => '·'.repeat(spaces.length),
  );
}

/** @param {string} text @param {number} length of the result at most */
export function shorten(text, length) {
  const points = [...text];
  return points.length <= length ? text : `${points.slice(0, length - 1).join('')}…`;
}

/** A token for the flow of the page, isolated so that its direction stays its own. @param {string} text */
export function tokenText(text) {
  const [, before, middle, after] = /^(·*)(.*?)(·*)$/su.exec(visible(text));
  const space = (dots) => dots && el('span', { class: 'space' }, dots);
  return el('bdi', { class: 'token-text' }, space(before), middle, space(after));
}

/** A number that may be small: 0.4312, 3.1e-5, −∞. @param {number} value */
export function number(value, digits = 4) {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  const size = Math.abs(value);
  const text = value === 0 || (size >= 10 ** -digits && size < 1e5)
    ? value.toFixed(size >= 1000 ? 1 : size >= 100 ? Math.min(2, digits) : digits)
    : value.toExponential(1);
  return text.replace('-', '−').replace('e−', 'e-').replace('e+', 'e');
}

/** 0.4312 → "43.1 %". @param {number} share */
export function percent(share) {
  const value = 100 * share;
  if (value !== 0 && value < 0.1) return '< 0.1 %';
  return `${value.toFixed(value < 99.95 ? 1 : 0)} %`;
}

/** 1234567 → "1,234,567". @param {number} count */
export function grouped(count) {
  return count.toLocaleString('en');
}

/** 123456789 → "123 M". @param {number} count */
export function rounded(count) {
  const power = count < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(count) / 3));
  if (power === 0) return String(count);
  const value = count / 1000 ** power;
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${'kMBT'[power - 1]}`;
}

/** 1234567 → "1.18 MiB". @param {number} bytes */
export function inBytes(bytes) {
  const unit = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** unit).toFixed(unit ? 2 : 0)} ${
    ['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]
  }`;
}
