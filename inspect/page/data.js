'use strict';

// Written by inspect/page/page.cpp and page_run.cpp: {version, colours, separators, runs: [{name, steps, sentences, heads, metrics,
// model, repeated, causes, restored, history}]}, and by page_curves.cpp for directories with numbers alone: {curves, steps}. Element model-RUN holds the model, and model-RUN-STEP its values that change between steps. Layers,
// heads and tokens count from 0.
const content = JSON.parse(document.getElementById('data').textContent);

const isOfCurves = content.runs.every(({curves}) => curves);

const total = (numbers) => numbers.reduce((sum, x) => sum + x, 0);

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Decodes numbers in float32, or in float16 if there are half as many bytes.
function numbersOf(bytes, shape) {
  if (bytes.length > 2 * shape.reduce((n, k) => n * k, 1)) return new Float32Array(bytes.buffer);
  halves ??= Float32Array.from({length: 65536}, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1, exponent = bits >> 10 & 31, significand = bits & 1023;
    return exponent === 0 ? sign * significand * 2 ** -24 : sign * (1 + significand / 1024) * 2 ** (exponent - 15);
  });
  const bits = new Uint16Array(bytes.buffer), values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; ++i) values[i] = halves[bits[i]];
  return values;
}
let halves = null;  // of all bits

// Decodes pack_weights() of inspect/page/encode.h: each value is (n + 1/2) / 10,000.
function unpackWeights(bytes, count) {
  const values = new Float32Array(count);
  for (let i = 0, at = 0; at < bytes.length;) {
    const byte = bytes[at++];
    if (byte === 254) {
      const end = i + bytes[at++] + 3;
      values.fill(0.00005, i, end);
      i = end;
    } else {
      const n = byte < 215 ? byte : 215 + (byte - 215) * 256 + bytes[at++];
      values[i++] = (n + 0.5) / 10000;
    }
  }
  return values;
}

// Weights (T, T) of each head. `all` holds every head in turn, as an array, or packed and decoded on first use. It may be a function that
// returns this list, called on first use.
class Attention {
  constructor(tokens, heads, all) {
    this.tokens = tokens;
    this.T = tokens.length;
    this.heads = heads;
    this.all = all;
  }
  of(layer, head) {
    const n = total(this.heads.slice(0, layer)) + head;
    if (typeof this.all === 'function') this.all = this.all();
    if (typeof this.all[n] === 'string') this.all[n] = unpackWeights(bytesOf(this.all[n]), this.T * this.T);
    return this.all[n];
  }
  row(layer, head, token) { return this.of(layer, head).subarray(token * this.T, (token + 1) * this.T); }
}

// Returns the first of these numbers that bounds all weights: the upper end of their colour scale.
const endOf = (...lists) => [0.1, 0.2, 0.5].find((end) => lists.every((weights) => weights.every((weight) => weight <= end))) ?? 1;

// Returns an element with data, or null if this part of the page has not loaded yet. While the page loads, the last element
// may be incomplete.
function dataElement(id) {
  const element = document.getElementById(id);
  return element?.nextSibling || document.readyState !== 'loading' ? element : null;
}

const attentionCache = new Map();  // most recently used, by element id
const mostCached = 16;

// Returns the attention of a dumped step, or null.
function dumpedAttention(run, step, sentence) {
  const name = `weights-${run}-${step}-${sentence}`;
  let found = attentionCache.get(name);
  if (!found) {
    const element = dataElement(name);
    if (!element) return null;
    const {sentences, heads} = content.runs[run];
    found = new Attention(sentences[sentence].tokens, heads, () => JSON.parse(element.textContent));
  }
  attentionCache.delete(name);
  attentionCache.set(name, found);
  if (attentionCache.size > mostCached) attentionCache.delete(attentionCache.keys().next().value);
  return found;
}
