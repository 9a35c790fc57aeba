// A sentence of one's own, read by the model that the page holds; heads and edges can be switched off.
const tryView = {
  title: 'Try it',
  make() {
    const figure = new Figure('your sentence', () => attentionRows(subject(), () => true));
    const input =
        el('textarea', {rows: 2, spellcheck: 'false', 'aria-label': 'Your sentence', oninput: () => retype()});
    const notice = el('p', {class: 'notice', role: 'alert'}), result = el('div'), element = el('section');
    let readFor = -1, off = new Set(), cut = new Set(), asked = -1;  // asked: the token chosen, or -1 for the usual one

    const retype = () => {
      cut = new Set();
      asked = -1;
      compute();
      update({});
    };
    const toggle = (set, name) => {
      if (!set.delete(name)) set.add(name);
      compute();
      update({});
    };
    const compute = () => {
      const reader = readerOf(state.run), text = reader.understand(input.value);
      notice.textContent = text.problem ??
          (text.asked || asked >= 0 ?
               '' :
               `The model was asked about ${
                   reader.queries.slice(0, 6).map(visible).join(
                       ', ')} only; it is asked about the last token here. Choose another below.`);
      notice.hidden = notice.textContent === '';
      result.classList.toggle('stale', Boolean(text.problem));
      input.dir = direction(text.tokens);
      if (text.problem) return;
      const query = asked >= 0 && asked < text.tokens.length ? asked : text.query;
      const cuts = [...cut].map((name) => name.split('.').map(Number));
      const change = {
        off: (l, h) => off.has(key(l, h)),
        cut: (l, h, i, j) => i === query && cuts.some(([a, b, c]) => a === l && b === h && c === j)
      };
      const reading = reader.read(text.tokens, query, change), whole = reader.read(text.tokens, query);
      const [best] = reader.best(reading.probabilities, 1);
      Object.assign(state, {
        sentence: OWN,
        token: query,
        own: {
          tokens: text.tokens,
          query,
          antecedent: -1,
          predicted: best.word,
          probability: best.probability,
          attention: reader.attention(text.tokens, reading),
          heads: runNow().heads,
          step: reader.step,
          reading,
          whole
        }
      });
    };
    explore(
        figure,
        (row, column, map) => {
          const [l, h] = rowsOf(runNow().heads)[row] ?? [];
          if (map.rows === 1) return null;
          return [
            `${headName(l, h)}: `,
            ...pairText(state.own.tokens, state.own.query, column, map.values[row * map.columns + column]),
            ' Click to cut or mend.'
          ];
        },
        (row, column, map) => {
          if (map.rows > 1 || rowsOf(runNow().heads).length === 1)
            toggle(cut, [...rowsOf(runNow().heads)[row], column].join('.'));
        });

    return {
      ownsSentence: true,
      figures: [figure],
      element,
      draw() {
        const reader = readerOf(state.run);
        if (!reader) return element.replaceChildren(missingModel());
        if (readFor !== state.run) {
          const {tokens, query} = runNow().sentences[Math.max(0, state.sentence)];
          readFor = state.run;
          off = new Set();
          input.value = tokens.join(reader.split === 'characters' ? '' : ' ');
          // Asked about what was asked there, where the text is split into the same tokens.
          asked = tokenize(input.value, reader.split).join(' ') === tokens.join(' ') ? query : -1;
          compute();
        }
        if (state.sentence !== OWN) compute();
        const {own} = state;
        if (own) {
          drawFromQuery(figure, own, off, cut);
          result.replaceChildren(
              el('p', {class: 'sentence', dir: direction(own.tokens)},
                 own.tokens.flatMap(
                     (token, i) =>
                         [button(
                              '',
                              () => {
                                asked = i;
                                cut = new Set();
                                compute();
                                update({});
                              },
                              {
                                class: `token ${i === own.query ? 'asked' : ''}`,
                                'aria-pressed': String(i === own.query),
                                'aria-label': `Ask about ${visible(token)}`
                              }),
                          ' '])),
              el('div', {class: 'two'}, answerTable(reader, own, off.size + cut.size > 0),
                 el('div', {}, el('p', {class: 'muted'}, 'Heads: switch one off, and what it would add becomes 0.'),
                    headButtons(
                        runNow().heads, (l, h) => !off.has(key(l, h)), (l, h) => toggle(off, key(l, h)),
                        'Heads switched on'))),
              el('h2', {}, 'Where ', word(own.tokens[own.query]), ' looks'),
              el('p', {class: 'muted'},
                 'Click a square to cut that edge: the token is no longer seen there, and the others share its weight.'),
              figure.element);
          result.querySelectorAll('button.token').forEach((node, i) => node.append(word(own.tokens[i])));
        }
        if (input.parentNode === null || element.firstChild === null) {
          element.replaceChildren(
              el('p', {class: 'muted'},
                 `The model of step ${reader.step} is in this page and knows ${
                     reader.vocabulary.length} words. Type; it answers as you do.`),
              input, notice,
              el('details', {class: 'as-table'}, el('summary', {}, 'Words that it knows'),
                 el('p', {}, reader.vocabulary.flatMap((one) => [word(one), ' ']))),
              result);
        }
        announce(
            own && !notice.textContent ? `Answer ${visible(own.predicted)}, ${fixed(own.probability)}` :
                                         notice.textContent);
      },
    };
  },
};

