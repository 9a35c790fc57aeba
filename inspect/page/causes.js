// Is the attention the cause of the answer? What inspect/causes.cpp found on held-out sentences, and what can be cut here.
const causesView = {
  title: 'Why',
  make() {
    const effects = new Figure('causes', () => causeRows(runNow().causes));
    const parts = new Figure('attribution', () => attributionRows(runNow().causes.attribution[state.sentence]));
    const scatter = new Figure(
        'weight and effect',
        () => [
            ['layer', 'head', 'token', 'weight', 'effect'],
            ...cutEdges(readerOf(state.run))
                .map(({layer, head, token, weight, effect}) => [layer + 1, head + 1, token, weight, effect])]);
    const below = new TableBelow('As a table'), element = el('section');
    explore(parts, (row, column, map) => map.rows === 1 ? null : [signed(map.values[row * map.columns + column])]);
    return {
      figures: [effects, parts, scatter],
      element,
      draw() {
        const {causes, causes_missing} = runNow(), reader = readerOf(state.run), content = [];
        if (causes) {
          content.push(...headline(causes), el('div', {class: 'scroll'}, effects.element), below.element);
          drawEffects(effects, causes);
          below.draw(() => {
            const [head, ...rows] = causeRows(causes);
            return table(head, rows, {'aria-label': 'Causes'});
          });
          content.push(...attributionPart(parts, causes));
        } else {
          content.push(el('p', {class: 'notice'}, causes_missing ?? 'The run holds no held-out examples to ask.'));
        }
        if (reader) {
          content.push(
              el('h2', {}, 'Does a large weight mean a large effect?'), ...drawScatter(scatter, reader, causes),
              scatter.element);
        }
        element.replaceChildren(...content);
      },
    };
  },
};

const causeGroups = [
  ['head zero', 'Switch a head off'],
  ['head mean', 'Put its mean in a head’s place'],
  ['edge', 'Cut one edge'],
  ['edge all heads', 'Cut one edge in every head of a layer'],
  ['only edge', 'Leave one edge only'],
  ['patch head', 'Put the twin’s output in a head’s place'],
  ['patch layer', 'Put the twin’s output in every head of a layer'],
];

function headline({sentences, accuracy, probability, verdict, left_out}) {
  return [
    el('h2', {}, 'Is the attention the cause?'),
    el('p', {},
       `${sentences.toLocaleString('en')} held-out sentences, ${
           percent(accuracy)} right, mean probability of the answer ${fixed(probability)}.`),
    el('p', {class: 'verdict'}, verdict.join('\n')), ...left_out.map((text) => el('p', {class: 'muted'}, text))
  ];
}

function causeName({what, layer, head, from, to}) {
  const where =
      head === null || head === undefined || head < 0 ? `layer ${layer + 1}, all heads` : headName(layer, head);
  return from ? `${where}: ${from} → ${to === 'rest' ? 'each other place' : to}` : where;
}

function causeRows({rows}) {
  return [
    ['what', 'layer', 'head', 'from', 'to', 'weight', 'change of probability', 'spread', 'accuracy after', 'flipped'],
    ...rows.map(
        ({what, layer, head, from, to, weight, probability, spread, accuracy, flipped}) =>
            [what, layer + 1, head === null || head < 0 ? 'all' : head + 1, from ?? '', to ?? '',
             ...[weight, probability, spread, accuracy, flipped].map((x) => Number.isFinite(x) ? x.toFixed(4) : '')])
  ];
}

// Rows of one group that are worth a line each, and how many others there are: edges between other tokens than the query
// that change next to nothing.
function worthShowing(rows) {
  const shown = rows.filter(({from, probability}) => !from || from === 'query' || Math.abs(probability) >= 0.01);
  return {shown, others: rows.length - shown.length};
}

