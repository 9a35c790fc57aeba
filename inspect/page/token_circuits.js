// QK and OV circuits of a head on single words (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").
const tokenCircuitsView = {
  title: 'QK and OV',
  isFor: ({model, served}) => Boolean(model || served),
  lead: () => t`The learned matrices of one head, the same for all sentences, on single words: which word attends to which (QK), and which answer that raises (OV). Words without position, as the layer normalises them, untouched by other layers.`,
  make() {
    const circuits = ['QK', 'OV'].map((kind) => circuitPart(kind)), choose = el('div'), element = el('section');
    element.append(choose, el('div', {class: 'two'}, circuits.map((part) => part.element)));
    return {
      figures: [], element, followsTraining: () => hasModels(state.run),
      says: () => engineOf(state.run) ? [t`The words of ${modelName(engineOf(state.run))}.`] : [],
      draw() {
        const engine = engineOf(state.run);
        if (!engine) return;
        renew(choose, chooseHead(runNow().heads));
        const found = engine.circuits(asRead(subject()), state.layer, state.head, () => update({}));
        circuits.forEach((part, i) => inTurn(`circuit ${i}`, () => part.draw(found)));
      },
    };
  },
};

const mostWords = 500;  // more do not fit on a screen and take seconds

// Returns the QK or the OV circuit of a head. QK: scores (V, V) of each query word with each key word. The softmax depends
// only on differences within a row, so the row mean is subtracted. OV: contribution of an attended word to each answer's
// logit, minus the mean; an answer is a word of the vocabulary, or a candidate of this word alone. Inputs are normalised
// embeddings without position (rotary: equal positions), as if earlier layers had not changed them. A generator for inSlices().
function* circuit(reader, layer, head, kind) {
  const {d} = reader, block = reader.blocks[layer], V = Math.min(mostWords, reader.vocabulary.length);
  const E = Float64Array.from({length: V * d}, (_, i) => reader.words[i] * reader.shape.embedding_scale);
  const X = [reader.embeddingNorm, block.norms.input].reduce((x, norm) => norm ? normalised(x, norm) : x, E);
  const values = new Float32Array(V * V);
  let from, to, width, scale = 1;
  if (kind === 'QK') {
    width = block.d_k;
    from = reader.headQueries(block, X, V, head, () => 0);
    to = reader.headKeys(block, X, V, head, () => 0);
    scale = block.scale;
  } else {
    const written = linear(reader.headValues(block, X, V, head), V, outputOf(block, head));
    width = d;
    const {gain, isCentred} = reader.finalNorm ?? {};
    from = (isCentred ? centred(written, V, d) : written).map((x, i) => gain ? x * gain[i % d] : x);
    to = reader.unembedding;
    if (reader.choosing) {
      from = linear(from, V, reader.choosing.W_C);
      to = standardised(E, d);
      scale = 1 / Math.sqrt(d);
    }
  }
  for (let i = 0; i < V; ++i) {
    for (let j = 0; j < V; ++j) values[i * V + j] = dot(from, i * width, to, j * width, width) * scale;
    yield;
  }
  return {V, values: centred(values, V, V)};
}

// Subtracts the mean from each row of n.
function centred(x, rows, n) {
  const y = x.slice();
  for (let r = 0; r < rows; ++r) {
    const mean = total(x.subarray(r * n, (r + 1) * n)) / n;
    for (let c = 0; c < n; ++c) y[r * n + c] -= mean;
  }
  return y;
}

// Returns both circuits as an engine's circuits() does.
function* circuitsOf(reader, layer, head) {
  const {names} = reader, V = Math.min(mostWords, names.length), found = {words: names.slice(0, V)};
  found.which = names.length > V ? t`The first ${V} of ${names.length} words. ` : '';
  for (const kind of reader.transform || reader.config.kind === 'bare_transformer' ? ['QK'] : ['QK', 'OV']) {
    const {values} = yield* circuit(reader, layer, head, kind);
    found[kind] = [];
    for (let i = 0; i < V; ++i) {
      const row = values.subarray(i * V, (i + 1) * V), order = Array.from(row.keys()).sort((a, b) => row[b] - row[a]);
      found[kind].push(order.slice(0, shownPairs).map((j) => [names[j], row[j]]));
      yield;
    }
  }
  return found;
}

const shownPairs = 12;
const circuitTexts = {
  QK: {
    title: () => t`QK circuit: which word attends to which`,
    head: [t`word`, t`attends to`, t`score`],
    note: () => t`The score of every pair of words, x W_Q (x W_K)ᵀ / √d_k, as if both were at the same position, each row less its mean. `
  },
  OV: {
    title: () => choosesCandidates() ? t`OV circuit: which candidate attending to a word raises` : t`OV circuit: which answer attending to a word raises`,
    head: [t`attending to`, t`raises`, t`logit`],
    note: () => (choosesCandidates() ? t`x W_V W_O W_C on candidates of one word, before the division by the final norm’s deviation, which depends on the sentence. ` :
                                       t`x W_V W_O on the output words, before the division by the final norm’s deviation, which depends on the sentence. `) +
        (state.layer + 1 === runNow().heads.length ? '' : t`This is not the last layer: only later layers can use it for the answer. `)
  },
};
// Says why a model has no OV circuit.
const missing = t`No OV circuit: it needs answers that are words, with logits that are linear in the final state.`;
const choosesCandidates = () => engineOf(state.run).hasCandidates;

function circuitPart(kind) {
  const choose = el('div'), found = el('div'), heading = el('h2'), about = el('p', {class: 'muted'});
  const element = el('section', {}, heading, about, choose, found), {title, head, note} = circuitTexts[kind];
  let chosen = -1;
  const draw = (all) => {
    heading.textContent = title();
    const waits = said(all?.problem) ?? (all || found.firstChild ? null : t`The circuit is being computed …`);
    if (waits) renew(found, el('p', {class: 'muted'}, waits));
    if (!all?.words) return;
    choose.hidden = about.hidden = !all[kind];
    if (!all[kind]) return renew(found, el('p', {class: 'muted'}, missing));
    if (chosen >= all.words.length) chosen = -1;
    const pairs = all[kind].flatMap((row, i) => row.map(([to, value]) => ({i, to, value}))).sort((a, b) => b.value - a.value);
    const shown = pairs.filter(({i}) => chosen < 0 || i === chosen).slice(0, shownPairs), range = Math.max(pairs[0].value, 1e-9);
    renew(about, note(), said(all.which));
    renew(choose, select(t`Pairs`, [t`the strongest of all`, ...all.words.map((name) => t`of ${visible(name)}`)], chosen + 1, (i) => {
      chosen = i - 1;
      draw(all);
    }, t`Pairs of the ${kind} circuit`));
    renew(found, table(head, shown.map(({i, to, value}) => [
      word(all.words[i]), word(to), bar(Math.abs(value) / range, signed(value, 2), value < 0 ? 'negative' : '')
    ]), {'aria-label': title()}));
  };
  return {element, draw};
}
