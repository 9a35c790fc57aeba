// The matrices of all heads with their figures, in layer order or sorted. The selected matrix appears beside them with its
// words.
const headsView = {
  title: 'All heads',
  lead: () => {
    const {antecedent} = subject(), {rows} = runNow().causes ?? {}, cut = rows?.find(isCutOf);
    return `Every small square is a head: its whole matrix, a row for each query. Under it, ${
        antecedent >= 0 ? 'the weight from the word asked about to its antecedent' : 'the largest weight of the word asked about'}${
        cut ? `, and the accuracy over ${grouped(cut.sentences)} held-out sentences after that edge is cut in this head` : ''
    }. Press a square to see it large.`;
  },
  make() {
    const figure = new Figure('all heads', () => headRows(), () => aboutNow({head: false}));
    const large = new Figure(
        'head', () => attentionRows(subject(), (l, h) => l === state.layer && h === state.head), aboutNow);
    figure.svg.setAttribute('role', 'group');  // the heads are buttons
    let order = [], sorting = 0;
    explore(figure, (row, column, map) => {
      const of = order[figure.maps.indexOf(map)];
      const {tokens} = subject();
      return of && [`${headName(...of)}: `, ...pairText(tokens, row, column, map.values[row * tokens.length + column])];
    }, (row, column, map) => {
      const of = order[figure.maps.indexOf(map)];
      if (of) chooseOneHead(...of);
    });
    explore(
        large,
        (row, column, map) =>
            map.ramp ? null : pairText(subject().tokens, row, column, map.values[row * map.columns + column]));
    const sort = el('div');
    return {
      followsTraining: () => true,
      sliderOnly: true,
      figures: [figure, large],
      element: el('section', {}, sort, el('div', {class: 'beside heads'}, figure.element, large.element)),
      says: () => headsSay(subject()),
      draw() {
        const now = subject();
        if (!now.attention) return waiting(figure);
        const facts = headFacts(now), sortings = sortingsOf(facts, now);
        sorting = Math.min(sorting, sortings.length - 1);
        renew(sort, select('Order', sortings.map(({name}) => name), sorting, (next) => {
          sorting = next;
          update({});
        }));
        order = drawHeads(figure, now, sortings[sorting]);
        drawOneHead(large, now);
      },
    };
  },
};

// Returns whether a row of the causes cuts the edge from the query to the antecedent in one head.
const isCutOf = ({what, from, to}) => what === 'edge' && from === 'query' && to === 'antecedent';

// Returns [{layer, head, weight, cut, right}], one per head: the weight from the query to the antecedent (if unknown, the
// largest weight), the row of the causes that cuts this edge, and the accuracy after the cut (NaN: unknown).
function headFacts(now) {
  const {tokens, query, antecedent, heads, attention} = now, T = tokens.length;
  const cuts = new Map((runNow().causes?.rows ?? []).filter(isCutOf).map((one) => [key(one.layer, one.head), one]));
  return allHeads(heads).map(([layer, head]) => {
    const row = attention.of(layer, head).subarray(query * T, (query + 1) * T), cut = cuts.get(key(layer, head));
    const weight = antecedent >= 0 ? weightOnSpan(row, antecedentSpan(now)) : Math.max(...row);
    return {layer, head, weight, cut, right: cut?.accuracy ?? NaN};
  });
}

const weightName = ({antecedent}) => antecedent >= 0 ? 'weight on the antecedent' : 'largest weight';

function sortingsOf(facts, now) {
  const by = (name, of) => ({name, facts: [...facts].sort((a, b) => of(b) - of(a)), sorted: true});
  const known = facts.some(({right}) => Number.isFinite(right));
  return [
    {name: 'by layer and head', facts, sorted: false}, by(`by ${weightName(now)}`, ({weight}) => weight),
    ...(known ? [by('by the effect of cutting it', ({right}) => -right)] : [])
  ];
}

function headRows() {
  const [head, ...rows] = attentionRows(subject(), () => true), facts = headFacts(subject());
  const of = (layer, number) => facts.find((one) => one.layer === layer - 1 && one.head === number - 1);
  return [
    [...head, weightName(subject()), 'accuracy after the cut'], ...rows.map((row) => {
      const {weight, right} = of(row[0], row[1]);
      return [...row, weight.toFixed(3), Number.isFinite(right) ? right.toFixed(4) : ''];
    })
  ];
}

function headsSay(now) {
  if (!now.attention) return [];
  const [{layer, head, weight, cut}] = headFacts(now).sort((a, b) => b.weight - a.weight), from = el('b', {}, placed(now.tokens, now.query));
  const where = `At step ${now.step}, ${headName(layer, head)} `;
  if (now.antecedent < 0) return [`${where}has the strongest single weight from `, from, `: ${fixed(weight, 2)}.`];
  return [
    `${where}puts the most attention from `, from, ' on ', el('b', {}, spanText(now, antecedentSpan(now))), `: ${rounded(weight)}.`,
    cut ? ` After that edge is cut in it, ${percent(cut.accuracy, cut.accuracy_error)} of ${
              grouped(cut.sentences)} held-out sentences are answered right (before ${percent(cut.before)}).` :
          ''
  ];
}

