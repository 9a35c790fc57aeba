// The attention of one token in one head, number by number (Vaswani et al. 2017, equation 1).
const stepsView = {
  title: 'Calculation',
  isFor: ({model}) => Boolean(model),
  lead: () => t`One word’s attention in one head, number by number, from the top to the bottom and from left to right: the softmax of q · k / √d_k gives the weight of each v. Point at a square to read it.`,
  make() {
    let walked = null, byDimension = 0;
    const figure = new Figure(
        t`calculation`, () => walkRows(walked),
        () => [...aboutNow({step: false}), t`step ${walked.reader.step}`, t`from ${visible(walked.tokens[walked.i])}`]);
    const controls = el('div', {class: 'controls'}), element = el('section'), below = new TableBelow(t`All numbers`);
    let names = [];  // row names of each heat map
    explore(figure, (row, column, map) => {
      const name = names[figure.maps.indexOf(map)];
      return name ? [`${name(row)}[${column + 1}] `, el('b', {}, fixed(map.values[row * map.columns + column], 4))] : null;
    });
    return {
      figures: [figure], element, followsTraining: () => hasModels(state.run),
      says: () => walked && walkSays(walked),
      draw() {
        const reader = readerOf(state.run), now = subject();
        if (!reader) return element.replaceChildren(missingModel());
        const isRead = reader.readSoon(asRead(now), () => update({})) !== null;
        element.classList.toggle('stale', !isRead);
        if (!isRead) return walked || element.replaceChildren(el('p', {class: 'muted'}, t`The model is reading …`));
        const token = Math.min(state.token, now.tokens.length - 1);
        walked = {...walk(reader, asRead(now), token), tokens: now.tokens};
        inTurn('walk', () => { names = drawWalk(figure, walked, byDimension === 1); });
        below.draw(() => table(...tableOf(walked)));
        renew(
            controls, chooseHead(runNow().heads),
            select(t`Token`, now.tokens.map((_, i) => placed(now.tokens, i)), token, (next) => update({token: next})),
            select(t`Left squares`, ['k', t`q × k: what adds up to q · k`], byDimension, (next) => {
              byDimension = next;
              update({});
            }), ...(roomFor() < walkWidth ? [el('p', {class: 'note muted'}, t`The picture continues to the right: scroll it sideways.`)] : []));
        if (controls.parentNode !== element) element.replaceChildren(controls, el('div', {class: 'scroll'}, figure.element), below.element);
      },
    };
  },
};

function walkSays({reader, tokens, i, layer, head, parts}) {
  const best = parts.reduce((most, {weight}, j) => weight > parts[most].weight ? j : most, 0);
  return t`In ${modelName(reader)}, the largest score of ${el('b', {}, placed(tokens, i))} in ${headName(layer, head)} is with ${
      el('b', {}, placed(tokens, best))}: ${fixed(parts[best].scaled, 2)}, weight ${fixed(parts[best].weight)}.`;
}

const missingModel = () => el('p', {class: 'notice'}, said(runNow().model_missing) ?? t`This part of the page is still loading …`);

// Returns the computation of head state.head in layer state.layer for token i.
function walk(reader, text, i) {
  const {layers} = reader.readWhole(asRead(text)), {tokens} = text, {layer} = state, head = Math.min(state.head, reader.H - 1);
  const block = reader.blocks[layer], {X} = layers[layer], {Q, K, V, scores, weights, output} = layers[layer].heads[head];
  const {d} = reader, {d_k, d_v} = block, T = tokens.length, row = (x, t, n) => x.slice(t * n, (t + 1) * n);
  return {
    reader, tokens, i, layer, head, d_k, d_v, x: row(X, i, d), q: row(Q, i, d_k), output: row(output, i, d_v),
    parts: tokens.map((_, j) => ({
      k: row(K, j, d_k), product: scores[i * T + j] / block.scale, scaled: scores[i * T + j], weight: weights[i * T + j],
      v: row(V, j, d_v), weighted: row(V, j, d_v).map((v) => v * weights[i * T + j])
    }))
  };
}

const colourRange = (range) => t`colours −${fixed(range, 2)} to ${fixed(range, 2)}`;

const walkWidth = 880;  // width of a picture with all columns, in pixels

// Returns the rows of the picture: the tokens, or in a long text those with the largest weights and the sum of the others.
function walkLines({tokens, parts, d_k, d_v}) {
  const all = parts.map((part, j) => ({...part, j, label: placed(tokens, j)})), most = 24;
  if (all.length <= 40) return all;
  const kept = new Set([...all].sort((a, b) => b.weight - a.weight).slice(0, most)), others = all.filter((one) => !kept.has(one));
  return [...kept].sort((a, b) => a.j - b.j).concat({
    label: t`${others.length} others`, weight: total(others.map(({weight}) => weight)), weighted: others.map(({weighted}) => weighted).reduce(plus),
    k: new Float64Array(d_k), v: new Float64Array(d_v)
  });
}

