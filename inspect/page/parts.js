// Why a token attends to another in one head: its score as a sum over what wrote the two tokens, as
// inspect/causal/score_parts.h has it: {score, reference, weight, query, key}, where query and key are lists of parts {what,
// layer, head, token, score, ahead} that each add up to the score and to how far it is ahead of the reference: the score of
// the key `rather`, or with -1 the mean over all keys.
const scoreParts = (...all) => finished(takingApart(...all));

// The same for inSlices().
function* takingApart(reader, text, layer, head, from, to, rather = -1) {
  const {tokens} = text, T = tokens.length, {d} = reader, block = reader.blocks[layer], {d_k} = block;
  const reading = reader.readWhole(text), {scores, weights} = reading.layers[layer].heads[head];
  const written = yield* whoWrote(reader, tokens, reading, layer);
  const deviation = deviations(reading.layers[layer].read, d, block.norm);
  const names = [
    ...written.flatMap(
        ({weights, values, ...name}) => weights ? tokens.map((_, token) => ({...name, token})) : [name]),
    {what: 'bias'}
  ];
  // Of one side: what each part adds to q or k of a token, (parts, d_k), the biases' last.
  const side = function*(matrix, h, norm) {
    const project = behindNorm(block.norm, matrix, h, d, d_k), projected = [];
    for (const {values} of written) {
      projected.push(linear(values, T, project));
      yield;
    }
    return (token) => {
      const rows = [];
      written.forEach(({weights}, n) => {
        for (let source = weights ? 0 : token; source < (weights ? T : token + 1); ++source) {
          const factor = (weights ? weights[token * T + source] : 1) / deviation[token];
          rows.push(projected[n].subarray(source * d_k, (source + 1) * d_k).map((x) => x * factor));
        }
      });
      rows.push(project.constant);
      // With the head's own norm taken as it is.
      const ofHead = norm ? deviations(rows.reduce(plus), d_k, norm)[0] : 1;
      return rows.map((row) => {
        const y = norm ? row.map((x, c) => x * norm.gain[c] / ofHead) : row;
        return reader.shape.positions === 'rotary' ? turned(y, d_k, () => token) : y;
      });
    };
  };
  const sum = (rows) => rows.reduce(plus), keysOf = yield* side(block.W_K, reader.kvHead(head), block.kNorm);
  const queryOf = yield* side(block.W_Q, head, block.qNorm), q = queryOf(from), k = keysOf(to), others = k.map(() => new Float64Array(d_k));
  const compared = rather >= 0 ? [rather] : tokens.map((_, j) => j);
  for (const j of compared) {
    keysOf(j).forEach((row, r) => row.forEach((x, c) => { others[r][c] += x / compared.length; }));
    yield;
  }
  const root = Math.sqrt(d_k), product = (a, b) => dot(a, 0, b, 0, d_k) / root;
  const whole = {q: sum(q), k: sum(k), others: sum(others)};
  const part = (name, score, usual) => ({...name, score, ahead: score - usual});
  return {
    score: scores[from * T + to],
    reference: product(whole.q, whole.others),
    weight: weights[from * T + to],
    query: q.map((row, p) => part(names[p], product(row, whole.k), product(row, whole.others))),
    key: k.map((row, r) => part(names[r], product(whole.q, row), product(whole.q, others[r]))),
    product: (p, r) => part({query: p, key: r}, product(q[p], k[r]), product(q[p], others[r])),
    // The weight of this edge and the answer's probability when a part is taken out of what the layer reads at its token,
    // as a generator for inSlices().
    * without(isQuery, index) {
      const token = isQuery ? from : to, taken = partOf(written, T, d, token, index);
      const changed = yield* reader.reading(text, {
        enter: (l, x) => {
          if (l === layer) taken.forEach((value, c) => { x[token * d + c] -= value; });
        }
      });
      const [best] = reader.best(reading, 1);
      return {
        weight: changed.layers[layer].heads[head].weights[from * T + to],
        answer: best.word,
        before: best.probability,
        probability: changed.probabilities[best.number]
      };
    }
  };
}

// What a layer reads is the sum of: [{what, layer, head, values (T, d_model)}], with weights (T, T) of each source token.
function* whoWrote(reader, tokens, reading, layer) {
  const T = tokens.length, {d} = reader, written = reader.embedded(tokens);
  for (const [l, {heads, mlp}] of reading.layers.slice(0, layer).entries()) {
    const {W_O, d_v} = reader.blocks[l];
    for (const [head, {V, weights}] of heads.entries()) {
      const part = {weight: W_O.weight.subarray(head * d_v * d, (head + 1) * d_v * d), k: d_v, m: d};
      written.push({what: 'head', layer: l, head, values: linear(V, T, part), weights});
      yield;
    }
    if (W_O.bias) {
      const values = Float64Array.from({length: T * d}, (_, n) => W_O.bias[n % d]);
      written.push({what: 'W_O bias', layer: l, values});
    }
    if (mlp) written.push({what: 'MLP', layer: l, values: mlp});
  }
  return written;
}

