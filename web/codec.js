// Numbers as they lie in the page: base64 of a zlib stream of 16-bit codes, first the high bytes of
// all, then the low ones, which compress better apart.

const PIECE = 1 << 21; // base64 characters at a time; a multiple of 4
const BREATH = 1 << 22; // bytes decoded before the browser may answer

/** Lets the browser draw and answer before the work goes on. */
export function pause() {
  return new Promise((resolve) => setTimeout(resolve));
}

/** @param {string} text base64 @param {WritableStreamDefaultWriter} writer */
async function pour(text, writer) {
  for (let at = 0; at < text.length; at += PIECE) {
    const binary = atob(text.slice(at, at + PIECE));
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
    await writer.ready;
    writer.write(bytes).catch(() => {}); // The reader reports what is wrong with the stream.
    if (text.length > PIECE) await pause();
  }
  writer.close().catch(() => {});
}

/**
 * @param {string} text @param {number} count of codes
 * @returns {Promise<Uint16Array>}
 */
export async function decodeCodes(text, count) {
  const stream = new DecompressionStream('deflate');
  const poured = pour(text, stream.writable.getWriter());
  const codes = new Uint16Array(count);
  const reader = stream.readable.getReader();
  let at = 0;
  let rested = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const bytes = part.value;
    if (at + bytes.length > 2 * count) throw new Error('a tensor holds more than its shape says');
    const high = Math.max(0, Math.min(bytes.length, count - at));
    for (let i = 0; i < high; ++i) codes[at + i] = bytes[i] << 8;
    for (let i = high; i < bytes.length; ++i) codes[at + i - count] |= bytes[i];
    at += bytes.length;
    if (at - rested < BREATH) continue;
    rested = at;
    await pause();
  }
  await poured;
  if (at !== 2 * count) throw new Error('a tensor holds less than its shape says');
  return codes;
}

/** The weight in [0, 1] that a code stands for: codes are proportional to its square root. */
export function weightOf(code) {
  const root = code / 65535;
  return root * root;
}

/** @param {number} weight in [0, 1] */
export function codeOf(weight) {
  return Math.round(Math.sqrt(weight) * 65535);
}

/** @param {number} code the bits of an IEEE half */
function halfToNumber(code) {
  const sign = code & 0x8000 ? -1 : 1;
  const exponent = (code >> 10) & 31;
  const fraction = code & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
}

/** @param {Uint16Array} codes halves @param {number} scale */
export function halvesToFloats(codes, scale) {
  const floats = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; ++i) floats[i] = halfToNumber(codes[i]) * scale;
  return floats;
}
