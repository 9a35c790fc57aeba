// The models of models/, built from layers.js. computed_fields.cpp lists what they compute: a new field of a configuration goes there, too.
class Reader {
  constructor({config, tensors, vocabulary, names, tokenizer, unknown, queries, mask, split, of_text, step}) {
    const shape = config.transformer, {block} = shape, {attention} = block;
    Object.assign(this, {config, shape, vocabulary, names: names ?? vocabulary, queries, mask, split, ofText: of_text, step});
    this.isNext = config.kind === 'language_model';
    this.isMasked = config.kind === 'masked_language_model';  // hides tokens by `mask`; null: its tokenizer has none
    this.hasNoHead = config.kind === 'bare_transformer';
    this.asksLast = this.isNext || this.hasNoHead;            // always about the last token
    this.behind = tokenizer?.behind.length ?? 0;              // tokens that its template adds behind a text
    // The others use segment 0 (models/reading.cpp).
    this.hasSentences = shape.segments > 0 && (config.kind === 'word_answerer' || (config.kind === 'candidate_chooser' && config.numbered_sentences));
    this.numbers = new Map(vocabulary.map((word, i) => [word, i]));
    this.unknown = unknown;  // the word for unknown words, or null
    try {
      this.pieces = tokenizer && pretrainedTokenizer(tokenizer, (token) => this.numbers.has(token));
    } catch {  // the patterns of the file have constructs that this browser does not have
      this.cannotCut = t`This browser cannot cut text as the model does; inspect serve can.`;
    }
    this.d = attention.d_model;
    this.H = attention.heads;
    this.group = this.H / (attention.kv_heads || this.H);  // query heads per key-value head
    this.logitCap = config.logits?.soft_cap ?? 0;
    this.tensors = new Map(Object.entries(tensors));  // {shape, data}, decoded when used
    this.words = this.values('words.weight');
    this.embeddingNorm = this.norm('embedding_norm', block.norm);
    this.blocks = Array.from({length: shape.layers}, (_, l) => this.block(l));
    this.finalNorm = this.norm('encoder.norm', block.norm);
    this.unembedding = this.values('unembedding') ?? this.words;
    // For a model that answers with a candidate: W_C and n of models/candidate_chooser.h.
    this.choosing = config.kind === 'candidate_chooser' && {W_C: this.linear('candidates.pointer'), none: this.values('candidates.none')};
    this.transform = this.values('transform.dense.weight') &&
        {dense: this.linear('transform.dense'), activation: activations[config.activation], norm: this.norm('transform.norm', block.norm)};
    this.known = new Map();                                                                                  // the last readings, by nameOfText()
    this.products = total([...this.tensors.values()].map(({shape}) => shape.reduce((n, k) => n * k, 1)));  // per token, at most
    this.pending = new Map();  // readings in progress in slices, with their callbacks
  }

  block(l) {
    const {shape, shape: {block: {attention, mlp, norm, placement, parallel, shared_norm}}} = this, at = `encoder.${l}`;
    const W_Q = this.linear(`${at}.attention.W_Q`);
    const W_K = attention.tie === 'Q_is_K' ? W_Q : this.linear(`${at}.attention.W_K`);
    const W_V = attention.tie === 'K_is_V' ? W_K : this.linear(`${at}.attention.W_V`);
    const W_O = this.linear(`${at}.attention.W_O`), d_k = W_Q.m / this.H, every = shape.full_attention_every;
    const isFull = (every > 0 && (l + 1) % every === 0) || shape.full_attention_layers.includes(l);
    const window = isFull ? 0 : attention.window, base = shape.window_rotary_base;
    const rotary = window > 0 && base > 0 ? {...shape.rotary, base, scaling: 'none', divisors: [], amplitude: 1} : shape.rotary;
    // Norms of the input, the output and the sum of a part (nn/block.h).
    const norms = (before, output) => ({
      input: ['before', 'both'].includes(placement) && this.norm(`${at}.${before}`, norm),
      output: placement === 'both' ? this.norm(`${at}.${output}`, norm) : placement === 'output' && this.norm(`${at}.${before}`, norm),
      sum: placement === 'after' && this.norm(`${at}.${before}`, norm)
    });
    return {
      W_Q, W_K, W_V, W_O, d_k, d_v: W_O.k / this.H, window, parallel,
      scale: (attention.scale > 0 ? attention.scale : 1 / Math.sqrt(d_k)) / (shape.divide_scores_by_layer ? l + 1 : 1),
      cap: attention.soft_cap,
      residual: l + 1 < shape.layers || shape.last_residual,
      norms: norms('attention_norm', 'output_attention_norm'),
      over: attention.query_key_norm,
      qNorm: this.norm(`${at}.attention.q_norm`, attention.query_key),
      kNorm: this.norm(`${at}.attention.k_norm`, attention.query_key),
      rotary: shape.positions === 'rotary' && !shape.unrotated_layers.includes(l) &&
          {frequencies: rotaryFrequencies(d_k, rotary), amplitude: rotary.amplitude},
      mlp: mlp.width > 0 && {
        norms: norms(shared_norm ? 'attention_norm' : 'mlp.norm', 'mlp.output_norm'), function: activations[mlp.activation], in: this.linear(`${at}.mlp.in`),
        gate: mlp.gated && this.linear(`${at}.mlp.gate`), out: this.linear(`${at}.mlp.out`)
      }
    };
  }

