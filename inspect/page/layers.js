// The layers of nn/, in double from float32 parameters. Matrices are row-major arrays.

// Returns x (n, k) times columns [from, to) of W (k, m), plus the bias.
function linear(x, n, {weight, bias, k, m}, from = 0, to = m) {
  const y = new Float64Array(n * (to - from));
  for (let i = 0; i < n; ++i) {
    const row = i * (to - from);
    if (bias)
      for (let j = from; j < to; ++j) y[row + j - from] = bias[j];
    for (let c = 0; c < k; ++c) {
      const value = x[i * k + c];
      if (value === 0) continue;
      for (let j = from, w = c * m + from; j < to; ++j, ++w) y[row + j - from] += value * weight[w];
    }
  }
  return y;
}

function dot(a, i, b, j, length) {
  let sum = 0;
  for (let c = 0; c < length; ++c) sum += a[i + c] * b[j + c];
  return sum;
}

// Normalises each row of d (nn/norm.h). LayerNorm subtracts the mean; RMSNorm does not.
function normalised(x, norm) {
  const d = norm.gain.length, y = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += d) {
    const at = statistics(x.subarray(row, row + d), norm);
    for (let c = 0; c < d; ++c) y[row + c] = (x[row + c] - at.mean) / at.deviation * norm.gain[c] + (norm.bias?.[c] ?? 0);
  }
  return y;
}

// Returns the mean and the divisor of a norm for one row.
function statistics(x, {isCentred, eps}) {
  const d = x.length;
  let mean = 0, variance = 0;
  for (let c = 0; isCentred && c < d; ++c) mean += x[c] / d;
  for (let c = 0; c < d; ++c) variance += (x[c] - mean) ** 2 / d;
  return {mean, deviation: Math.sqrt(variance + eps)};
}

// Applies the rotary embedding (nn/rotary_embedding.h) to each row of d features.
function rotated(x, d, {frequencies, amplitude}, neighbours, positionOf) {
  const y = x.slice(), pairs = frequencies.length;
  for (let row = 0; row * d < x.length; ++row) {
    frequencies.forEach((frequency, i) => {
      const at = row * d, [a, b] = neighbours ? [at + 2 * i, at + 2 * i + 1] : [at + i, at + pairs + i];
      const angle = positionOf(row) * frequency, cos = amplitude * Math.cos(angle), sin = amplitude * Math.sin(angle);
      y[a] = x[a] * cos - x[b] * sin;
      y[b] = x[a] * sin + x[b] * cos;
    });
  }
  return y;
}

// Returns the angle per position of each pair, like rotary_frequencies().
function rotaryFrequencies(d, {base, fraction, scaling, factor, low_frequency, high_frequency, original_length, divisors}) {
  const r = 2 * Math.floor(fraction * d / 2);
  const scaled = (frequency) => {
    const turns = original_length * frequency / (2 * Math.PI);
    if (scaling === 'linear') return frequency / factor;
    if (scaling !== 'llama3' || turns > high_frequency) return frequency;
    const kept = Math.max(0, (turns - low_frequency) / (high_frequency - low_frequency));
    return (1 - kept) * frequency / factor + kept * frequency;
  };
  return Array.from({length: r / 2}, (_, i) => scaled(base ** (-2 * i / r)) / (divisors[i] ?? 1));
}

// Softmax in place. Ignores -Infinity; a fully masked row becomes 0.
function softmax(x, from = 0, to = x.length) {
  let largest = -Infinity, sum = 0;
  for (let i = from; i < to; ++i) largest = Math.max(largest, x[i]);
  for (let i = from; i < to; ++i) sum += x[i] = largest === -Infinity ? 0 : Math.exp(x[i] - largest);
  if (sum > 0)
    for (let i = from; i < to; ++i) x[i] /= sum;
  return x;
}

// erf(x) = 2 / sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (1 3 5 ... (2n+1)) (Abramowitz & Stegun, 7.1.6)
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); ++n) sum += term *= 2 * x * x / (2 * n + 1);
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

const activations = {
  gelu: (x) => x * (1 + erf(x / Math.SQRT2)) / 2,
  gelu_tanh: (x) => x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))) / 2,
  quick_gelu: (x) => x / (1 + Math.exp(-1.702 * x)),
  relu: (x) => Math.max(x, 0),
  relu2: (x) => Math.max(x, 0) ** 2,
  silu: (x) => x / (1 + Math.exp(-x)),
  tanh: Math.tanh,
};
const capped = (x, cap) => cap > 0 && x !== -Infinity ? cap * Math.tanh(x / cap) : x;  // a masked edge stays masked

// Returns the rows of W_O that read head h.
const outputOf = ({W_O, d_v}, h) => ({weight: W_O.weight.subarray(h * d_v * W_O.m, (h + 1) * d_v * W_O.m), k: d_v, m: W_O.m});

function plus(a, b) { return a.map((value, i) => value + b[i]); }

// Normalises each row of d like layer_norm() without gain and bias.
function standardised(x, d) {
  return normalised(x, {gain: new Float64Array(d).fill(1), eps: 1e-5, isCentred: true});
}

// Applies the norm to a row of x (T, n), linearised at `whole`. Without a norm, it is the identity.
function linearised(norm, whole) {
  if (!norm) return {of: (row) => row, constant: null};
  const {deviation} = statistics(whole, norm);
  return {
    of: (row) => {
      const mean = norm.isCentred ? total(row) / row.length : 0;
      return row.map((x, c) => (x - mean) / deviation * norm.gain[c]);
    },
    constant: norm.bias ?? null
  };
}
