// A T x T matrix: rows are query tokens, columns are key tokens.
const matrixView = {
  title: 'Matrix',
  lead: () => 'Each row shows how a word (at the left) divides its attention among all words (at the top): it adds up to 1. ' +
      'Point at a square to read it, press it for its whole row; the word asked about has a frame.',
  make() {
    const figure = new Figure(
        'matrix', () => attentionRows(subject(), (l, h) => l === state.layer && h === state.head), aboutNow);
    const choose = el('div'), beside = el('div'), below = new TableBelow('As a table');
    explore(
        figure,
        (row, column, map) =>
            map.ramp ? null : pairText(subject().tokens, row, column, map.values[row * map.columns + column]),
        (row, column, map) => map.ramp || update({token: row}));
    return {
      followsTraining: () => true,
      sliderOnly: true,
      figures: [figure],
      element: el('section', {}, choose, el('div', {class: 'beside'}, figure.element, beside), below.element),
      says: () => saysOf(subject()),
      draw() {
        const now = subject(), token = Math.min(state.token, now.tokens.length - 1);
        renew(choose, chooseHead(now.heads));
        if (!now.attention) return waiting(figure);
        const labels = now.tokens.map((_, i) => placed(now.tokens, i)),
              values = now.attention.of(state.layer, state.head);
        const room = roomFor(), width = room > 900 ? room - 330 : room;
        const most = Math.max(26, Math.min(46, (heightFor() - 60) / labels.length));
        const cell = cellFor(labels, labels, width, most), {left, top, right} = axisSizes(labels, labels, cell);
        const side = cell * labels.length, scale = scales.weight.within(now.attention.end);
        figure.begin(
            Math.max(left + side + right, left + 170), top + side + 52,
            `Attention of ${headName(state.layer, state.head)}, ${labels.length} tokens by ${labels.length}. ${
                looksAtIn(now, state.layer, state.head, now.query)}`);
        drawMatrix(figure, 0, 0, cell, {rows: labels, values, markRow: now.query, markColumn: now.antecedent, candidates: now.candidates, scale});
        drawLegend(
            figure, left, top + side + 12, Math.max(150, Math.min(220, side)), scale,
            {text: 'weight, row to column'});
        renew(beside, rowList(now, state.layer, state.head, token));
        below.draw(
            () => table(
                ['', ...labels],
                labels.map(
                    (label, i) =>
                        [label,
                         ...Array.from(values.subarray(i * labels.length, (i + 1) * labels.length), (w) => fixed(w))]),
                {'aria-label': `Attention of ${headName(state.layer, state.head)}`}));
      },
    };
  },
};

const pairText =
    (tokens, i, j,
     weight) => [word(placed(tokens, i)), ' → ', word(placed(tokens, j)), el('b', {}, ` ${fixed(weight)}`)];

const chooseHead = (heads) =>
    headButtons(heads, (l, h) => l === state.layer && h === state.head, chooseOneHead, 'Head', headColour);

// Lists the row of one token, in descending order of weight.
function rowList({tokens, attention}, layer, head, i) {
  const T = tokens.length, row = Array.from(attention.of(layer, head).subarray(i * T, (i + 1) * T)), most = 10;
  const order = row.map((weight, j) => ({weight, j})).sort((a, b) => b.weight - a.weight);
  const others = order.slice(most), rest = total(others.map(({weight}) => weight));
  return el(
      'div', {class: 'row-list'}, el('h2', {}, 'From ', word(placed(tokens, i)), `, in ${headName(layer, head)}`),
      table(
          ['to', 'weight'],
          [
            ...order.slice(0, most).map(({weight, j}) => [word(placed(tokens, j)), bar(weight, fixed(weight))]),
            ...(others.length ? [[others.length === 1 ? 'one other' : `${others.length} others`, bar(rest, fixed(rest), 'before')]] : [])
          ],
          {'aria-label': `Attention from ${visible(tokens[i])}`}));
}

function looksAtIn({tokens, attention}, layer, head, i) {
  const T = tokens.length, row = attention.of(layer, head).subarray(i * T, (i + 1) * T),
        best = row.indexOf(Math.max(...row));
  return `${visible(tokens[i])} → ${visible(tokens[best])} ${fixed(row[best], 2)}`;
}