  values(name) {
    const tensor = this.tensors.get(name);
    return tensor && (tensor.values ??= numbersOf(bytesOf(tensor.data), tensor.shape));
  }
  linear(name) {
    const {shape: [k, m]} = this.tensors.get(`${name}.weight`), reader = this;
    return {get weight() { return reader.values(`${name}.weight`); }, bias: this.values(`${name}.bias`), k, m};
  }
  // Returns null if the model does not have this norm.
  norm(name, {kind, epsilon, gain_offset}) {
    const gain = this.values(`${name}.gain`);
    if (!gain) return null;
    return {gain: gain_offset ? gain.map((g) => 1 + g) : gain, bias: this.values(`${name}.bias`), eps: epsilon, isCentred: kind === 'layer'};
  }

  number(token) { return this.numbers.get(token) ?? this.numbers.get(this.unknown); }
  shown(tokens) { return this.names === this.vocabulary ? tokens : wholeCharacters(tokens.map((token) => this.names[this.number(token)])); }

  // Returns a text in which every mask has the model's own name. Equals with_own_masks() in models/reading.cpp.
  withOwnMasks(text) {
    return this.isMasked ? text.replace(/<mask>|\[MASK\]/g, (name) => this.numbers.has(name) ? name : this.mask ?? name) : text;
  }
  lacksMask(text) { return this.isMasked && this.mask === null && ['<mask>', '[MASK]'].some((name) => text.includes(name) && !this.numbers.has(name)); }

  // Returns the tokens of a text that has the model's own masks. Equals tokens_of() in models/reading.cpp: a mask of words or subwords
  // holds the space before it.
  cut(text) {
    const cut = (part) => this.pieces?.(part) ?? tokenize(part, this.split, this.ofText, this.numbers);
    if (!this.isMasked || this.pieces || this.mask === null) return cut(text);
    const parts = text.split(this.mask), hasSpaces = this.split === 'words' || this.split === 'subwords';
    return parts.flatMap((part, i) => i + 1 === parts.length ? cut(part) : [...cut(hasSpaces ? part.replace(/ $/, '') : part), this.mask]);
  }

  // Splits a text into tokens like the model, with the candidates in brackets. A `given` sentence already has tokens, which
  // may contain spaces. `problem` is the reason if the text cannot be read; `notes` describe how it is read.
  understand(text, given = null) {
    const marked = this.choosing && !given ? withoutBrackets(text) : {text, places: [], problem: null};
    const cut = given ? given.pieces ?? given.tokens : this.cut(this.withOwnMasks(marked.text));
    const pieces = given ? given.pieces : this.pieces && cut, tokens = given?.tokens ?? this.shown(cut);
    const isCut = tokens.length > 1 && ['.', '。'].includes(tokens.at(-1)) && this.unknown === null && !this.numbers.has(tokens.at(-1));
    if (isCut) tokens.pop();
    const candidates = !this.choosing ? undefined : given?.candidates ?? spansOf(marked.places, tokens, marked.text);
    const unknown = [...new Set((pieces ?? tokens).filter((token) => !this.numbers.has(token)))];
    const isReplaced = unknown.length > 0 && this.unknown !== null;
    const notes = [
      ...(isReplaced ? [t`Words that it does not know, all read as the same: ${unknown.map(visible).join(', ')}.`] : []),
      ...(isCut ? [t`The full stop at the end is left out: the model does not know it.`] : [])
    ];
    const problem = marked.problem ?? this.cannotCut ??
        (!given && this.lacksMask(text) ? t`The model’s tokenizer has no mask token, so the text has no token to predict.` : null) ??
        this.problemOf(tokens, candidates, isReplaced ? [] : unknown, pieces ?? []);
    // For a candidate chooser, heed matches the query word case-insensitively.
    const same = (token) => this.choosing ? token.toLowerCase() : token, sought = this.asksLast ? [] : this.queries.map(same);
    const asked = (pieces ?? tokens).findLastIndex((token) => sought.includes(same(token)));
    const last = Math.max(0, tokens.length - 1 - (this.isMasked || this.hasNoHead ? this.behind : 0));  // of the text, not [SEP]
    return {tokens, pieces, candidates, problem, notes, query: asked >= 0 ? asked : last, asked: asked >= 0 || this.asksLast};
  }

