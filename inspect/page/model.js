// The reader of nn/reader.h, computed here in double from its float32 parameters. Matrices are arrays, row after row.

// x (n, k) times W (k, m), columns [from, to) of W, plus the bias.
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

// (x - mean) / sqrt(variance + eps) * gain + bias, for each row of d. RMSNorm, which has no bias, takes no mean away.
function normalised(x, {gain, bias, eps}) {
  const d = gain.length, y = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += d) {
    let mean = 0, variance = 0;
    for (let c = 0; bias && c < d; ++c) mean += x[row + c] / d;
    for (let c = 0; c < d; ++c) variance += (x[row + c] - mean) ** 2 / d;
    const inverse = 1 / Math.sqrt(variance + eps);
    for (let c = 0; c < d; ++c) y[row + c] = (x[row + c] - mean) * inverse * gain[c] + (bias ? bias[c] : 0);
  }
  return y;
}

// Rotary positions (nn/more_layers.h): the pair (x_i, x_{i + d/2}) of the row at position t turned by t / 10000^(2i/d).
function turned(x, d, positionOf) {
  const y = new Float64Array(x.length), half = d / 2;
  for (let row = 0; row * d < x.length; ++row) {
    for (let i = 0; i < half; ++i) {
      const angle = positionOf(row) / 10000 ** (2 * i / d), u = x[row * d + i], v = x[row * d + half + i];
      y[row * d + i] = u * Math.cos(angle) - v * Math.sin(angle);
      y[row * d + half + i] = u * Math.sin(angle) + v * Math.cos(angle);
    }
  }
  return y;
}

// In place; -Infinity takes no part, and a row of nothing else becomes 0.
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
  relu: (x) => Math.max(x, 0),
  swiglu: (x, gate) => x * gate / (1 + Math.exp(-gate)),
};

function plus(a, b) { return a.map((value, i) => value + b[i]); }

// Each row of d as layer_norm() leaves it without gain or bias.
function standardised(x, d) {
  return normalised(x, {gain: new Float64Array(d).fill(1), bias: new Float64Array(d), eps: 1e-5});
}

class Reader {
  constructor({shape, eps, head_eps, tensors, vocabulary, unknown, queries, split, of_text, step, singular_values}) {
    Object.assign(
        this, {shape, eps, headEps: head_eps, vocabulary, queries, split, ofText: of_text, step, singularValues: singular_values});
    this.isNext = shape.predicts === 'next';  // a language model: causal, and with every residual
    this.numbers = new Map(vocabulary.map((word, i) => [word, i]));
    this.unknown = unknown;  // the word that stands for all that are not known, or null
    this.d = shape.attention.d_model;
    this.H = shape.attention.heads;
    this.group = this.H / (shape.attention.kv_heads ?? this.H);  // heads that share keys and values
    this.activation = activations[shape.activation ?? 'gelu'];
    this.tensors = new Map(Object.entries(tensors).map(
        ([name, {shape, data}]) => [name, {shape, values: new Float32Array(bytesOf(data).buffer)}]));
    this.words = this.values('words.weight');
    const {tie} = shape.attention;
    this.blocks = Array.from({length: shape.layers}, (_, l) => {
      const at = `encoder.${l}`, W_Q = this.linear(`${at}.attention.W_Q`);
      const W_K = tie === 'Q_is_K' ? W_Q : this.linear(`${at}.attention.W_K`);
      const W_V = tie === 'K_is_V' ? W_K : this.linear(`${at}.attention.W_V`);
      const W_O = this.linear(`${at}.attention.W_O`);
      const mlp = shape.mlp > 0 && {
        norm: this.norm(`${at}.mlp.norm`),
        gate: shape.activation === 'swiglu' && this.linear(`${at}.mlp.gate`),
        in : this.linear(`${at}.mlp.in`),
        out: this.linear(`${at}.mlp.out`)
      };
      return {
        norm: this.norm(`${at}.attention_norm`),
        W_Q,
        W_K,
        W_V,
        W_O,
        mlp,
        qNorm: this.headNorm(`${at}.attention.q_norm`),
        kNorm: this.headNorm(`${at}.attention.k_norm`),
        d_k: W_Q.m / this.H,
        d_v: W_O.k / this.H
      };
    });
    this.finalNorm = this.norm('encoder.norm');
    this.unembedding = this.values('unembedding') ?? this.words;
    // Of a model that answers with a candidate: W_C and n of nn/reader.h.
    this.choosing = (shape.answer ?? 'word') !== 'word' &&
        {W_C: this.linear('candidates.pointer'), none: this.values('candidates.none')};
    this.whole = new Map();
    this.pending = new Map();  // what is being read in slices: who waits for it
  }

