// Every head's matrix: a row a layer, a column a head. A click enlarges one.
const headsView = {
  title: 'All heads',
  make() {
    const figure = new Figure('all heads', () => attentionRows(subject(), () => true));
    let order = [];  // head of each map
    const open = (l, h) => {
      if (l !== undefined) update({layer: l, head: h, tab: views.indexOf(matrixView)});
    };
    explore(figure, (row, column, map) => {
      const of = order[figure.maps.indexOf(map)];
      const {tokens} = subject();
      return of && [`${headName(...of)}: `, ...pairText(tokens, row, column, map.values[row * tokens.length + column])];
    }, (row, column, map) => open(...order[figure.maps.indexOf(map)] ?? []));
    return {
      followsTraining: true,
      figures: [figure],
      element:
          el('section', {},
             el('p', {class: 'muted'}, 'Each square is one head: rows look at columns. A click enlarges it.'),
             figure.element),
      draw() {
        const now = subject();
        if (!now.attention) return waiting(figure);
        const {heads, attention, tokens} = now, most = Math.max(...heads), room = roomFor(), left = 62,
                                 gap = most > 6 ? 6 : 14;
        const side = Math.max(24, Math.min(260, (room - left) / most - gap)), step = side + gap;
        figure.begin(
            left + most * step, 26 + heads.length * step + 40,
            heads
                .flatMap(
                    (count, l) =>
                        Array.from({length: count}, (_, h) => `${headName(l, h)}: ${looksAtIn(now, l, h, now.query)}`))
                .join('; '));
        order = [];
        for (let h = 0; h < most; ++h)
          figure.text(
              left + h * step + side / 2, 12, side > 70 ? `head ${h + 1}` : String(h + 1),
              {'text-anchor': 'middle', 'font-size': 13, fill: ink.muted});
        heads.forEach((count, l) => {
          const y = 26 + l * step;
          figure.text(
              left - 8, y + side / 2, `layer ${l + 1}`, {'text-anchor': 'end', 'font-size': 13, fill: ink.muted});
          for (let h = 0; h < count; ++h) {
            const x = left + h * step, chosen = l === state.layer && h === state.head;
            order.push([l, h]);
            figure.heat(x, y, side, side, tokens.length, tokens.length, attention.of(l, h), scales.weight);
            figure.add('rect', {
              x: x - 1,
              y: y - 1,
              width: side + 2,
              height: side + 2,
              rx: 2,
              fill: 'transparent',
              stroke: chosen ? ink.accent : ink.line,
              'stroke-width': chosen ? 2 : 1,
              class: 'head',
              tabindex: 0,
              role: 'button',
              'aria-label': `Enlarge ${headName(l, h)}`,
              onkeydown: (event) => {
                if (event.key === 'Enter') open(l, h);
              }
            });
          }
        });
        drawLegend(figure, left, 26 + heads.length * step + 6, Math.min(190, most * step), scales.weight);
      },
    };
  },
};