  // Returns why the text cannot be read, or null.
  problemOf(tokens, candidates, unknown, pieces) {
    const {positions, max_length, segments, causal, position_offset} = this.shape, padding = this.vocabulary[position_offset - 1];
    if (tokens.length === 0) return t`Type a sentence.`;
    if (candidates?.some(([begin]) => begin === undefined)) return t`These brackets are empty.`;
    if (candidates?.length < (this.choosing.none ? 1 : 2)) return t`Put brackets around the candidates: The [trophy] doesn’t fit in [the suitcase] …`;
    const unknownText = (token) => {
      const near = nearest(token, this.vocabulary).map(visible).join(', ');
      return near ? t`The model does not know “${visible(token)}”; did you mean ${near}?` : t`The model does not know “${visible(token)}”.`;
    };
    if (unknown.length > 0) return unknown.map(unknownText).join(' ');
    if ((this.isNext || ['learned', 'rotary'].includes(positions)) && tokens.length > max_length)
      return t`The text has ${tokens.length} tokens; the model has positions for ${max_length}.`;
    if (!causal && pieces.includes(padding)) return t`The text holds “${visible(padding)}”, the padding token, which has no position.`;
    if (this.hasSentences && Math.max(...sentenceNumbers(tokens)) >= segments)
      return t`The text has ${Math.max(...sentenceNumbers(tokens)) + 1} sentences; the model reads up to ${segments}.`;
    return null;
  }

  // Returns the summands of the first layer's input: [{what, values (T, d_model)}], for tokens after `first` others.
  embedded(tokens, first = 0) {
    const {d} = this, numbers = this.hasSentences ? sentenceNumbers(tokens) : tokens.map(() => 0);
    const rows = (of) => Float64Array.from({length: tokens.length * d}, (_, n) => of(Math.floor(n / d), n % d));
    const parts = [{what: 'token', values: rows((t, c) => this.words[this.number(tokens[t]) * d + c] * this.shape.embedding_scale)}];
    const positions = this.values('positions.weight'), sentences = this.values('sentences.weight');
    const offset = first + this.shape.position_offset;
    if (positions) parts.push({what: 'position', values: rows((t, c) => positions[(offset + t) * d + c])});
    if (this.shape.positions === 'sinusoidal') {
      const angle = (t, c) => (first + t) / 10000 ** ((c - c % 2) / d);
      parts.push({what: 'position', values: rows((t, c) => c % 2 === 0 ? Math.sin(angle(t, c)) : Math.cos(angle(t, c)))});
    }
    if (sentences) parts.push({what: 'sentence', values: rows((t, c) => sentences[numbers[t] * d + c])});
    return parts;
  }

  // Returns the input of the first layer.
  input(tokens, first = 0) {
    const x = this.embedded(tokens, first).map(({values}) => values).reduce(plus);
    return this.embeddingNorm ? normalised(x, this.embeddingNorm) : x;
  }

  // Runs the model on a text {tokens, query, candidates}, without the heads and edges that `removed` names (engine.js). Keeps
  // the last results.
  readWhole(text) {
    const name = nameOfText(text, []);
    return this.keep(name, this.known.get(name) ?? this.read(text));
  }
  keep(name, reading) {
    const known = this.known.get(name) ?? reading;
    this.known.delete(name);
    this.known.set(name, known);
    if (this.known.size > 4) this.known.delete(this.known.keys().next().value);
    return known;
  }

  // Like readWhole(), but returns null if the result takes long. Then calls later() when it is ready or the slider has moved.
  readSoon(text, later, removed = []) {
    const name = nameOfText(text, removed), waiting = this.pending.get(name);
    if (this.known.has(name)) return this.keep(name);
    if (waiting) {
      waiting.push(later);
      return null;
    }
    const off = new Set(removed), change = {
      off: (layer, head) => off.has(key(layer, head)),
      cut: (layer, head, i, j) => i === text.query && off.has(`${layer}.${head}.${j}`)
    };
    this.pending.set(name, [later]);
    soon(this.readInSlices(name, text, off.size > 0 ? change : {}, state.step), text.tokens.length * this.products, () => {
      const all = this.pending.get(name);
      this.pending.delete(name);
      all.forEach((one) => one());
    });
    if (this.known.has(name)) this.pending.delete(name);
    return this.known.get(name) ?? null;
  }

