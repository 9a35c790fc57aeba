// QK and OV circuits of a head on single words (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").
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
    const {d_v} = block, v = reader.headValues(block, X, V, head);
    const written =
        linear(v, V, {weight: block.W_O.weight.subarray(head * d_v * d, (head + 1) * d_v * d), k: d_v, m: d});
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

// Orders rows or columns along the leading singular vectors, so that similar ones are adjacent.
function alike(values, n) {
  let v = Float64Array.from({length: n}, (_, i) => 1 / (i + 1)), u = v;
  const times = (x, at) => Float64Array.from({length: n}, (_, i) => {
    let sum = 0;
    for (let j = 0; j < n; ++j) sum += values[at(i, j)] * x[j];
    return sum;
  });
  for (let step = 0; step < 12; ++step) {
    u = times(v, (i, j) => i * n + j);
    v = times(u, (i, j) => j * n + i);
    const norm = Math.hypot(...v) || 1;
    v = v.map((x) => x / norm);
  }
  const order = (x) => Array.from(x.keys()).sort((a, b) => x[b] - x[a]);
  return {rows: order(u), columns: order(v)};
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
    verb: 'attends to',
    head: ['word', 'attends to', 'score'],
    note: (last, reader) => `x W_Q (x W_K)ᵀ / √d_k for every pair of words${
        reader.blocks[0].qNorm ? ', both normalised as the head does' : ''}, each row less its mean. ${
        reader.shape.positions === 'rotary' ? 'With both words at the same position. ' : ''}`
  },
  OV: {
    title: `OV circuit: which ${choosing ? 'candidate' : 'answer'} attending to a word raises`,
    verb: 'raises',
    head: ['attending to', 'raises', 'logit'],
    note: (last) => `x W_V W_O${choosing ? ' W_C on candidates of one word' : ' on the output words'}` +
        ', before the division by the final norm’s deviation, which depends on the sentence. ' +
        (last ? '' :
                'This is not the last layer: only later layers can use it for the answer. ')
  },
});

function circuitPart(kind) {
  const texts = () => circuitTexts(readerOf(state.run))[kind];
  let now = null, chosen = -1;
  const figure = new Figure(`${kind} circuit`, () => {
    const {V, values} = now, name = (i) => readerOf(state.run).vocabulary[i];
    return [texts().head, ...Array.from(values, (value, n) => [name(Math.floor(n / V)), name(n % V), value])];
  }, aboutModel);
  const about = el('p', {class: 'muted'}), choose = el('div'), found = el('div'), heading = el('h2');
  const element = el('section', {class: 'circuit'}, heading, about, figure.element, choose, found);
  explore(figure, (row, column, map) => {
    if (map.ramp) return null;
    const name = (i) => visible(readerOf(state.run).vocabulary[i]);
    return [
      `${name(now.order.rows[row])} ${texts().verb} ${name(now.order.columns[column])} `,
      el('b', {}, signed(map.values[row * map.columns + column], 2))
    ];
  });
  const draw = (reader) => {
    const {title, head, note, verb} = texts();
    heading.textContent = title;
    const last = state.layer + 1 === reader.blocks.length, name = (i) => visible(reader.vocabulary[i]);
    const {V, values} = now = circuit(reader, state.layer, state.head, kind);
    now.order = alike(values, V);
    const range = values.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-9), scale = scales.signed.within(range);
    const sorted = Float32Array.from(
        {length: V * V}, (_, n) => values[now.order.rows[Math.floor(n / V)] * V + now.order.columns[n % V]]);
    const room = roomFor(), width = room > 900 ? room / 2 - 20 : room, labels = (order) => order.map(name);
    const cell = cellFor(labels(now.order.rows), labels(now.order.columns), width, 30), pairs = topPairs(values, V, 12);
    const {left, top, right} = axisSizes(labels(now.order.rows), labels(now.order.columns), cell);
    figure.begin(
        left + V * cell + right, top + V * cell + 44,
        `${title}. ${pairs.slice(0, 5).map(({row, column}) => `${name(row)} ${verb} ${name(column)}`).join(', ')}`);
    drawMatrix(
        figure, 0, 0, cell,
        {rows: labels(now.order.rows), columns: labels(now.order.columns), values: sorted, scale, decimals: 1});
    drawLegend(
        figure, left, top + V * cell + 10, 170, scales.signed,
        {text: '0', ends: [`−${fixed(range, 1)}`, `+${fixed(range, 1)}`]});
    const shown = chosen < 0 ?
        pairs :
        Array.from({length: V}, (_, column) => ({row: chosen, column, value: values[chosen * V + column]}))
            .sort((a, b) => b.value - a.value)
            .slice(0, 12);
    renew(
        about,
        `${note(last, reader)}Words without position, as layer ${state.layer + 1} normalises them, untouched by other layers. ${
            reader.vocabulary.length > V ? `The first ${V} of ${reader.vocabulary.length} words. ` : ''}`);
    renew(
        choose,
        select(
            'Pairs', ['the strongest of all', ...Array.from({length: V}, (_, i) => `of ${name(i)}`)], chosen + 1,
            (i) => {
              chosen = i - 1;
              draw(reader);
            }));
    renew(
        found,
        table(
            head,
            shown.map(
                ({row, column, value}) =>
                    [word(reader.vocabulary[row]), word(reader.vocabulary[column]),
                     bar(value / range, signed(value, 2), value < 0 ? 'negative' : '')]),
            {'aria-label': title}));
  };
  return {element, figure, draw};
}