  values(name) { return this.tensors.get(name)?.values; }
  linear(name) {
    const {shape: [k, m], values} = this.tensors.get(`${name}.weight`);
    return {weight: values, bias: this.values(`${name}.bias`), k, m};
  }
  norm(name) { return {gain: this.values(`${name}.gain`), bias: this.values(`${name}.bias`), eps: this.eps}; }
  headNorm(name) { return this.tensors.has(`${name}.gain`) && {gain: this.values(`${name}.gain`), eps: this.headEps}; }

  number(token) { return this.numbers.get(token) ?? this.numbers.get(this.unknown); }

  // The tokens of a text as the model splits it, and the candidates that brackets mark; or those of a sentence that is given,
  // whose tokens may hold spaces. `problem` says, when there is one, why it cannot be read, `notes` how it is.
  understand(text, given = null) {
    const marked = this.choosing && !given ? withoutBrackets(text) : {text, places: [], problem: null};
    const tokens = given?.tokens ?? tokenize(marked.text, this.split, this.ofText);
    const candidates = !this.choosing ? undefined : given?.candidates ?? spansOf(marked.places, tokens, marked.text);
    const unknown = [...new Set(tokens.filter((token) => !this.numbers.has(token)))];
    const isReplaced = unknown.length > 0 && this.unknown !== null;
    const notes = isReplaced ? [`Words that it does not know, all read as the same: ${unknown.map(visible).join(', ')}.`] : [];
    const problem = marked.problem ?? (this.split === 'subwords' && !given ?
        'The model reads subwords, into which this page cuts no text; inspect --sentence does.' :
        this.problemOf(tokens, candidates, isReplaced ? [] : unknown));
    // Among candidates the program seeks the pronoun in large and small letters.
    const same = (token) => this.choosing ? token.toLowerCase() : token, sought = this.queries.map(same);
    const asked = tokens.findLastIndex((token) => sought.includes(same(token)));
    return {tokens, candidates, problem, notes, query: asked >= 0 ? asked : tokens.length - 1, asked: asked >= 0 || this.isNext};
  }

  // Why it cannot be read, or null.
  problemOf(tokens, candidates, unknown) {
    const {positions, max_length, sentences} = this.shape;
    if (tokens.length === 0) return 'Type a sentence.';
    if (candidates?.some(([begin]) => begin === undefined)) return 'Brackets mark nothing.';
    if (candidates?.length < (this.choosing.none ? 1 : 2))
      return 'Put brackets around the candidates: The [trophy] doesn’t fit in [the suitcase] …';
    if (unknown.length > 0)
      return unknown
          .map((token) => {
            const near = nearest(token, this.vocabulary).map(visible).join(', ');
            return `The model does not know “${visible(token)}”${near ? `; did you mean ${near}?` : '.'}`;
          })
          .join(' ');
    if ((this.isNext || ['learned', 'rotary'].includes(positions)) && tokens.length > max_length)
      return `The text has ${tokens.length} tokens; the model has positions for ${max_length}.`;
    if (sentences > 0 && Math.max(...sentenceNumbers(tokens)) >= sentences)
      return `The text has ${Math.max(...sentenceNumbers(tokens)) + 1} sentences; the model reads up to ${sentences}.`;
    return null;
  }

