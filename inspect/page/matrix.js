// T x T: each row a token that looks, each column one that is looked at.
const matrixView = {
  title: 'Matrix',
  make() {
    const figure =
        new Figure('matrix', () => attentionRows(subject(), (l, h) => l === state.layer && h === state.head));
    const choose = el('div'), below = new TableBelow('As a table');
    explore(
        figure,
        (row, column, map) =>
            map.rows === 1 ? null : pairText(subject().tokens, row, column, map.values[row * map.columns + column]));
    return {
      followsTraining: true,
      figures: [figure],
      element: el('section', {}, choose, figure.element, below.element),
      draw() {
        const now = subject();
        choose.replaceChildren(chooseHead(now.heads));
        if (!now.attention) return waiting(figure);
        const labels = now.tokens.map((_, i) => placed(now.tokens, i)),
              values = now.attention.of(state.layer, state.head);
        const room = roomFor(), cell = cellFor(labels, labels, room, 46),
              {left, top, right} = axisSizes(labels, labels, cell);
        const side = cell * labels.length;
        figure.begin(
            left + side + right, top + side + 76,
            `Attention of ${headName(state.layer, state.head)}, ${labels.length} tokens by ${labels.length}. ${
                looksAtIn(now, state.layer, state.head, now.query)}`);
        figure.text(0, 14, headName(state.layer, state.head), {'font-weight': 700, fill: ink.muted});
        drawMatrix(figure, 0, 24, cell, {rows: labels, values, markRow: now.query, markColumn: now.antecedent});
        drawLegend(
            figure, left, 24 + top + side + 12, Math.min(220, side), scales.weight, {text: 'row looks at column'});
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
    headButtons(heads, (l, h) => l === state.layer && h === state.head, (layer, head) => update({layer, head}), 'Head');

function looksAtIn({tokens, attention}, layer, head, i) {
  const T = tokens.length, row = attention.of(layer, head).subarray(i * T, (i + 1) * T),
        best = row.indexOf(Math.max(...row));
  return `${visible(tokens[i])} looks at ${visible(tokens[best])} ${fixed(row[best], 2)}`;
}
