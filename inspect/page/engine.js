// The engine computes the answers of a model. engineOf() returns one, and the views ask it for nothing else than this:
//   step, isNext, vocabulary    training step of the model; whether it predicts the next token; its tokens
//   isMasked, mask              whether it predicts hidden tokens, and the name of those
//   hasCandidates               whether it chooses among candidates in brackets
//   queries, unit, gap          tokens that it was asked about; the name of its tokens; what stands between two of them
//   canContinue                 whether goOn() works
//   understand(text, given, later)  {tokens, pieces, query, candidates, problem, notes, asked}, or null while it is computed; then
//                               calls later(). `problem` says why a text cannot be read; `pieces`, if given, are read as tokens
//   read(text, removed, later)  the Reading of {tokens, query, candidates}, or null while it is computed; then calls later().
//                               `removed` names heads "layer.head" and edges from the query "layer.head.token", from 0
//   why(text, edge, later)      the score of an edge {layer, head, from, to, rather} taken apart (parts.js), or null as in read():
//                               {score, reference, weight, query, key, cuts, products, answer, probability}, or {problem}
//   circuits(text, layer, head, later)  {words, which, QK, OV}, or null as in read(). QK and OV have per word the largest
//                               [[other word, value], ...] (token_circuits.js); OV is null for a model without such answers
//   goOn(tokens, count, write, done)  calls write(token) for each further token, then done(); returns a function that stops it
// A Reading offers:
//   attention                   an Attention (data.js)
//   answers(token, count)       the most probable answers: [{word, probability, before}]. `before` is the probability with
//                               nothing removed. The first answer of the whole model is always among them.
//   probability(word)           of an answer at the query; NaN for other words
//   bits(later)                 -log2 of the probability of each token given those before it, or null as in read()
//   direct(token)               {word, values [layer][head]}: what each head adds by itself to the logit of the first answer;
//                               null if the model has no such sum
// PageEngine computes with the weights in the page; ServedEngine (served.js) asks the program. Calculation uses readerOf(), and
// stays hidden where it has nothing to return.
class PageEngine {
  constructor(reader) {
    const {step, isNext, isMasked, mask, names: vocabulary, queries, split, ofText, choosing} = reader;
    Object.assign(this, {reader, step, isNext, isMasked, mask, vocabulary, queries, hasCandidates: Boolean(choosing)});
    this.unit = ofText ? split : 'words';
    this.gap = ofText || split === 'characters' ? '' : ' ';
    this.canContinue = isNext && ofText;
    this.readings = new WeakMap();
    this.slow = {};  // the last of each kind: {name, result}
  }
  understand(text, given) { return this.reader.understand(text, given); }
  read(text, removed, later) {
    if (!text.tokens.every((token) => this.reader.number(token) !== undefined)) return null;
    const whole = this.reader.readSoon(text, later);
    const found = whole && removed.length > 0 ? this.reader.readSoon(text, later, removed) : whole;
    if (found && !this.readings.has(found)) this.readings.set(found, new PageReading(this.reader, text, found, whole, removed));
    return found && this.readings.get(found);
  }
  goOn(tokens, count, write, done) { return goOn(this.reader, tokens, count, write, done); }
  why(text, edge, later) { return this.slowly('why', JSON.stringify([nameOfText(text, []), edge]), whyParts(this.reader, text, edge), later); }
  circuits(text, layer, head, later) { return this.slowly('circuits', key(layer, head), circuitsOf(this.reader, layer, head), later); }

  // Returns the result of `work`, or null while it runs in slices; then calls later(). Another name or another step ends it.
  slowly(kind, name, work, later) {
    if (this.slow[kind]?.name === name) return this.slow[kind].result;
    const one = this.slow[kind] = {name, result: null}, engine = this;
    const following = function*() {
      for (let part = work.next(); engine.slow[kind] === one; part = work.next()) {
        if (engineOf(state.run) !== engine) delete engine.slow[kind];
        if (part.done) return one.result = part.value;
        yield;
      }
    };
    setTimeout(() => inSlices(following(), later), 100);  // once the slider rests
    return null;
  }
}

class PageReading {
  constructor(reader, text, found, whole, removed) {
    Object.assign(this, {reader, text, found, whole, removed, surprise: null});
    this.attention = reader.attention(text.tokens, found);
  }

  // Returns {answers, probabilities} at a token.
  at(token, reading = this.found) {
    const {reader, text} = this, {d} = reader, {layers} = reading;
    return reader.answering(layers.at(-1).output.subarray(token * d, (token + 1) * d), layers, {...text, query: token});
  }

  answers(token, count) {
    const {reader, found, whole} = this, after = this.at(token), before = whole === found ? after : this.at(token, whole);
    const [first] = reader.best(before, 1), list = reader.best(after, Math.min(count, after.answers.length));
    if (!list.some(({number}) => number === first.number)) list.splice(-1, 1, {...first, probability: after.probabilities[first.number]});
    return list.map(({word, probability, number}) => ({word, probability, before: before.probabilities[number]}));
  }

  probability(word) { return this.found.probabilities[this.found.answers.indexOf(word)] ?? NaN; }