// The vector (d_model) of part `index` of one token.
function partOf(written, T, d, token, index) {
  for (const {values, weights} of written) {
    const count = weights ? T : 1;
    if (index < count) {
      const source = weights ? index : token;
      return values.subarray(source * d, (source + 1) * d).map((x) => weights ? x * weights[token * T + source] : x);
    }
    index -= count;
  }
  return new Float64Array(d);
}

// x -> (x - mean) gain W for one head, as a matrix; `constant`: what the norm's and the matrix's biases add. RMSNorm has
// neither mean nor bias.
function behindNorm({gain, bias}, matrix, head, d, d_k) {
  const weight = new Float64Array(d * d_k), constant = new Float64Array(d_k);
  for (let n = 0; n < d_k; ++n) {
    const column = head * d_k + n, at = (c) => matrix.weight[c * matrix.m + column];
    let mean = 0;
    for (let c = 0; c < d; ++c) {
      if (!bias) continue;
      mean += gain[c] * at(c) / d;
      constant[n] += bias[c] * at(c);
    }
    for (let c = 0; c < d; ++c) weight[c * d_k + n] = gain[c] * at(c) - mean;
    if (matrix.bias) constant[n] += matrix.bias[column];
  }
  return {weight, k: d, m: d_k, constant};
}

// sqrt(variance + eps) of each row of d, for RMSNorm about 0.
function deviations(x, d, {bias, eps}) {
  return Float64Array.from({length: x.length / d}, (_, t) => {
    const row = Array.from(x.subarray(t * d, (t + 1) * d)), mean = bias ? total(row) / d : 0;
    return Math.sqrt(total(row.map((value) => (value - mean) ** 2)) / d + eps);
  });
}

const partName = ({what, layer, head, token}, tokens) => what === 'head' ?
    `layer ${layer + 1} head ${head + 1} from ${placed(tokens, token)}` :
    layer === undefined ? what :
                          `layer ${layer + 1} ${what}`;

// In plain words, of the token `itself`.
const partPhrase = (part, tokens, itself) => part.what === 'token' ? `the token “${visible(itself)}”` :
    part.what === 'position'                                         ? 'its position' :
    part.what === 'head' ? `the output of layer ${part.layer + 1} head ${part.head + 1} from ${placed(tokens, part.token)}` :
                           partName(part, tokens);

const shownParts = 8;

// The view's section: the parts of both sides, those furthest ahead taken out, and their products.
class WhyAttends {
  constructor() {
    this.choose = el('div');
    this.content = el('div');
    this.element = el('div', {}, el('h2', {}, 'Why does it attend there?'), this.choose, this.content);
    this.found = this.drawn = null;
    this.of = this.at = '';
    this.rather = null;  // what the reader chose to compare with
  }

  draw(reader, text) {
    const {tokens} = text, {layer, head} = state, from = Math.min(state.token, tokens.length - 1);
    const name = JSON.stringify([state.run, nameOfText(text), layer, head, from]), at = `${name} ${reader.step}`;
    if (this.of !== name) this.found = this.rather = null;
    if (this.at !== at) {
      Object.assign(this, {of: name, at});
      // While the slider moves what was found last stays.
      const look = () => {
        if (this.at === at && reader.readSoon(text, look))
          inSlices(this.look(at, reader, text, from), () => update({}));
      };
      setTimeout(look, this.found ? 250 : 0);
    }
    renew(this.choose, chooseHead(runNow().heads));
    if (this.drawn && this.drawn === this.found) return;
    this.drawn = this.found;
    this.content.replaceChildren(
        ...(this.found?.content ?? [el('p', {class: 'muted'}, 'The score is being taken apart …')]));
  }