// A line an intervention: attention weight, mean change of the answer's probability with its spread, accuracy.
function drawEffects(figure, {rows, accuracy, pointing}) {
  const groups = causeGroups.map(([what, title]) => ({title, ...worthShowing(rows.filter((one) => one.what === what))}))
                     .filter(({shown}) => shown.length);
  const room = Math.max(760, roomFor()), row = 26, label = 300, weightAt = label + 28, from = label + 70,
        zero = room - 340, changeAt = room - 204, accuracyAt = room - 96;
  const heights = groups.map(({shown, others}) => 40 + (shown.length + (others ? 1 : 0)) * row);
  figure.begin(
      room, 24 + total(heights),
      rows.map((one) => `${one.what} ${causeName(one)}: accuracy ${percent(one.accuracy)}`).join('; '));
  const small = {'font-size': 12, fill: ink.muted, 'text-anchor': 'middle'},
        right = {'text-anchor': 'end', 'font-size': 14};
  figure.text(weightAt, 10, 'weight', small);
  figure.text((from + zero) / 2, 10, 'change of the answer’s probability', small);
  figure.text(changeAt - 60, 10, 'mean ± deviation', small);
  figure.text(accuracyAt - 24, 10, 'right after', small);
  figure.text(room - 36, 10, 'twin’s answer', small);
  const at = (value) => zero + Math.max(-1, Math.min(0.06, value)) * (zero - from);
  let y = 24;
  groups.forEach(({title, shown, others}, g) => {
    figure.text(0, y + 22, title, {'font-weight': 700, 'font-size': 15});
    shown.forEach((one, i) => {
      const middle = y + 36 + (i + 0.5) * row, x = at(one.probability);
      const points = pointing && one.layer === pointing.layer && one.head === pointing.head;
      figure.text(12, middle, causeName(one), {'font-size': 14, fill: points ? ink.accent : ink.text});
      if (Number.isFinite(one.weight)) {
        figure.add(
            'rect', {x: weightAt - 26, y: middle - 11, width: 52, height: 22, fill: scales.weight.colour(one.weight)});
        figure.text(
            weightAt, middle, fixed(one.weight, 2),
            {'text-anchor': 'middle', 'font-size': 13, fill: scales.weight.text(one.weight)});
      }
      const fill = one.probability < 0 ? ink.orange : ink['head-0'];
      figure.add(
          'rect', {x: Math.min(x, zero), y: middle - 7, width: Math.max(1, Math.abs(x - zero)), height: 14, fill});
      const ends = [one.probability - one.spread, one.probability + one.spread].map(at);
      figure.add('path', {d: `M${ends[0]},${middle}H${ends[1]}`, stroke: ink.text, 'stroke-opacity': 0.7});
      const strong = accuracy - one.accuracy > 0.05 ? 700 : 400;
      figure.text(changeAt, middle, `${signed(one.probability, 2)} ± ${fixed(one.spread, 2)}`, right);
      figure.text(accuracyAt, middle, percent(one.accuracy), {...right, 'font-weight': strong});
      if (Number.isFinite(one.flipped))
        figure.text(room - 4, middle, percent(one.flipped), {...right, 'font-weight': strong});
    });
    if (others) {
      figure.text(
          12, y + 36 + (shown.length + 0.5) * row, `${others} edges between other tokens: less than 0.01 each`,
          {'font-size': 13, fill: ink.muted});
    }
    y += heights[g];
  });
  figure.add('line', {x1: zero, x2: zero, y1: 26, y2: y, stroke: ink.muted});
}

// The answer's logit as a sum over heads and tokens, for the sentence that is chosen.
function attributionPart(figure, {attribution}) {
  const one = state.sentence === OWN ? null : attribution?.[state.sentence];
  if (!one) return [];
  const {tokens} = runNow().sentences[state.sentence], T = tokens.length,
        heads = [...new Set(one.terms.map(({head}) => head))].sort((a, b) => a - b);
  const layer = one.terms[0].layer ?? runNow().heads.length - 1, values = new Float32Array(heads.length * T);
  for (const {head, source, logit} of one.terms) values[heads.indexOf(head) * T + source] = logit;
  const range = values.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-9),
        labels = heads.map((head) => headName(layer, head));
  const columns = tokens.map((_, i) => placed(tokens, i)), cell = cellFor(labels, columns, roomFor(), 52),
        {left, top, right} = axisSizes(labels, columns, cell);
  const sum = total(one.terms.map(({logit}) => logit));
  figure.begin(
      left + cell * T + right, top + heads.length * cell + 46,
      one.terms.filter(({logit}) => Math.abs(logit) > range / 4)
          .map(
              ({head, source, logit}) => `${headName(layer, head)} from ${visible(tokens[source])} ${signed(logit, 2)}`)
          .join('; '));
  drawMatrix(figure, 0, 0, cell, {rows: labels, columns, values, scale: scales.signed.within(range)});
  drawLegend(
      figure, left, top + heads.length * cell + 12, Math.min(190, cell * T), scales.signed,
      {text: '0', ends: [`−${fixed(range, 1)}`, `+${fixed(range, 1)}`]});
  return [
    el('h2', {}, 'Who wrote ', word(one.answer), '?'),
    el('p', {},
       `The squares add up to ${fixed(sum)}` + one.rest.map(({what, logit}) => `, ${what} ${signed(logit)}`).join('') +
           ': together the logit ',
       el('b', {}, fixed(one.logit)), '. Each is what a head of the last layer brought from one token.'),
    figure.element
  ];
}