  // Stops when the slider moves.
  * readInSlices(name, text, change, step) {
    const work = this.reading(text, change);
    for (let part = work.next();; part = work.next()) {
      if (part.done) return this.keep(name, part.value);
      if (state.step !== step) return;
      yield;
    }
  }

  // Runs the model with interventions. change.off(layer, head) sets the head's output to 0. change.cut(layer, head, i, j)
  // hides token j from token i. change.enter(layer, x) may modify the layer's input in place.
  read(text, change) { return finished(this.reading(text, change)); }

  // Like read(), but as a generator that yields after each head.
  * reading(text, {off = () => false, cut = () => false, enter = () => {}} = {}) {
    const {tokens, query} = text, T = tokens.length, {d} = this;
    let x = this.input(tokens);
    const layers = [];
    for (const [layer, block] of this.blocks.entries()) {
      enter(layer, x);
      const X = block.norms.input ? normalised(x, block.norms.input) : x, heads = [];
      for (let h = 0; h < this.H; ++h) {
        heads.push(this.attend(block, X, T, h, (i, j) => cut(layer, h, i, j)));
        yield;
      }
      const joined = new Float64Array(T * block.W_O.k);
      heads.forEach(({output}, h) => {
        if (off(layer, h)) return;
        for (let t = 0; t < T; ++t) joined.set(output.subarray(t * block.d_v, (t + 1) * block.d_v), t * block.W_O.k + h * block.d_v);
      });
      const after = this.after(block, x, joined, T);
      layers.push({read: x, X, heads, ...after});
      x = after.output;
      yield;
    }
    return {layers, ...this.answering(x.subarray(query * d, (query + 1) * d), layers, text)};
  }

  // Returns the output of a block from the heads' outputs (n, heads d_v) and its input x (n, d_model).
  after(block, x, joined, n) {
    const added = (norms, y, part) => {
      const sum = norms.output ? normalised(part, norms.output) : part, whole = y ? plus(y, sum) : sum;
      return norms.sum ? normalised(whole, norms.sum) : whole;
    };
    const attention = linear(joined, n, block.W_O), attended = added(block.norms, block.residual && x, attention);
    if (!block.mlp) return {attention, mlp: null, output: attended};
    const mlp = this.mlp(block.mlp, block.parallel ? x : attended, n);
    return {attention, mlp, output: added(block.mlp.norms, attended, mlp)};
  }

  // Returns the answers from x (d_model), the output of the last layer at the query.
  answering(x, layers, {tokens, candidates}) {
    const asking = this.finalNorm ? normalised(x, this.finalNorm) : x;
    const logits = this.choosing ? this.logitsOfCandidates(asking, layers.at(-1).read, candidates) : this.logits(asking);
    const names = this.choosing ? [...candidates.map((span) => spanText({tokens: this.shown(tokens)}, span)), '(none)'] : this.names;
    return {logits, probabilities: softmax(logits.slice()), answers: names.slice(0, logits.length)};
  }

  // Returns the output of an MLP for x (n, d_model), before its output norm.
  mlp({norms, function: f, gate, in : into, out}, x, n) {
    const X = norms.input ? normalised(x, norms.input) : x, hidden = linear(X, n, into), gating = gate && linear(X, n, gate);
    return linear(hidden.map((value, i) => gating ? f(gating[i]) * value : f(value)), n, out);
  }

  // Returns the key-value head of query head h.
  kvHead(h) { return Math.floor(h / this.group); }

  // Returns the queries (n, d_k) of head h from X (n, d_model), normalised and rotated as in the model.
  headQueries(block, X, n, h, positionOf = (row) => row) {
    return this.placed(this.projected(block, block.W_Q, block.qNorm, X, n, h), block, positionOf);
  }
  headKeys(block, X, n, h, positionOf = (row) => row) {
    return this.placed(this.projected(block, block.W_K, block.kNorm, X, n, this.kvHead(h)), block, positionOf);
  }
  headValues(block, X, n, h) {
    const at = this.kvHead(h) * block.d_v;
    return linear(X, n, block.W_V, at, at + block.d_v);
  }
  projected(block, W, norm, X, n, h) {
    const {d_k} = block, at = h * d_k;
    if (block.over !== 'all') {
      const y = linear(X, n, W, at, at + d_k);
      return norm ? normalised(y, norm) : y;
    }
    const all = normalised(linear(X, n, W), norm);
    return Float64Array.from({length: n * d_k}, (_, i) => all[Math.floor(i / d_k) * W.m + at + i % d_k]);
  }
  placed(x, {rotary, d_k}, positionOf) { return rotary ? rotated(x, d_k, rotary, this.shape.rotary.pairs === 'neighbours', positionOf) : x; }

