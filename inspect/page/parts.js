// Explains why a token attends to another in one head, like explain/score_parts.h. Returns {score, reference, weight, query,
// key}. The score is a sum over the parts of either token: query and key list {what, layer, head, token, score, ahead}. Each
// list adds up to the score and to its lead over the reference. The reference is the score of the key `rather`, or with -1
// the mean over all keys. A generator for inSlices().
function* takingApart(reader, text, layer, head, from, to, rather = -1) {
  const {tokens} = text, {d} = reader, block = reader.blocks[layer], {d_k} = block, T = tokens.length;
  const reading = reader.readWhole(text), {weights} = reading.layers[layer].heads[head];
  const brought = layer * reader.H * T <= mostParts ? yield* broughtByHeads(reader, reading, layer, T) : null;
  const written = (token) => writtenAt(reader, tokens, reading, brought, layer, token);
  const names = [...written(from).map(({name}) => name), {what: 'bias'}];
  // Contributions of each part to q or k of a token, (parts, d_k). The last row is the biases.
  const side = (W, norm, h, token) => {
    const parts = written(token).map(({values}) => values), input = linearised(block.norms.input, parts.reduce(plus));
    const rows = [...parts.map(input.of), input.constant ?? new Float64Array(d)];
    const columns = block.over === 'all' ? [0, W.m] : [h * d_k, (h + 1) * d_k];
    let projected = rows.map((row) => linear(row, 1, {...W, bias: null}, ...columns));
    if (W.bias) projected.push(plus(projected.pop(), W.bias.subarray(...columns)));
    const ofHead = linearised(norm, projected.reduce(plus));
    projected = projected.map(ofHead.of);
    if (ofHead.constant) projected.push(plus(projected.pop(), ofHead.constant));
    if (block.over === 'all') projected = projected.map((row) => row.subarray(h * d_k, (h + 1) * d_k));
    return projected.map((row) => reader.placed(row, block, () => token));
  };
  const keysOf = (token) => side(block.W_K, block.kNorm, reader.kvHead(head), token), sum = (rows) => rows.reduce(plus);
  const q = side(block.W_Q, block.qNorm, head, from), k = keysOf(to), others = k.map(() => new Float64Array(d_k));
  yield;
  const compared = rather >= 0 ? [rather] : tokens.map((_, j) => j);
  for (const j of compared) {
    keysOf(j).forEach((row, r) => row.forEach((x, c) => { others[r][c] += x / compared.length; }));
    yield;
  }
  const product = (a, b) => dot(a, 0, b, 0, d_k) * block.scale;
  const whole = {q: sum(q), k: sum(k), others: sum(others)};
  const part = (name, score, usual) => ({...name, score, ahead: score - usual});
  return {
    score: product(whole.q, whole.k),  // also finite for a masked edge
    reference: product(whole.q, whole.others),
    weight: weights[from * T + to],
    query: q.map((row, p) => part(names[p], product(row, whole.k), product(row, whole.others))),
    key: k.map((row, r) => part(names[r], product(whole.q, row), product(whole.q, others[r]))),
    product: (p, r) => part({query: p, key: r}, product(q[p], k[r]), product(q[p], others[r])),
    // Removes a part from the layer's input at its token. Returns the weight of this edge and the answer's probability, as a
    // generator for inSlices().
    * without(isQuery, index) {
      const token = isQuery ? from : to, taken = written(token)[index]?.values ?? new Float64Array(d);
      const changed = yield* reader.reading(text, {
        enter: (l, x) => {
          if (l === layer) taken.forEach((value, c) => { x[token * d + c] -= value; });
        }
      });
      const [best] = reader.best(reading, 1);
      return {
        weight: changed.layers[layer].heads[head].weights[from * T + to], answer: best.word,
        before: best.probability, probability: changed.probabilities[best.number]
      };
    }
  };
}

// With more heads times tokens than this, the output of a head is one part instead of one per token.
const mostParts = 6000;

// Returns the value of each token in each head of each earlier layer, V W_O, (T, d_model).
function* broughtByHeads(reader, reading, layer, T) {
  const brought = [];
  for (const [l, {heads}] of reading.layers.slice(0, layer).entries()) {
    brought.push([]);
    for (const [head, {V}] of heads.entries()) {
      brought[l].push(linear(V, T, outputOf(reader.blocks[l], head)));
      yield;
    }
  }
  return brought;
}

