// One query of one head, worked out again from its query, keys and values.

/**
 * @typedef {object} Operands
 * @property {Float32Array} query  [size]
 * @property {(key: number) => Float32Array} key  [size]
 * @property {number} keys
 * @property {number} scale  of the scores, 1/√size in most models
 * @property {(scaled: number, key: number) => number} mask  adds biases; −∞ where it may not look
 */

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += a[i] * b[i];
  return sum;
}

/** exp(x − max) / Σ exp(x − max); zeros where there is nothing to look at. @param {number[]} scores */
export function softmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  if (most === -Infinity) return scores.map(() => 0);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** @param {Operands} operands */
export function attend({ query, key, keys, scale, mask }) {
  const scores = Array.from({ length: keys }, (_, j) => dot(query, key(j)));
  const scaled = scores.map((score) => score * scale);
  const masked = scaled.map(mask);
  return { scores, scaled, masked, weights: softmax(masked) };
}

/** Σ weights[j] · value(j) @param {number[]} weights @param {(key: number) => Float32Array} value */
export function weightedSum(weights, value, size) {
  const sum = new Float32Array(size);
  weights.forEach((weight, j) => {
    if (weight === 0) return;
    const row = value(j);
    for (let i = 0; i < size; ++i) sum[i] += weight * row[i];
  });
  return sum;
}

/**
 * The scale that turned the scores into the captured ones: 1/√size within rounding where it is that.
 * @param {number[]} scores @param {ArrayLike<number>} captured @param {number} size
 */
export function scaleOf(scores, captured, size) {
  const usual = 1 / Math.sqrt(size);
  const found = dot(scores, captured) / dot(scores, scores);
  return Math.abs(found / usual - 1) < 0.02 || !Number.isFinite(found) ? usual : found;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function largestDifference(a, b) {
  let most = 0;
  for (let i = 0; i < a.length; ++i) {
    if (a[i] !== b[i]) most = Math.max(most, Math.abs(a[i] - b[i]));
  }
  return most;
}
