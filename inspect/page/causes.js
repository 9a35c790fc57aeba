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
          content.push(...headline(causes), effects.element, below.element);
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

function headline({sentences, accuracy, probability, chance, pointing, left_out}) {
  const found = pointing ? ` ${headName(pointing.layer, pointing.head)} points: its mean weight on the antecedent is ${
                               fixed(pointing.weight, 2)}.` :
                           '';
  return [
    el('h2', {}, 'What breaks the answer?'),
    el('p', {},
       `${sentences.toLocaleString('en')} held-out sentences, ${
           percent(accuracy)} right, mean probability of the answer ${fixed(probability)}` +
           (Number.isFinite(chance) ? `, chance ${percent(chance)}.` : '.') + found),
    ...(left_out ?? []).map((text) => el('p', {class: 'muted'}, text))
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

// A line an intervention: attention weight, mean change of the answer's probability with its spread, accuracy.
function drawEffects(figure, {rows, accuracy, chance, pointing}) {
  const room = Math.max(640, roomFor()), row = 26,
        groups = causeGroups.map(([what, title]) => ({title, rows: rows.filter((one) => one.what === what)}))
                     .filter(({rows}) => rows.length);
  const label = 250, weightAt = label + 40, zero = label + 80 + (room - label - 250) * 0.92, from = label + 80,
        accuracyAt = room - 130, width = zero - from;
  figure.begin(
      room, 34 + groups.length * 36 + total(groups.map(({rows}) => rows.length)) * row + 10,
      rows.map((one) => `${one.what} ${causeName(one)}: accuracy ${percent(one.accuracy)}`).join('; '));
  const small = {'font-size': 12, fill: ink.muted};
  figure.text(weightAt, 10, 'weight', {...small, 'text-anchor': 'middle'});
  figure.text(from, 10, 'change of the answer’s probability, ± spread', small);
  figure.text(accuracyAt + 60, 10, 'accuracy after', {...small, 'text-anchor': 'middle'});
  let y = 34;
  for (const group of groups) {
    figure.text(0, y + 8, group.title, {'font-weight': 700, 'font-size': 15});
    y += 36 - 8;
    for (const one of group.rows) {
      const middle = y + row / 2, points = pointing && one.layer === pointing.layer && one.head === pointing.head;
      figure.text(12, middle, causeName(one), {'font-size': 14, fill: points ? ink.accent : ink.text});
      if (Number.isFinite(one.weight)) {
        figure.add(
            'rect', {x: weightAt - 26, y: y + 1, width: 52, height: row - 3, fill: scales.weight.colour(one.weight)});
        figure.text(
            weightAt, middle, fixed(one.weight, 2),
            {'text-anchor': 'middle', 'font-size': 13, fill: scales.weight.text(one.weight)});
      }
      const at = (value) => zero + Math.max(-1, Math.min(0.08, value)) * width, x = at(one.probability);
      figure.add('rect', {
        x: Math.min(x, zero),
        y: y + 5,
        width: Math.max(1, Math.abs(x - zero)),
        height: row - 11,
        fill: one.probability < 0 ? ink.orange : ink['head-0']
      });
      figure.add('path', {
        d: `M${at(one.probability - one.spread)},${middle}H${at(one.probability + one.spread)}`,
        stroke: ink.text,
        'stroke-opacity': 0.6
      });
      const inside = zero - x > 60;
      figure.text(
          inside ? x + 6 : Math.min(x, at(one.probability - one.spread)) - 6, middle, signed(one.probability, 2),
          {'text-anchor': inside ? 'start' : 'end', 'font-size': 12, fill: inside ? '#10151c' : ink.text});
      figure.text(
          accuracyAt + 60, middle,
          percent(one.accuracy) + (Number.isFinite(one.flipped) ? `, flips ${percent(one.flipped)}` : ''), {
            'text-anchor': 'middle',
            'font-size': 13,
            'font-weight': one.accuracy <= (chance || 0) || accuracy - one.accuracy > 0.2 ? 700 : 400
          });
      y += row;
    }
    y += 8;
  }
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
  drawMatrix(figure, 0, 0, cell, {rows: labels, columns, values, scale: wider(scales.signed, range)});
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
          effect: best.probability - cut.probabilities[answer]
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
  const top = Math.max(0.1, ...edges.map(({effect}) => effect)),
        bottom = Math.min(0, ...edges.map(({effect}) => effect));
  const place =
      ({weight,
        effect}) => [left + weight * (width - left - 16), low - (effect - bottom) / (top - bottom) * (low - 20)];
  const here = rankCorrelation(edges.map(({weight}) => weight), edges.map(({effect}) => effect));
  figure.begin(width, height, `${edges.length} edges of the last layer; rank correlation ${fixed(here, 2)}`);
  for (const value of [0, 0.5, 1])
    figure.text(
        place({weight: value, effect: 0})[0], low + 14, String(value),
        {'font-size': 11, fill: ink.muted, 'text-anchor': 'middle'});
  for (const value of bottom < -0.05 * top ? [bottom, 0, top] : [0, top]) {
    const [, y] = place({weight: 0, effect: value});
    figure.add('line', {x1: left, x2: width - 16, y1: y, y2: y, stroke: ink.line});
    figure.text(left - 6, y, fixed(value, 2), {'text-anchor': 'end', 'font-size': 11, fill: ink.muted});
  }
  figure.text(left + (width - left) / 2, low + 34, 'attention weight', {'text-anchor': 'middle', 'font-size': 13});
  figure.text(left, 8, 'fall of the answer’s probability when cut', {'font-size': 13});
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
