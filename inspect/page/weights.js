// The parameter matrices of one head, and its circuits on the model's words.
const weightsView = {
  title: 'Weights',
  lead: () => 'The learned matrices of one head, the same for all sentences: its four matrices with their singular values, and its ' +
      'QK and OV circuits on the model’s words: which word attends to which, and which answer that raises. Choose another head.',
  make() {
    const matrices = new Figure('weights', () => matrixRows(), aboutModel);
    const circuits = ['QK', 'OV'].map((kind) => circuitPart(kind));
    const choose = el('div'), element = el('section');
    let names = [], drawnBy = null;
    const drawCircuits = function*(reader) {
      for (const part of circuits) {
        if (drawnBy === reader) part.draw(reader);
        yield;
      }
    };
    explore(matrices, (row, column, map) => {
      const name = names[matrices.maps.indexOf(map)];
      return name ?
          [`${name}[${row + 1}, ${column + 1}] `, el('b', {}, fixed(map.values[row * map.columns + column], 4))] :
          null;
    });
    return {
      figures: [matrices, ...circuits.map((part) => part.figure)],
      element,
      followsTraining: () => hasModels(state.run),
      sliderOnly: true,
      says: () => weightsSay(),
      draw() {
        const reader = readerOf(state.run);
        if (!reader) return element.replaceChildren(missingModel());
        names = drawMatrices(matrices, reader);
        renew(choose, chooseHead(runNow().heads));
        if (choose.parentNode !== element)
          element.replaceChildren(choose, matrices.element, el('div', {class: 'two'}, circuits.map((part) => part.element)));
        // After a move of the slider, redraw the circuits in slices.
        const isMoved = drawnBy !== null && drawnBy !== reader;
        drawnBy = reader;
        if (isMoved) {
          inSlices(drawCircuits(reader), () => {});
        } else {
          circuits.forEach((part) => part.draw(reader));
        }
      },
    };
  },
};

const aboutModel = () =>
    [...aboutNow({sentence: false, step: false}), `step ${readerOf(state.run).step}`];

function weightsSay() {
  const reader = readerOf(state.run);
  if (!reader) return [];
  const [Q, , , O] = matricesOf(reader, state.layer, state.head);
  return [`The saved model ${stepOf(reader)}: W_Q of ${headName(state.layer, state.head)} has norm ${
      fixed(Q.norm, 2)} and largest singular value ${fixed(Q.singular[0], 2)}; W_O ${fixed(O.norm, 2)} and ${
      fixed(O.singular[0], 2)}.`];
}

// Returns W_Q, W_K, W_V (d_model, d) and W_O (d, d_model) of one head: [{name, rows, columns, values, singular}].
function matricesOf(reader, layer, head) {
  const block = reader.blocks[layer], {d} = reader, singular = reader.singularValues[layer][head];
  const columns = ({weight, m}, n, h = reader.kvHead(head)) =>
      Float32Array.from({length: d * n}, (_, i) => weight[Math.floor(i / n) * m + h * n + i % n]);
  return [
    {name: 'W_Q', rows: d, columns: block.d_k, values: columns(block.W_Q, block.d_k, head)},
    {name: 'W_K', rows: d, columns: block.d_k, values: columns(block.W_K, block.d_k)},
    {name: 'W_V', rows: d, columns: block.d_v, values: columns(block.W_V, block.d_v)}, {
      name: 'W_O',
      rows: block.d_v,
      columns: d,
      values: block.W_O.weight.subarray(head * block.d_v * d, (head + 1) * block.d_v * d)
    }
  ].map((matrix) => ({...matrix, singular: singular[matrix.name], norm: Math.hypot(...singular[matrix.name])}));
}

function matrixRows() {
  const rows = [['matrix', 'row', 'column', 'value']];
  for (const {name, columns, values} of matricesOf(readerOf(state.run), state.layer, state.head)) {
    values.forEach((value, i) => rows.push([name, Math.floor(i / columns) + 1, i % columns + 1, value]));
  }
  return rows;
}