  // What the first layer reads is the sum of these: [{what, values (T, d_model)}]; of tokens after `first` others.
  embedded(tokens, first = 0) {
    const {d} = this, numbers = sentenceNumbers(tokens);
    const rows = (of) => Float64Array.from({length: tokens.length * d}, (_, n) => of(Math.floor(n / d), n % d));
    const parts = [{
      what: 'token',
      values: rows((t, c) => this.words[this.number(tokens[t]) * d + c] * (this.isNext ? 1 : Math.sqrt(d)))
    }];
    const positions = this.values('positions.weight'), sentences = this.values('sentences.weight');
    if (positions) parts.push({what: 'position', values: rows((t, c) => positions[(first + t) * d + c])});
    if (this.shape.positions === 'sinusoidal') {
      const angle = (t, c) => (first + t) / 10000 ** ((c - c % 2) / d);
      parts.push(
          {what: 'position', values: rows((t, c) => c % 2 === 0 ? Math.sin(angle(t, c)) : Math.cos(angle(t, c)))});
    }
    if (sentences) parts.push({what: 'sentence', values: rows((t, c) => sentences[numbers[t] * d + c])});
    return parts;
  }

  // What the whole model makes of a text {tokens, query, candidates}; the last two are kept.
  readWhole(text) {
    const name = nameOfText(text);
    return this.keep(name, this.whole.get(name) ?? this.read(text));
  }
  keep(name, reading) {
    this.whole.delete(name);
    this.whole.set(name, reading);
    if (this.whole.size > 2) this.whole.delete(this.whole.keys().next().value);
    return reading;
  }

  // The same, or null where it takes long and is not known yet: then later(), when it is or the slider has moved.
  readSoon(text, later) {
    const name = nameOfText(text), quick = text.tokens.length * this.H * this.blocks.length < 1000;
    if (quick || this.whole.has(name)) return this.readWhole(text);
    const waiting = this.pending.get(name);
    if (waiting) {
      waiting.push(later);
    } else {
      this.pending.set(name, [later]);
      inSlices(this.readInSlices(name, text, state.step), () => {
        const all = this.pending.get(name);
        this.pending.delete(name);
        all.forEach((one) => one());
      });
    }
    return null;
  }

  // Until the slider moves on.
  * readInSlices(name, text, step) {
    const work = this.reading(text);
    for (let part = work.next();; part = work.next()) {
      if (part.done) return this.keep(name, part.value);
      if (state.step !== step) return;
      yield;
    }
  }

  // change.off(layer, head): the head's output is 0. change.cut(layer, head, i, j): token i does not see token j there.
  // change.enter(layer, x): may change what the layer reads, in place.
  read(text, change) {
    return finished(this.reading(text, change));
  }

  // The same, a head at a time.
  * reading(text, {off = () => false, cut = () => false, enter = () => {}} = {}) {
    const {tokens, query} = text, T = tokens.length, {d} = this;
    let x = this.embedded(tokens).map(({values}) => values).reduce(plus);
    const layers = [];
    for (const [layer, block] of this.blocks.entries()) {
      enter(layer, x);
      const read = x, X = normalised(x, block.norm), heads = [];
      for (let h = 0; h < this.H; ++h) {
        heads.push(this.attend(block, X, T, h, (i, j) => cut(layer, h, i, j)));
        yield;
      }
      const joined = new Float64Array(T * block.W_O.k);
      heads.forEach(({output}, h) => {
        if (off(layer, h)) return;
        for (let t = 0; t < T; ++t)
          joined.set(output.subarray(t * block.d_v, (t + 1) * block.d_v), t * block.W_O.k + h * block.d_v);
      });
      const before = x;
      let y = linear(joined, T, block.W_O);
      if (this.isNext || layer + 1 < this.blocks.length) y = plus(x, y);
      let mlp = null;
      if (block.mlp) {
        mlp = this.mlp(block.mlp, y, T);
        y = plus(y, mlp);
      }
      x = y;
      layers.push({read, X, heads, mlp, before});
      yield;
    }
    return {layers, ...this.answering(x.subarray(query * d, (query + 1) * d), layers, text)};
  }

