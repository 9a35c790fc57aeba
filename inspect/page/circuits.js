// QK and OV circuits of a head on single words (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").
const circuitsView = {
  title: 'Circuits',
  isFor: ({model}) => Boolean(model),
  lead: () => 'The learned matrices of one head, the same for all sentences, on the model’s words: which word attends to which (QK), and ' +
      'which answer that raises (OV). Words without position, as the layer normalises them, untouched by other layers.',
  make() {
    const circuits = ['QK', 'OV'].map((kind) => circuitPart(kind)), choose = el('div'), element = el('section');
    element.append(choose, el('div', {class: 'two'}, circuits.map((part) => part.element)));
    let drawnBy = null;
    const drawCircuits = function*(reader) {
      for (const part of circuits) {
        if (drawnBy === reader) part.draw(reader);
        yield;
      }
    };
    return {
      figures: [],
      element,
      followsTraining: () => hasModels(state.run),
      says: () => readerOf(state.run) ? [`The words of the saved model ${stepOf(readerOf(state.run))}.`] : [],
      draw() {
        const reader = readerOf(state.run);
        if (!reader) return;
        renew(choose, chooseHead(runNow().heads));
        drawnBy = reader;
        inSlices(drawCircuits(reader), () => {});
      },
    };
  },
};

const mostWords = 500;  // more do not fit on a screen and take seconds

// Returns the QK or the OV circuit of a head. QK: scores (V, V) of each query word with each key word. The softmax depends
// only on differences within a row, so the row mean is subtracted. OV: contribution of an attended word to each answer's
// logit, minus the mean; an answer is a word of the vocabulary, or a candidate of this word alone. Inputs are normalised
// embeddings without position (rotary: equal positions), as if earlier layers had not changed them.
function circuit(reader, layer, head, kind) {
  const {d} = reader, block = reader.blocks[layer], V = Math.min(mostWords, reader.vocabulary.length);
  const E = Float64Array.from({length: V * d}, (_, i) => reader.words[i] * reader.shape.embedding_scale);
  const X = block.norms.input ? normalised(E, block.norms.input) : E;
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
    const {gain, bias} = reader.finalNorm ?? {};
    from = (bias ? centred(written, V, d) : written).map((x, i) => gain ? x * gain[i % d] : x);
    to = reader.unembedding;
    if (reader.choosing) {
      from = linear(from, V, reader.choosing.W_C);
      to = standardised(E, d);
      scale = 1 / Math.sqrt(d);
    }
  }
  for (let i = 0; i < V; ++i)
    for (let j = 0; j < V; ++j) values[i * V + j] = dot(from, i * width, to, j * width, width) * scale;
  return {V, values: centred(values, V, V)};
}

// Subtracts the mean from each row of n.
function centred(x, rows, n) {
  const y = x.slice();
  for (let r = 0; r < rows; ++r) {
    const mean = total(Array.from(x.subarray(r * n, (r + 1) * n))) / n;
    for (let c = 0; c < n; ++c) y[r * n + c] -= mean;
  }
  return y;
}

function topPairs(values, V, count) {
  const pairs = [];
  for (let n = 0; n < values.length; ++n) {
    if (pairs.length === count && values[n] <= pairs.at(-1).value) continue;
    pairs.push({row: Math.floor(n / V), column: n % V, value: values[n]});
    pairs.sort((a, b) => b.value - a.value);
    if (pairs.length > count) pairs.pop();
  }
  return pairs;
}

const circuitTexts = ({choosing}) => ({
  QK: {
    title: 'QK circuit: which word attends to which',
    head: ['word', 'attends to', 'score'],
    note: (last, reader) => `x W_Q (x W_K)ᵀ / √d_k for every pair of words${
        reader.blocks[0].qNorm ? ', both normalised as the head does' : ''}, each row less its mean. ${
        reader.shape.positions === 'rotary' ? 'With both words at the same position. ' : ''}`
  },
  OV: {
    title: `OV circuit: which ${choosing ? 'candidate' : 'answer'} attending to a word raises`,
    head: ['attending to', 'raises', 'logit'],
    note: (last) => `x W_V W_O${choosing ? ' W_C on candidates of one word' : ' on the output words'}` +
        ', before the division by the final norm’s deviation, which depends on the sentence. ' +
        (last ? '' :
                'This is not the last layer: only later layers can use it for the answer. ')
  },
});

function circuitPart(kind) {
  const choose = el('div'), found = el('div'), heading = el('h2'), about = el('p', {class: 'muted'});
  const element = el('section', {}, heading, about, choose, found);
  let chosen = -1;
  const draw = (reader) => {
    const {title, head, note} = circuitTexts(reader)[kind], last = state.layer + 1 === reader.blocks.length;
    const {V, values} = circuit(reader, state.layer, state.head, kind), name = (i) => visible(reader.vocabulary[i]);
    const range = values.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-9), pairs = topPairs(values, V, 12);
    const shown = chosen < 0 ? pairs : Array.from({length: V}, (_, column) => ({row: chosen, column, value: values[chosen * V + column]}))
        .sort((a, b) => b.value - a.value).slice(0, 12);
    heading.textContent = title;
    renew(about, note(last, reader), reader.vocabulary.length > V ? `The first ${V} of ${reader.vocabulary.length} words. ` : '');
    renew(choose, select('Pairs', ['the strongest of all', ...Array.from({length: V}, (_, i) => `of ${name(i)}`)], chosen + 1, (i) => {
      chosen = i - 1;
      draw(reader);
    }, `Pairs of the ${kind} circuit`));
    renew(found, table(head, shown.map(({row, column, value}) => [
      word(reader.vocabulary[row]), word(reader.vocabulary[column]), bar(value / range, signed(value, 2), value < 0 ? 'negative' : '')
    ]), {'aria-label': title}));
  };
  return {element, draw};
}