  bits(later) {
    if (this.surprise) return this.surprise.ready ?? null;
    const {tokens} = this.text, found = this.surprise = {};
    const work = function*(reading) {
      const bits = [null];
      for (let t = 1; t < tokens.length; ++t) {
        bits.push(-Math.log2(reading.at(t - 1).probabilities[reading.reader.number(tokens[t])]));
        yield;
      }
      found.ready = bits;
    }(this);
    soon(work, tokens.length * this.reader.vocabulary.length * this.reader.d, later);
    return found.ready ?? null;
  }

  direct(token) {
    const {reader, found, removed} = this, {blocks, d} = reader;
    if (reader.transform || reader.choosing || blocks.some(({norms}) => norms.output || norms.sum)) return null;
    const [best] = reader.best(this.at(token), 1), row = (x, n) => x.subarray(token * n, (token + 1) * n);
    const {of} = linearised(reader.finalNorm, row(found.layers.at(-1).output, d));
    const values = blocks.map((block, l) => found.layers[l].heads.map(({output}, h) => {
      if (removed.includes(key(l, h))) return 0;
      return dot(of(linear(row(output, block.d_v), 1, outputOf(block, h))), 0, reader.unembedding, best.number * d, d);
    }));
    return {word: best.word, values};
  }
}

// Runs `work` at once if it takes few multiplications, otherwise in slices; then calls later().
let fewProducts = 4e6;  // some milliseconds
function soon(work, products, later) {
  if (products < fewProducts) return finished(work);
  return inSlices(work, later);
}

const engines = new WeakMap();
function engineOf(run, step = state.step) {
  const one = content.runs[run], reader = readerOf(run, step);
  if (one.served && (step === lastStep(run) || reader?.step !== one.steps[step].step)) {
    if (!engines.has(one)) engines.set(one, new ServedEngine(one));
    return engines.get(one);
  }
  if (reader && !engines.has(reader)) engines.set(reader, new PageEngine(reader));
  return reader && engines.get(reader);
}

// Whether an engine can read what the user types: a page cuts text as many pretrained models do, not as all.
const canType = ({model, served}) => Boolean(served || model?.cuts);

// Returns a sentence as an engine reads it.
const asRead = ({tokens, pieces, query, candidates}) => ({tokens: pieces ?? tokens, query, candidates});

// state.removed holds the names that read() takes, as the user has chosen them.
const isRemoved = (...place) => state.removed.includes(place.join('.'));
const isRemovedAny = () => state.removed.length > 0;
function toggleRemoved(names) {
  const all = names.every((name) => state.removed.includes(name));
  update({removed: all ? state.removed.filter((name) => !names.includes(name)) : [...new Set([...state.removed, ...names])]});
}

// Returns {engine, text, whole, reading}: what the model of the slider's step makes of a sentence, whole and with the removed
// parts removed; null while it is computed, or without a model of this step.
function liveReading(now) {
  const engine = engineOf(state.run), later = () => update({});
  if (engine?.step !== now.step) return null;
  const text = asRead(now);
  const whole = engine.read(text, [], later), reading = whole && engine.read(text, state.removed, later);
  return reading && {engine, text, whole, reading};
}

// Says why nothing can be removed at the step shown, with a button to the step whose model the page holds.
function whyNotLive(now) {
  const engine = engineOf(state.run), {model, served, model_missing} = runNow();
  if (now.live || (engine && engine.step === now.step)) return [];  // or being computed
  if (!model && !served) return model_missing ? [el('p', {class: 'note muted'}, said(model_missing))] : [];
  const step = engine?.step ?? model?.step ?? runNow().steps.at(-1).step;
  if (step === now.step || (!engine && runNow().steps[state.step].model)) return [];  // still loading
  const isShown = runNow().steps.some((one) => one.step === step);
  return [el('p', {class: 'note muted'},
      served ? t`Heads and edges are removed by a model of the step shown; the program has none of step ${now.step}, but one of step ${step}. ` :
               t`Heads and edges are removed by a model of the step shown; this page holds none of step ${now.step}, but one of step ${step}. `,
      isRemovedAny() ? t`The figures are those of the whole model. ` : '', isShown ? button(t`Show step ${step}`, () => chooseNearestStep(step)) : '')];
}

// Returns the answers at a token: {rows: [{word, probability, before}], changed}. Without an engine they come from the page's
// data, which has those at the query.
function answersNow(now, token, count) {
  if (runNow().predicts === 'nothing') return {rows: [], changed: false};
  if (now.live) return {rows: now.live.reading.answers(token, count), changed: now.isAfter};
  if (token !== now.query || !now.predicted) return {rows: [], changed: false};
  const isLast = now.step === runNow().steps.at(-1).step;
  const rows = (isLast && now.next?.slice(0, count)) || [[now.predicted, now.probability]];
  return {rows: rows.map(([word, probability]) => ({word, probability})), changed: false};
}

// Returns the surprise of each token in bits, undefined where it is unknown.
function bitsOf(now) {
  if (now.live) return now.live.reading.bits(() => update({})) ?? now.bits;
  return now.step === runNow().steps.at(-1).step && state.sentence !== OWN ? now.bits : undefined;
}