function drawMatrices(figure, reader) {
  const matrices = matricesOf(reader, state.layer, state.head), names = [];
  const room = roomFor(), gap = 22,
        cell = Math.min(8, (room - 3 * gap - 4) / total(matrices.map(({columns}) => columns)));
  const top = 80, tall = matrices[0].rows * cell, curves = Math.max(150, tall - matrices[3].rows * cell - 60);
  figure.begin(
      room, top + Math.max(tall, matrices[3].rows * cell + 60 + curves) + 50,
      matrices
          .map(
              ({name, norm, singular}) =>
                  `${name}: Frobenius norm ${fixed(norm)}, largest singular value ${fixed(singular[0])}`)
          .join('; '));
  let x = 2;
  for (const {name, rows, columns, values, singular, norm} of matrices) {
    const range = values.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-9);
    figure.text(x, 10, name, {'font-weight': 700, fill: matrixColour(name)});
    const fitting = (...texts) => texts.find((text) => textWidth(text, 12) < columns * cell + gap - 4) ?? texts.at(-1);
    figure.text(
        x, 29, fitting(`norm ${fixed(norm, 2)}`, `norm ${fixed(norm, 1)}`, fixed(norm, 1)),
        {'font-size': 12, fill: ink.muted, title: 'Frobenius norm'});
    figure.text(
        x, 46, fitting(`σ₁ ${fixed(singular[0], 2)}`, `σ₁ ${fixed(singular[0], 1)}`, fixed(singular[0], 1)),
        {'font-size': 12, fill: ink.muted, title: 'Largest singular value'});
    figure.text(
        x, 63, fitting(`colours to ${fixed(range, 2)}`, `to ${fixed(range, 2)}`, fixed(range, 2)),
        {'font-size': 12, fill: ink.muted, title: 'Largest entry, the end of the colours'});
    figure.heat(x, top, columns * cell, rows * cell, rows, columns, values, scales.signed.within(range));
    names.push(name);
    if (name === 'W_O')
      drawSingular(figure, x, top + rows * cell + 44, Math.min(columns * cell, room - x), curves, matrices);
    x += columns * cell + gap;
  }
  drawLegend(figure, 2, figure.height - 34, 170, scales.signed, {text: '0', ends: ['−', '+']});
  return names;
}

const matrixColour = (name) => ink[`head-${['W_Q', 'W_K', 'W_V', 'W_O'].indexOf(name)}`];

// Shows the singular values of each matrix in descending order.
function drawSingular(figure, x, y, width, height, matrices) {
  const largest = Math.max(...matrices.map(({singular}) => singular[0])), left = x + 34, low = y + height;
  figure.text(x, y - 16, `singular values${width > 240 ? ', the largest first' : ''}`, {'font-size': 13, fill: ink.muted});
  for (const value of [0, largest]) {
    const at = low - value / largest * height;
    figure.add('line', {x1: left, x2: x + width, y1: at, y2: at, stroke: ink.line});
    figure.text(left - 6, at, fixed(value, 1), {'text-anchor': 'end', 'font-size': 11, fill: ink.muted});
  }
  for (const {name, singular} of matrices) {
    const place = (value, i) =>
        [left + (singular.length > 1 ? i / (singular.length - 1) : 0) * (x + width - left - 6),
         low - value / largest * height];
    figure.add('polyline', {
      points: singular.map((value, i) => place(value, i).map((v) => v.toFixed(1)).join()).join(' '),
      fill: 'none',
      stroke: matrixColour(name),
      'stroke-width': 2
    });
    singular.forEach((value, i) => {
      const [cx, cy] = place(value, i);
      figure.add('circle', {cx, cy, r: 3, fill: matrixColour(name), title: `${name} σ${i + 1} = ${fixed(value)}`});
    });
  }
}