// Draws the computation and returns the row names of each heat map.
function drawWalk(figure, walked, byDimension) {
  const {tokens, i, layer, head, d_k, x, q, output} = walked, parts = walkLines(walked), labels = parts.map(({label}) => label), row = 30, size = 15;
  const left = Math.min(140, Math.max(60, ...labels.map((text) => textWidth(text, size)))) + 14, room = Math.max(walkWidth, roomFor());
  const strip = (room - left - 3 * 74 - 24) / 3, xs = {k: left, product: left + strip + 44, scaled: left + strip + 118, weight: left + strip + 186};
  xs.v = xs.weight + 50;
  xs.weighted = xs.v + strip + 12;
  const top = 150, bottom = top + parts.length * row, names = [];
  figure.begin(
      room, bottom + 84,
      `${headName(layer, head)}, ${visible(tokens[i])}: ` + parts.map(({label, weight}) => `${label} ${fixed(weight, 2)}`).join(', '));
  const largest = (list) => Math.max(1e-9, ...list.flatMap((values) => Array.from(values, Math.abs)));
  const leftSquares = parts.map(({k}) => byDimension ? k.map((value, c) => value * q[c]) : k);
  const leftName = byDimension ? 'q × k' : 'k';
  const ranges = {x: largest([x]), q: largest([q]), k: largest(leftSquares), v: largest(parts.map(({v}) => v))};
  const draw = (name, values, px, py, width, height, range) => {
    names.push(() => name);
    figure.heat(px, py, width, height, 1, values.length, values, scales.signed.within(range));
  };
  // One row per token.
  const drawRows = (name, lists, px, range) => {
    const columns = lists[0].length, values = new Float64Array(lists.length * columns);
    lists.forEach((list, j) => values.set(list, j * columns));
    names.push((j) => t`${name} of ${labels[j]} `);
    figure.heat(px, top, strip, lists.length * row, lists.length, columns, values, scales.signed.within(range));
  };
  const note = (px, py, text, attributes) => figure.text(px, py, text, {'font-size': 14, fill: ink.muted, ...attributes});
  figure.text(left - 10, 26, placed(tokens, i), {'text-anchor': 'end', 'font-weight': 700, 'font-size': size, fill: ink.accent});
  draw('x', x, left, 14, room - left - 4, 24, ranges.x);
  note(left, 50, t`x: what the layer reads, normalised: ${x.length} numbers; ${colourRange(ranges.x)}`);
  draw('q', q, left, 76, strip, 24, ranges.q);
  note(left, 112, t`q = x W_Q; ${colourRange(ranges.q)}`);
  note(xs.k, top - 12, t`${leftName}; ${colourRange(ranges.k)}`);
  note(xs.product, top - 12, 'q · k', {'text-anchor': 'middle'});
  note(xs.scaled, top - 12, `/ √${d_k}`, {'text-anchor': 'middle'});
  note(xs.weight, top - 12, 'softmax', {'text-anchor': 'middle'});
  note(xs.v, top - 12, t`v; ${colourRange(ranges.v)}`);
  note(xs.weighted, top - 12, t`weight × v`);
  drawRows(leftName, leftSquares, xs.k, ranges.k);
  drawRows('v', parts.map(({v}) => v), xs.v, ranges.v);
  drawRows(t`weight × v`, parts.map(({weighted}) => weighted), xs.weighted, ranges.v);
  parts.forEach(({j, label, product, scaled, weight}, n) => {
    const y = top + n * row, middle = y + row / 2;
    figure.text(left - 10, middle, fitted(label, size, left - 13), {'text-anchor': 'end', 'font-size': size, fill: j === i ? ink.accent : ink.text});
    figure.text(xs.product + 26, middle, product === undefined ? '' : fixed(product, 2), {'text-anchor': 'end', 'font-size': size - 1});
    figure.text(xs.scaled + 26, middle, product === undefined ? '' : fixed(scaled, 2), {'text-anchor': 'end', 'font-size': size - 1});
    figure.add('rect', {x: xs.weight - 28, y, width: 60, height: row - 2, fill: scales.weight.colour(weight)});
    figure.text(xs.weight + 2, middle, fixed(weight), {'text-anchor': 'middle', 'font-size': size - 1, fill: scales.weight.text(weight)});
  });
  figure.add('line', {x1: xs.weighted, x2: xs.weighted + strip, y1: bottom + 4, y2: bottom + 4, stroke: ink.text});
  draw('output', output, xs.weighted, bottom + 10, strip, 24, ranges.v);
  note(xs.weighted - 8, bottom + 22, t`output = sum of the above`, {'text-anchor': 'end'});
  drawLegend(figure, left, bottom + 50, 170, scales.signed, {text: '0', ends: [t`negative`, t`positive`]});
  return names;
}

function tableOf(walked) {
  const [head, ...rows] = walkRows(walked);
  return [head.map(said), rows.map((row) => row.map((cell) => typeof cell === 'number' ? fixed(cell) : visible(cell))), {'aria-label': t`All numbers of this head`}];
}

function walkRows({tokens, d_k, d_v, q, output, parts}) {
  const count = (name, n) => Array.from({length: n}, (_, c) => `${name}${c + 1}`);
  return [
    ['token', 'q k', 'scaled', 'weight', ...count('k', d_k), ...count('v', d_v)], ['q', '', '', '', ...q, ...Array(d_v).fill('')],
    ...parts.map(({k, product, scaled, weight, v}, j) => [placed(tokens, j), product, scaled, weight, ...k, ...v]),
    [t`output`, '', '', '', ...Array(d_k).fill(''), ...output]
  ];
}