function attributionRows({terms, rest}) {
  return [
    ['head', 'from', 'logit'], ...terms.map(({head, source, logit}) => [head + 1, source + 1, logit]),
    ...rest.map(({what, logit}) => [what, '', logit])
  ];
}

// Every edge from the query in the last layer, cut in turn in the watched sentences: {layer, head, token, weight, effect}.
const edgeCache = new Map();
function cutEdges(reader) {
  if (edgeCache.has(reader)) return edgeCache.get(reader);
  const layer = reader.blocks.length - 1, edges = [], most = 400;
  for (const {tokens, query} of runNow().sentences) {
    const T = tokens.length;
    if (edges.length + T * reader.H > most && edges.length > 0) break;
    const whole = reader.read(tokens, query), [best] = reader.best(whole.probabilities, 1),
          answer = reader.numbers.get(best.word);
    for (let head = 0; head < reader.H && edges.length < most; ++head) {
      for (let token = 0; token < T; ++token) {
        const cut =
            reader.read(tokens, query, {cut: (l, h, i, j) => l === layer && h === head && i === query && j === token});
        edges.push({
          layer,
          head,
          token: tokens[token],
          weight: whole.layers[layer].heads[head].weights[query * T + token],
          effect: Math.abs(best.probability - cut.probabilities[answer])
        });
      }
    }
  }
  edgeCache.set(reader, edges);
  return edges;
}

// Spearman's rank correlation; ties share their mean rank.
function rankCorrelation(a, b) {
  const ranks = (x) => x.map((value) => (total(x.map((other) => other < value ? 1 : other === value ? 0.5 : 0))));
  const [p, q] = [ranks(a), ranks(b)], mean = (x) => total(x) / x.length;
  const [mp, mq] = [mean(p), mean(q)], cross = total(p.map((value, i) => (value - mp) * (q[i] - mq)));
  return cross / Math.sqrt(total(p.map((value) => (value - mp) ** 2)) * total(q.map((value) => (value - mq) ** 2)));
}

function drawScatter(figure, reader, causes) {
  const edges = cutEdges(reader), width = Math.min(roomFor(), 560), height = 330, left = 56, low = height - 46;
  const top = Math.max(0.1, ...edges.map(({effect}) => effect));
  const place = ({weight, effect}) => [left + weight * (width - left - 16), low - effect / top * (low - 20)];
  const here = rankCorrelation(edges.map(({weight}) => weight), edges.map(({effect}) => effect));
  figure.begin(width, height, `${edges.length} edges of the last layer; rank correlation ${fixed(here, 2)}`);
  for (const value of [0, 0.5, 1])
    figure.text(
        place({weight: value, effect: 0})[0], low + 14, String(value),
        {'font-size': 11, fill: ink.muted, 'text-anchor': 'middle'});
  for (const value of [0, top]) {
    const [, y] = place({weight: 0, effect: value});
    figure.add('line', {x1: left, x2: width - 16, y1: y, y2: y, stroke: ink.line});
    figure.text(left - 6, y, fixed(value, 2), {'text-anchor': 'end', 'font-size': 11, fill: ink.muted});
  }
  figure.text(left + (width - left) / 2, low + 34, 'attention weight', {'text-anchor': 'middle', 'font-size': 13});
  figure.text(left, 8, 'change of the answer’s probability when cut', {'font-size': 13});
  for (const edge of edges) {
    const [cx, cy] = place(edge);
    figure.add(
        'circle', {cx, cy, r: 5, fill: ink[`head-${edge.head % 8}`], 'fill-opacity': 0.65},
        svg('title', {},
            `${headName(edge.layer, edge.head)} → ${visible(edge.token)}: weight ${fixed(edge.weight)}, effect ${
                fixed(edge.effect)}`));
  }
  const all = causes?.rank_correlation;
  return [el(
      'p', {},
      `${edges.length} edges from the word asked about in the last layer, each cut alone in the watched sentences: rank correlation ${
          fixed(here, 2)}.` +
          (all ? ` Over the held-out sentences: ${fixed(all.last_layer, 2)} in the last layer, ${
                     fixed(all.all_layers, 2)} in all layers.` :
                 ''))];
}