const rowsOf = (heads) => heads.flatMap((count, l) => Array.from({length: count}, (_, h) => [l, h]));

// The five most probable words, beside their probability in the whole model when something is off.
function answerTable(reader, {reading, whole}, changed) {
  const rows = reader.best(reading.probabilities, 5).map(({word: name, probability}) => {
    const before = whole.probabilities[reader.numbers.get(name)];
    return [
      word(name), bar(probability, fixed(probability)), ...(changed ? [bar(before, fixed(before), 'before')] : [])
    ];
  });
  return table(
      ['answer', 'probability', ...(changed ? ['in the whole model'] : [])], rows,
      {'aria-label': 'Answers', class: 'answers'});
}

function drawFromQuery(figure, {tokens, query, heads, attention}, off, cut) {
  const T = tokens.length, rows = rowsOf(heads), labels = rows.map(([l, h]) => headName(l, h)),
        columns = tokens.map((_, i) => placed(tokens, i));
  const values =
      Float32Array.from(rows.flatMap(([l, h]) => Array.from(attention.of(l, h).subarray(query * T, (query + 1) * T))));
  const cell = cellFor(labels, columns, roomFor(), 46), {left, top, right} = axisSizes(labels, columns, cell);
  figure.begin(
      left + cell * T + right, top + rows.length * cell + 46,
      rows.map(([l, h]) => `${headName(l, h)}: ${looksAtIn({tokens, attention}, l, h, query)}`).join('; '));
  drawMatrix(figure, 0, 0, cell, {rows: labels, columns, values});
  rows.forEach(([l, h], r) => {
    const y = top + r * cell;
    if (off.has(key(l, h)))
      figure.add(
          'line',
          {x1: 0, x2: left + T * cell, y1: y + cell / 2, y2: y + cell / 2, stroke: ink.mark, 'stroke-width': 3});
    tokens.forEach((_, j) => {
      if (!cut.has([l, h, j].join('.'))) return;
      const x = left + j * cell;
      figure.add('path', {
        d: `M${x + 4},${y + 4}L${x + cell - 5},${y + cell - 5}M${x + cell - 5},${y + 4}L${x + 4},${y + cell - 5}`,
        stroke: ink.mark,
        'stroke-width': 3
      });
    });
  });
  drawLegend(figure, left, top + rows.length * cell + 12, Math.min(190, cell * T), scales.weight);
}