// Returns the input of `layer` at a token as a sum of parts (explain/residual_parts.h): [{name, values (d_model)}].
function writtenAt(reader, tokens, reading, brought, layer, token) {
  const {d} = reader, T = tokens.length, row = (x, t) => Float64Array.from(x.subarray(t * d, (t + 1) * d));
  const behind = (norm, parts, name) => {
    if (!norm) return parts;
    const {of, constant} = linearised(norm, parts.map(({values}) => values).reduce(plus));
    return [
      ...parts.map(({name, values}) => ({name, values: of(values)})),
      ...(constant ? [{name: {what: 'norm bias', ...name}, values: Float64Array.from(constant)}] : [])
    ];
  };
  let parts = reader.embedded(tokens).map(({what, values}) => ({name: {what}, values: row(values, token)}));
  parts = behind(reader.embeddingNorm, parts, {});
  for (let l = 0; l < layer; ++l) {
    const block = reader.blocks[l], {heads, mlp} = reading.layers[l], added = [];
    heads.forEach(({weights, output}, head) => {
      const {d_v} = block, name = {what: 'head', layer: l, head};
      if (!brought) return added.push({name, values: linear(output.subarray(token * d_v, (token + 1) * d_v), 1, outputOf(block, head))});
      return tokens.forEach((_, source) => {
        const weight = weights[token * T + source];
        added.push({name: {...name, token: source}, values: row(brought[l][head], source).map((x) => weight * x)});
      });
    });
    if (block.W_O.bias) added.push({name: {what: 'W_O bias', layer: l}, values: Float64Array.from(block.W_O.bias)});
    const heard = behind(block.norms.output, added, {layer: l});
    parts = behind(block.norms.sum, block.residual ? [...parts, ...heard] : heard, {layer: l});
    if (!mlp) continue;
    const values = row(mlp, token), {output, sum} = block.mlp.norms;
    parts.push({name: {what: 'MLP', layer: l}, values: output ? normalised(values, output) : values});
    parts = behind(sum, parts, {layer: l});
  }
  return parts;
}

const partName = ({what, layer, head, token}, tokens) => layer === undefined ? said(what) : what !== 'head' ? t`layer ${layer + 1} ${said(what)}` :
    token === undefined ? headName(layer, head) : t`${headName(layer, head)} from ${placed(tokens, token)}`;

// Describes a part of the token `itself` in words.
const partPhrase = (part, tokens, itself) => part.what === 'token' ? t`the token “${visible(itself)}”` :
    part.what === 'position' ? t`its position` : part.what === 'head' ? t`the output of ${partName(part, tokens)}` : partName(part, tokens);

const shownParts = 8;

// Section of the view: the parts of both tokens, the ablation of those with the largest lead, and their products.
class WhyAttends {
  constructor() {
    this.choose = el('div');
    this.content = el('div');
    this.element = el('div', {}, this.choose, this.content);
    this.of = '';
    this.drawn = null;
    this.rather = null;  // the key that the user selected for comparison
  }

  draw(engine, text) {
    const {tokens, query, antecedent} = text, {layer, head} = state, from = Math.min(state.token, tokens.length - 1);
    const name = JSON.stringify([state.run, tokens, layer, head, from]), read = asRead(text), later = () => update({});
    if (this.of !== name) Object.assign(this, {of: name, drawn: null, rather: null});
    renew(this.choose, chooseHead(runNow().heads));
    const row = engine.read(read, [], later)?.attention.row(layer, head, from), points = from === query && antecedent >= 0;
    const to = points ? antecedent : row?.indexOf(Math.max(...row));
    const twin = points && state.sentence !== OWN ? twinOf(runNow(), state.sentence) : -1;
    const rather = this.rather ?? (twin >= 0 ? runNow().sentences[twin].antecedent : -1);
    const found = row && engine.why(read, {layer, head, from, to, rather: rather === to ? -1 : rather}, later);
    // Keeps the last result while the slider moves.
    if (!found && !this.drawn) this.content.replaceChildren(el('p', {class: 'muted'}, t`The score is being taken apart …`));
    if (!found || found === this.drawn) return;
    this.drawn = found;
    const choose = select(t`Compared with`, [t`all words, on average`, ...tokens.map((_, i) => placed(tokens, i))], rather + 1, (i) => {
      this.rather = i - 1;
      update({});
    });
    const content = found.problem ? [el('p', {class: 'notice'}, said(found.problem))] : whyContent(found, tokens, layer, head, from, to, rather);
    this.content.replaceChildren(choose, el('p', {class: 'muted'}, t`In ${modelName(engine)}.`), ...content);
  }
}

// Returns the indices of the parts with the largest absolute lead.
const furthest = (parts, count) => Array.from(parts.keys()).sort((a, b) => Math.abs(parts[b].ahead) - Math.abs(parts[a].ahead)).slice(0, count);