  // x (d_model): what the last layer leaves at the query.
  answering(x, layers, {tokens, candidates}) {
    const asking = normalised(x, this.finalNorm);
    const logits = this.choosing ? this.logitsOfCandidates(asking, layers.at(-1).read, candidates) : this.logits(asking);
    const names = this.choosing ? [...candidates.map((span) => spanText({tokens}, span)), '(none)'] : this.vocabulary;
    return {logits, probabilities: softmax(logits.slice()), answers: names.slice(0, logits.length)};
  }

  // The answers when one edge from the query in the last layer is cut: {head, token, weight, probabilities}, one by one.
  * cutsOfLast(text, reading) {
    const {tokens, query} = text, T = tokens.length, block = this.blocks.at(-1), {d_v} = block, row = query * T;
    const {heads, before} = reading.layers.at(-1), joined = new Float64Array(block.W_O.k);
    heads.forEach(({output}, h) => joined.set(output.subarray(query * d_v, (query + 1) * d_v), h * d_v));
    for (let head = 0; head < this.H; ++head) {
      const {scores, weights, V} = heads[head];
      for (let token = 0; token < T; ++token) {
        const left = scores.slice(row, row + T);
        left[token] = -Infinity;
        softmax(left);
        const changed = joined.slice();
        for (let c = 0; c < d_v; ++c) {
          let sum = 0;
          for (let j = 0; j < T; ++j) sum += left[j] * V[j * d_v + c];
          changed[head * d_v + c] = sum;
        }
        let y = linear(changed, 1, block.W_O);
        if (this.isNext) y = plus(y, before.subarray(query * this.d, (query + 1) * this.d));
        if (block.mlp) y = plus(y, this.mlp(block.mlp, y, 1));
        yield {head, token, weight: weights[row + token], probabilities: this.answering(y, reading.layers, text).probabilities};
      }
    }
  }

  // What an MLP adds to x (n, d_model).
  mlp({norm, gate, in: into, out}, x, n) {
    const X = normalised(x, norm), gates = gate && linear(X, n, gate);
    return linear(linear(X, n, into).map((value, i) => this.activation(value, gates && gates[i])), n, out);
  }

  // The head of W_K and W_V that head h of W_Q reads.
  kvHead(h) { return Math.floor(h / this.group); }

  // Of head h, from X (n, d_model): (n, d_k), each row turned by its position where the model does that.
  headQueries(block, X, n, h, positionOf = (row) => row) {
    return this.placed(linear(X, n, block.W_Q, h * block.d_k, (h + 1) * block.d_k), block.qNorm, block.d_k, positionOf);
  }
  headKeys(block, X, n, h, positionOf = (row) => row) {
    const {d_k} = block, at = this.kvHead(h) * d_k;
    return this.placed(linear(X, n, block.W_K, at, at + d_k), block.kNorm, d_k, positionOf);
  }
  headValues(block, X, n, h) {
    const at = this.kvHead(h) * block.d_v;
    return linear(X, n, block.W_V, at, at + block.d_v);
  }
  placed(x, norm, d_k, positionOf) {
    const y = norm ? normalised(x, norm) : x;
    return this.shape.positions === 'rotary' ? turned(y, d_k, positionOf) : y;
  }