// Draws all heads and returns the head of each heat map.
function drawHeads(figure, now, {facts, sorted}) {
  const {heads, attention, tokens} = now, room = roomFor(), wide = room > 900, width = wide ? room * 0.54 : room;
  const most = Math.max(...heads), narrow = room < 40 * most, gap = narrow ? 3 : most > 6 ? 6 : 14, caption = 34;
  const left = sorted ? 4 : narrow ? 22 : 62;
  const columns = sorted ? Math.ceil(Math.sqrt(facts.length * 1.5)) : most;
  const lines = sorted ? Math.ceil(facts.length / columns) : heads.length;
  const tall = Math.max(56, heightFor() / lines - caption - gap);
  const side = Math.max(narrow ? 8 : 30, Math.min(260, tall, (width - left) / columns - gap)), step = side + gap;
  const scale = scales.weight.within(attention.end), rowStep = side + caption + gap, top = sorted ? 4 : 24;
  figure.begin(
      left + columns * step, top + lines * rowStep + 40,
      facts.map(({layer, head}) => `${headName(layer, head)}: ${looksAtIn(now, layer, head, now.query)}`).join('; '));
  const note = (x, y, text, attributes) =>
      figure.text(x, y, text, {'font-size': 13, fill: ink.muted, 'text-anchor': 'middle', ...attributes});
  if (!sorted) {
    for (let h = 0; h < columns; ++h) note(left + h * step + side / 2, 12, side > 70 ? `head ${h + 1}` : String(h + 1));
    heads.forEach((_, l) => note(left - 8, top + l * rowStep + side / 2, narrow ? String(l + 1) : `layer ${l + 1}`, {'text-anchor': 'end'}));
  }
  facts.forEach(({layer, head, weight, right}, n) => {
    const x = left + (sorted ? n % columns : head) * step;
    const y = top + (sorted ? Math.floor(n / columns) : layer) * rowStep;
    const chosen = layer === state.layer && head === state.head, small = side < 76;
    figure.heat(x, y, side, side, tokens.length, tokens.length, attention.of(layer, head), scale);
    const name = sorted ? `${layer + 1}.${head + 1}  ` : '';
    note(x + side / 2, y + side + 11, `${name}${narrow ? fixed(weight, 2).replace(/^0/, '') : fixed(weight, 2)}`, {
      'font-size': narrow ? 9 : small ? 11 : 13,
      'font-weight': weight >= 0.5 ? 700 : 400,
      fill: weight >= 0.5 ? ink.text : ink.muted
    });
    if (Number.isFinite(right))
      note(
          x + side / 2, y + side + 25, small ? `${(100 * right).toFixed(0)}${side < 40 ? '%' : ' %'}` : `after cut: ${rounded(right)}`,
          {'font-size': narrow ? 9 : side < 40 ? 10 : small ? 11 : 12});
    const open = () => chooseOneHead(layer, head);
    figure.add('rect', {
      x: x - 1,
      y: y - 1,
      width: side + 2,
      height: side + 2,
      rx: 2,
      fill: 'transparent',
      stroke: chosen ? ink.accent : ink.line,
      'stroke-width': chosen ? 3 : 1,
      class: 'head',
      tabindex: 0,
      role: 'button',
      'aria-pressed': String(chosen),
      'aria-label': `Enlarge ${headName(layer, head)}`,
      onkeydown: (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        open();
      }
    });
  });
  drawLegend(figure, left, top + lines * rowStep + 4, Math.max(120, Math.min(190, columns * step)), scale);
  return facts.map(({layer, head}) => [layer, head]);
}

function drawOneHead(figure, now) {
  const labels = now.tokens.map((_, i) => placed(now.tokens, i)), room = roomFor(), title = 26;
  const width = room > 900 ? room * 0.44 - 30 : room;
  const cell = cellFor(labels, labels, width, 40), {left, top, right} = axisSizes(labels, labels, cell);
  figure.begin(
      Math.max(170, left + cell * labels.length + right), title + top + cell * labels.length + 8,
      `${headName(state.layer, state.head)}: ${looksAtIn(now, state.layer, state.head, now.query)}`);
  figure.text(0, 10, headName(state.layer, state.head), {'font-weight': 700});
  drawMatrix(figure, 0, title, cell, {
    rows: labels,
    values: now.attention.of(state.layer, state.head),
    markRow: now.query,
    markColumn: now.antecedent,
    candidates: now.candidates,
    scale: scales.weight.within(now.attention.end)
  });
}