// Returns the part with the largest lead, without the biases.
const mostAhead = (side) => side.slice(0, -1).reduce((best, part, n) => part.ahead > side[best].ahead ? n : best, 0);

// Takes the score of an edge apart, as an engine's why() does.
function* whyParts(reader, text, {layer, head, from, to, rather}) {
  const parts = yield* takingApart(reader, text, layer, head, from, to, rather);
  for (const side of ['query', 'key']) {
    const part = mostAhead(parts[side]), {answer, before, ...then} = yield* parts.without(side === 'query', part);
    Object.assign(parts, {answer, probability: before, cuts: [...parts.cuts ?? [], {of: side, part, ...then}]});
  }
  const pairs = furthest(parts.query, 100).flatMap((p) => furthest(parts.key, 100).map((r) => parts.product(p, r)));
  return {...parts, products: pairs.sort((a, b) => Math.abs(b.ahead) - Math.abs(a.ahead))};
}

function whyContent(parts, tokens, layer, head, from, to, rather) {
  const {score, reference, weight} = parts, other = rather >= 0 && rather !== to, ask = placed(tokens, from), answer = placed(tokens, to);
  const largest = Math.max(...[...parts.query, ...parts.key].map(({ahead}) => Math.abs(ahead)), 1e-9);
  const signedBar = (x) => bar(x / largest, signed(x, 2), x < 0 ? 'negative' : '');
  const list = (side, title) => {
    const shown = furthest(side, shownParts), others = side.length - shown.length;
    const rest = total(side.map(({ahead}) => ahead)) - total(shown.map((n) => side[n].ahead));
    const rows = shown.map((n) => [partName(side[n], tokens), signedBar(side[n].ahead)]);
    if (others > 0) rows.push([t`${others} others`, signedBar(rest)]);
    return el('div', {}, table([title, t`ahead by`], rows, {'aria-label': title}));
  };
  const without = parts.cuts.map(({of, part, weight: after, probability}) => {
    const name = el('b', {}, partName(parts[of][part], tokens)), token = word(of === 'query' ? ask : answer), weights = [fixed(after, 2), fixed(weight, 2)];
    return el('li', {}, !parts.answer ? t`${name} at ${token} removed: the weight is ${weights[0]} instead of ${weights[1]}.` :
        t`${name} at ${token} removed: the weight is ${weights[0]} instead of ${weights[1]}, and ${el('b', {}, visible(parts.answer))} has probability ${
            fixed(probability)} instead of ${fixed(parts.probability)}.`);
  });
  const meets = new TableBelow(t`Query × key terms`);
  meets.draw(() => {
    const shown = parts.products.slice(0, 12), present = (side) => side.filter((part) => part.score !== 0 || part.ahead !== 0).length;
    const rows = shown.map(({query, key, ahead}) => [partName(parts.query[query], tokens), partName(parts.key[key], tokens), signedBar(ahead)]);
    const others = present(parts.query) * present(parts.key) - shown.length;
    if (others > 0) rows.push([t`${others} others`, '', signedBar(score - reference - total(shown.map(({ahead}) => ahead)))]);
    return table([t`in ${ask}`, t`in ${answer}`, t`ahead by`], rows, {'aria-label': t`Query × key terms`});
  });
  const source = (side, itself) => {
    const two = furthest(side.slice(0, -1), 2).filter((n) => side[n].ahead > 0).map((n) => partPhrase(side[n], tokens, itself));
    return two.length ? t`comes mainly from ${listed(two)}` : t`has no large part that raises the weight`;
  };
  return [
    el('p', {class: 'verdict'}, t`The query of ${el('b', {}, ask)} ${source(parts.query, tokens[from])}; the key of ${el('b', {}, answer)} ${source(parts.key, tokens[to])}.`),
    el('p', {}, t`In ${headName(layer, head)} ${el('b', {}, ask)} gives ${el('b', {}, answer)} the weight ${fixed(weight, 2)}. Its score, q · k / √d_k = ${
        fixed(score, 2)}, is ${fixed(score - reference, 2)} ahead of ${other ? t`that of ${placed(tokens, rather)}` : t`the mean over all words`} (${
        fixed(reference, 2)}). Each list adds up to this difference; blue raises the weight, orange lowers it.`),
    el('div', {class: 'two'}, list(parts.query, t`Query contributions: ${ask}`), list(parts.key, t`Key contributions: ${answer}`)),
    el('ul', {}, without), meets.element,
    ...(runNow().circuit ? [el('p', {class: 'muted'}, t`These parts make up the whole score, with what all sentences share. The view Circuit shows what differs between two sentences with different answers.`)] : []),
  ];
}