  // Returns whether token i may attend to token j.
  sees(block, i, j) { return (!this.shape.causal || j <= i) && (block.window === 0 || Math.abs(i - j) < block.window); }

  // Returns one head on X (T, d_model): softmax(scale Q K^T) V.
  attend(block, X, T, h, cut) {
    const {d_k, d_v} = block;
    const Q = this.headQueries(block, X, T, h), K = this.headKeys(block, X, T, h), V = this.headValues(block, X, T, h);
    const scores = new Float64Array(T * T), output = new Float64Array(T * d_v);
    for (let i = 0; i < T; ++i) {
      for (let j = 0; j < T; ++j)
        scores[i * T + j] = this.sees(block, i, j) && !cut(i, j) ? dot(Q, i * d_k, K, j * d_k, d_k) * block.scale : -Infinity;
    }
    const weights = scores.map((score) => capped(score, block.cap));
    for (let i = 0; i < T; ++i) {
      softmax(weights, i * T, (i + 1) * T);
      for (let j = 0; j < T; ++j) {
        for (let c = 0; c < d_v; ++c) output[i * d_v + c] += weights[i * T + j] * V[j * d_v + c];
      }
    }
    return {Q, K, V, scores, weights, output};
  }

  // Returns the logits of one vector (d_model): its products with the word embeddings, plus the bias.
  logits(x) {
    const bias = this.values('output_bias');
    if (this.transform) {
      const {dense, activation, norm} = this.transform;
      x = linear(x, 1, dense).map(activation);
      if (norm) x = normalised(x, norm);
    }
    return Float64Array.from(
        this.vocabulary, (_, w) => capped(dot(x, 0, this.unembedding, w * this.d, this.d) + (bias ? bias[w] : 0), this.logitCap));
  }

  // Returns q W_C c / sqrt(d_model) for each candidate from asking (d_model). A model that learned "none of them" adds its logit.
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

  // Returns the `count` most probable answers: [{word, probability, number}], where number is the index of the answer.
  best({answers, probabilities}, count) {
    const all = Array.from(probabilities, (probability, number) => ({word: answers[number], probability, number}));
    return all.sort((a, b) => b.probability - a.probability).slice(0, count);
  }

  attention(tokens, reading) {
    const all = reading.layers.flatMap(({heads}) => heads.map(({weights}) => weights));
    return new Attention(tokens, this.blocks.map(() => this.H), all);
  }
}

const nameOfText = ({tokens, query, candidates}, removed) => JSON.stringify([tokens, query, candidates, removed]);

// Returns whether the page contains models of steps before the last.
const hasModels = (run) => content.runs[run].steps.some(({model}) => model);

const readers = new Map();
// Returns the model of the slider's step, or of the nearest step in the page. Returns null without such a model, or if that
// part of the page has not loaded yet.
function readerOf(run, step = state.step) {
  const {model, steps} = content.runs[run];
  const whole = dataElement(`model-${run}`);
  if (!whole) return null;
  const wanted = steps[Math.min(step, steps.length - 1)].step, distance = (one) => Math.abs(one - wanted);
  let nearest = -1;  // -1: last model
  steps.forEach(({step: one, model: held}, i) => {
    const best = nearest < 0 ? model.step : steps[nearest].step;
    if (held && distance(one) < distance(best) && dataElement(`model-${run}-${i}`)) nearest = i;
  });
  const name = `model-${run}-${nearest}`;
  if (!readers.has(name)) {
    const part = nearest < 0 ? {} : JSON.parse(document.getElementById(name).textContent);
    readers.set(name, new Reader({...JSON.parse(whole.textContent), ...part}));
  }
  return readers.get(name);
}

// Returns "the model", of a run "the saved model of step 200", with a note if this is not the slider's step.
const modelName = ({step}) => runNow().steps.at(-1).step === 0 ? t`the model` :
    hasModels(state.run) && step !== runNow().steps[state.step].step ? t`the saved model of step ${step}, the nearest in this page` : t`the saved model of step ${step}`;