  // A slice at a time, while what is looked at stays.
  * look(at, reader, text, from) {
    const {tokens, query, antecedent} = text, {layer, head} = state, T = tokens.length;
    const row = reader.readWhole(text).layers[layer].heads[head].weights.subarray(from * T, (from + 1) * T);
    const points = from === query && antecedent >= 0, to = points ? antecedent : row.indexOf(Math.max(...row));
    const twin = points && state.sentence !== OWN ? twinOf(runNow(), state.sentence) : -1;
    const rather = this.rather ?? (twin >= 0 ? runNow().sentences[twin].antecedent : -1);
    const parts = yield* takingApart(reader, text, layer, head, from, to, rather === to ? -1 : rather);
    if (this.at !== at) return;
    const choose = select(
        'Compared with', ['all words, on average', ...tokens.map((_, i) => placed(tokens, i))], rather + 1, (i) => {
          this.rather = i - 1;
          inSlices(this.look(at, reader, text, from), () => update({}));
        });
    yield;
    const taken = [];
    for (const isQuery of [true, false]) {
      const side = isQuery ? parts.query : parts.key, index = mostAhead(side), work = parts.without(isQuery, index);
      for (let part = work.next();; part = work.next()) {
        if (this.at !== at) return;
        if (part.done) {
          taken.push({isQuery, part: side[index], then: part.value});
          break;
        }
        yield;
      }
    }
    this.found = {
      parts,
      content: [
        choose, el('p', {class: 'muted'}, `In the model ${stepOf(reader)}.`),
        ...whyContent(parts, taken, tokens, layer, head, from, to, rather)
      ]
    };
  }
}

// Numbers of the parts that are furthest ahead or behind.
const furthest = (parts, count) =>
    Array.from(parts.keys()).sort((a, b) => Math.abs(parts[b].ahead) - Math.abs(parts[a].ahead)).slice(0, count);

// Of all but the biases.
const mostAhead = (side) => side.slice(0, -1).reduce((best, part, n) => part.ahead > side[best].ahead ? n : best, 0);

function whyContent(parts, taken, tokens, layer, head, from, to, rather) {
  const {score, reference, weight} = parts, other = rather >= 0 && rather !== to, ask = placed(tokens, from), answer = placed(tokens, to);
  const largest = Math.max(...[...parts.query, ...parts.key].map(({ahead}) => Math.abs(ahead)), 1e-9);
  const signedBar = (x) => bar(x / largest, signed(x, 2), x < 0 ? 'negative' : '');
  const list = (side, title) => {
    const shown = furthest(side, shownParts), others = side.length - shown.length;
    const rest = total(side.map(({ahead}) => ahead)) - total(shown.map((n) => side[n].ahead));
    return el('div', {}, table([title, 'ahead by'], [
                ...shown.map((n) => [partName(side[n], tokens), signedBar(side[n].ahead)]),
                ...(others > 0 ? [[`${others} others`, signedBar(rest)]] : [])
              ], {'aria-label': title}));
  };
  const without = taken.map(
      ({isQuery, part, then}) => el(
          'li', {}, el('b', {}, partName(part, tokens)), ' at ', word(isQuery ? ask : answer),
          ` taken out: the weight is ${fixed(then.weight, 2)} instead of ${fixed(weight, 2)}, and `,
          el('b', {}, visible(then.answer)),
          ` has probability ${fixed(then.probability)} instead of ${fixed(then.before)}.`));
  const meets = new TableBelow('Query × key terms');
  meets.draw(() => {
    const pairs = furthest(parts.query, 100).flatMap(
        (p) => furthest(parts.key, 100).map((r) => parts.product(p, r)));
    pairs.sort((a, b) => Math.abs(b.ahead) - Math.abs(a.ahead));
    return table(
        [`in ${ask}`, `in ${answer}`, 'ahead by'],
        pairs.slice(0, 12).map(
            ({query, key, ahead}) =>
                [partName(parts.query[query], tokens), partName(parts.key[key], tokens), signedBar(ahead)]),
        {'aria-label': 'Query × key terms'});
  });
  const source = (side, itself) => {
    const two = furthest(side.slice(0, -1), 2).filter((n) => side[n].ahead > 0).map((n) => partPhrase(side[n], tokens, itself));
    return two.length ? `comes mainly from ${two.join(' and ')}` : 'has no large part that raises the weight';
  };
  return [
    el('p', {class: 'verdict'}, 'The query of ', el('b', {}, ask), ` ${source(parts.query, tokens[from])}; the key of `, el('b', {}, answer),
       ` ${source(parts.key, tokens[to])}.`),
    el('p', {}, `In ${headName(layer, head)} `, el('b', {}, ask), ' gives ', el('b', {}, answer),
       ` the weight ${fixed(weight, 2)}. Its score, q · k / √d_k = ${fixed(score, 2)}, is ${
           fixed(score - reference, 2)} ahead of ${other ? `that of ${placed(tokens, rather)}` : 'the mean over all words'} (${
           fixed(reference, 2)}). Each list adds up to this difference; blue raises the weight, orange lowers it.`),
    el('div', {class: 'two'}, list(parts.query, `Query contributions: ${ask}`), list(parts.key, `Key contributions: ${answer}`)),
    el('ul', {}, without), meets.element
  ];
}
