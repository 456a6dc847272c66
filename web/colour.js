// Colours for numbers. Lightness rises or falls evenly along each scale (in OKLab, which is made so
// that equal steps look equal), so that they are read without seeing hue.

/** @param {number[]} oklch hue in degrees @returns {number[]} sRGB bytes */
function fromOklch([l, c, h]) {
  const a = c * Math.cos((h * Math.PI) / 180);
  const b = c * Math.sin((h * Math.PI) / 180);
  const long = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ].map((linear) => {
    const x = Math.min(1, Math.max(0, linear));
    return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
  });
}

/** Opaque RGBA pixels along a scale. @param {(t: number) => number[]} at t in [0, 1] → OKLCH */
function table(at) {
  const pixels = new Uint32Array(256);
  const bytes = new Uint8Array(pixels.buffer);
  for (let i = 0; i < 256; ++i) bytes.set([...fromOklch(at(i / 255)), 255], 4 * i);
  return pixels;
}

const mix = (from, to, t) => from + (to - from) * t;

/** Indexed by the upper byte of a weight's code: nothing → the ground, 1 → the strongest. */
const WEIGHTS = {
  light: table((t) => [mix(1, 0.28, t), 0.2 * t ** 0.75 * (1 - 0.25 * t), mix(265, 283, t)]),
  dark: table((
    t,
  ) => [mix(0.215, 0.95, t), 0.02 + 0.15 * Math.sin(Math.PI * t * 0.85), mix(280, 215, t)]),
};
/** Signed values: orange below zero, the ground at zero, blue above. */
const SIGNED = {
  light: table((t) => {
    const s = Math.abs(2 * t - 1);
    return [mix(0.97, 0.5, s), 0.15 * s ** 0.8, t < 0.5 ? 52 : 262];
  }),
  dark: table((t) => {
    const s = Math.abs(2 * t - 1);
    return [mix(0.25, 0.8, s), 0.13 * s ** 0.8, t < 0.5 ? 65 : 245];
  }),
};
/** Several heads at once: Okabe and Ito's colours, told apart with every kind of colour vision. */
const HEADS = {
  light: ['#0072b2', '#d55e00', '#009e73', '#aa4499', '#b08500', '#2f9fd8', '#6b4a2b', '#4b4f5c'],
  dark: ['#56b4e9', '#f0883e', '#2fc79b', '#e29ac6', '#f0e442', '#8fa8ff', '#c9a27c', '#c3c8d4'],
};

/** @typedef {{weights: Uint32Array, signed: Uint32Array, heads: string[], dark: boolean}} Palette */

/** @param {boolean} dark @returns {Palette} */
export function paletteFor(dark) {
  const name = dark ? 'dark' : 'light';
  return { weights: WEIGHTS[name], signed: SIGNED[name], heads: HEADS[name], dark };
}

/** One entry of a scale as CSS. @param {Uint32Array} scale @param {number} index */
export function css(scale, index, alpha = 1) {
  const pixel = scale[Math.max(0, Math.min(255, Math.round(index)))];
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255} / ${alpha})`;
}

/** The colour of a weight in [0, 1]. @param {Palette} palette @param {number} weight */
export function weightColour(palette, weight) {
  return css(palette.weights, 255 * Math.sqrt(Math.max(0, weight)));
}

/** What can be read on the colour of that weight. @param {Palette} palette @param {number} weight */
export function inkOn(palette, weight) {
  const pixel = palette.weights[Math.min(255, Math.round(255 * Math.sqrt(Math.max(0, weight))))];
  const [red, green, blue] = [0, 8, 16].map((shift) => (((pixel >> shift) & 255) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.2 ? '#ffffff' : '#14161d';
}