  // One head on X (T, d_model): softmax(Q K^T / sqrt(d_k)) V.
  attend(block, X, T, h, cut) {
    const {d_k, d_v} = block;
    const Q = this.headQueries(block, X, T, h), K = this.headKeys(block, X, T, h), V = this.headValues(block, X, T, h);
    const scores = new Float64Array(T * T), output = new Float64Array(T * d_v);
    for (let i = 0; i < T; ++i) {
      for (let j = 0; j < T; ++j)
        scores[i * T + j] = (this.isNext && j > i) || cut(i, j) ?
            -Infinity :
            dot(Q, i * d_k, K, j * d_k, d_k) / Math.sqrt(d_k);
    }
    const weights = scores.slice();
    for (let i = 0; i < T; ++i) {
      softmax(weights, i * T, (i + 1) * T);
      for (let j = 0; j < T; ++j) {
        for (let c = 0; c < d_v; ++c) output[i * d_v + c] += weights[i * T + j] * V[j * d_v + c];
      }
    }
    return {Q, K, V, scores, weights, output};
  }

  // Of one vector (d_model): with the words' vectors, plus the bias.
  logits(x) {
    const bias = this.values('output_bias');
    return Float64Array.from(
        this.vocabulary, (_, w) => dot(x, 0, this.unembedding, w * this.d, this.d) + (bias ? bias[w] : 0));
  }

  // asking (d_model) -> q W_C c / sqrt(d_model) of each candidate and, where it learned that, of none of them.
  logitsOfCandidates(asking, read, candidates) {
    const {d} = this, {W_C, none} = this.choosing, states = standardised(read, d);
    const sought = linear(asking, 1, W_C).map((x) => x / Math.sqrt(d));
    const logits = candidates.map(([begin, end]) => {
      let sum = 0;
      for (let t = begin; t < end; ++t) sum += dot(sought, 0, states, t * d, d);
      return sum / (end - begin);
    });
    return Float64Array.from(none ? [...logits, dot(sought, 0, none, 0, d)] : logits);
  }

  // The `count` most probable answers: [{word, probability, number}], where number is its place among all.
  best({answers, probabilities}, count) {
    return Array.from(probabilities, (probability, number) => ({word: answers[number], probability, number}))
        .sort((a, b) => b.probability - a.probability)
        .slice(0, count);
  }

  attention(tokens, reading) {
    const all = reading.layers.flatMap(({heads}) => heads.map(({weights}) => Float32Array.from(weights)));
    return new Attention(tokens, this.blocks.map(() => this.H), all);
  }
}

const nameOfText = ({tokens, query, candidates}) => JSON.stringify([tokens, query, candidates]);

// Whether the page holds the models of more steps than the last.
const hasModels = (run) => content.runs[run].steps.some(({model}) => model);

const readers = new Map();
// The model of a run: that of the slider's step, or of the nearest step that the page holds; null when it holds none, or that
// part of the page has not arrived yet.
function readerOf(run, step = state.step) {
  const {model, steps} = content.runs[run];
  const whole = document.getElementById(`model-${run}`);
  if (!whole) return null;
  const wanted = steps[Math.min(step, steps.length - 1)].step, distance = (one) => Math.abs(one - wanted);
  let nearest = -1;  // -1: the last model
  steps.forEach(({step: one, model: held}, i) => {
    const best = nearest < 0 ? model.step : steps[nearest].step;
    if (held && distance(one) < distance(best) && document.getElementById(`model-${run}-${i}`)) nearest = i;
  });
  const name = `model-${run}-${nearest}`;
  if (!readers.has(name)) {
    const part = nearest < 0 ? {} : JSON.parse(document.getElementById(name).textContent);
    readers.set(name, new Reader({...JSON.parse(whole.textContent), ...part}));
  }
  return readers.get(name);
}
const lastReader = (run) => readerOf(run, lastStep(run));

// "of step 200", and where that is not the slider's, why.
const stepOf = (reader) => `of step ${reader.step}${
    hasModels(state.run) && reader.step !== runNow().steps[state.step].step ? ', the nearest in this page' : ''}`;
