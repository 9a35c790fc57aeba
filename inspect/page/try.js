// The user's own sentence, read by the model in the page. Heads and edges can be switched off. Other views show this sentence
// only on request, and without these changes.
const trial = {
  now: null  // {tokens, query, candidates, antecedent, predicted, probability, attention, heads, step, reading, whole}
};

const tryView = {
  title: 'Try it',
  lead: () => !runNow().model ? '' : 'The trained model is in this page. Type a sentence of its words and it answers as you type; ask about ' +
      'another word; switch heads off; press a square to cut an edge. Changes in “Try it” do not affect the other views.',
  make() {
    const figure = new Figure('tried', () => attentionRows(trial.now, () => true), () => [
      runName(state.run), `step ${trial.now.step}`, shortened(trial.now.tokens), ...changesText()
    ]);
    const input =
        el('textarea', {rows: 2, spellcheck: 'false', 'aria-label': 'Your sentence', oninput: () => retype()});
    const notice = el('p', {class: 'notice', role: 'alert'}), result = el('div'), element = el('section');
    const marks = el('p', {class: 'changed'}), words = el('p'), asking = el('p', {class: 'sentence'});
    const answers = el('div', {class: 'two'}), looks = el('h2');
    result.append(
        asking, marks, answers, looks,
        el('p', {class: 'muted'},
           'Press a square to cut that edge: the others share its weight.'),
        figure.element);
    let off = new Set(), cut = new Set(), asked = -1;  // asked: index of the selected token, or -1 for the default
    let begun = {run: -1, sentence: -1, text: '', given: null}, touched = false, readBy = null;

    // A language model continues the text until it is stopped.
    const writing = el('div'), written = el('p', {class: 'written'});
    let stopWriting = null;
    const offerWriting = (reader) => {
      if (!reader.isNext || !reader.ofText || !['characters', 'words'].includes(reader.split)) return writing.replaceChildren();
      writing.replaceChildren(button(stopWriting ? 'Stop' : 'Continue the text', () => {
        if (stopWriting) return stopWriting();
        const tokens = tokenize(input.value, reader.split, reader.ofText);
        if (tokens.length === 0 || tokens.some((token) => reader.number(token) === undefined)) return;
        written.textContent = input.value;
        stopWriting = goOn(reader, tokens, 200, (token) => { written.textContent += token; }, () => {
          stopWriting = null;
          offerWriting(reader);
        });
        offerWriting(reader);
      }), written);
    };

    const redo = () => {
      touched = true;
      compute();
      update({});
    };
    const retype = () => {
      cut = new Set();
      redo();
    };
    const toggle = (set, name) => {
      if (!set.delete(name)) set.add(name);
      redo();
    };
    const reset = () => {
      begun.run = -1;
      update({});
    };
    // Lists the parts of the model that are switched off.
    const changesText = () => [
      ...[...off].map((name) => `without head ${shortName(name)}`),
      ...(cut.size ? [counted(cut.size, 'edge') + ' cut'] : [])
    ];
    const begin = (reader) => {
      const sentence = Math.max(0, state.sentence), given = runNow().sentences[sentence];
      const gap = reader.ofText || reader.split === 'characters' ? '' : ' ';
      trial.now = null;
      touched = false;
      off = new Set();
      cut = new Set();
      input.value = withBrackets(given.tokens, given.candidates ?? [], gap);
      begun = {run: state.run, sentence, text: input.value, given};
      asked = given.query;
      input.rows = Math.max(2, Math.min(6, Math.ceil(textWidth(input.value, 21) / (roomFor() - 40))));
      words.replaceChildren(...reader.vocabulary.flatMap((one) => [word(one), ' ']));
      compute();
    };
    const compute = () => {
      const reader = readerOf(state.run), text = reader.understand(input.value, input.value === begun.text ? begun.given : null);
      readBy = reader;
      const stays = asked >= 0 && trial.now ? afterEdit(trial.now.tokens, text.tokens, asked) : asked;
      const {tokens, candidates} = text, query = stays >= 0 && stays < tokens.length ? stays : text.query;
      const isCandidate = candidates?.some(([begin, end]) => begin === query && end === query + 1);
      const problem = text.problem ?? (isCandidate ? `${visible(tokens[query])} is a candidate; ask about another word.` : null);
      notice.textContent = problem ? [...lostCandidates(candidates, tokens), problem].join(' ') : [
        ...text.notes, ...lostCandidates(candidates, tokens),
        ...(text.asked || stays >= 0 ? [] : [`The model was asked about ${
            reader.queries.slice(0, 6).map(visible).join(
                ', ')} only; it is asked about the last token here. Choose another below.`])
      ].join(' ');
      notice.hidden = notice.textContent === '';
      result.classList.toggle('stale', problem !== null);
      input.dir = direction(tokens);
      if (problem) return;
      asked = stays;
      const cuts = [...cut].map((name) => name.split('.').map(Number));
      const change = {
        off: (l, h) => off.has(key(l, h)),
        cut: (l, h, i, j) => i === query && cuts.some(([a, b, c]) => a === l && b === h && c === j)
      };
      const read = {tokens, query, candidates}, whole = reader.readWhole(read);
      const reading = off.size + cut.size > 0 ? reader.read(read, change) : whole;
      trial.now = {...asSubject(reader, read, reading), reading, whole};
    };
    // Finds candidates of the watched sentence that an edit left without brackets.
    const lostCandidates = (candidates, tokens) => {
      const before = begun.given.candidates ?? [];
      if (!candidates || candidates.length >= before.length) return [];
      const now = candidates.map((span) => spanText({tokens}, span));
      return before.map((span) => spanText(begun.given, span))
          .filter((name) => !now.includes(name))
          .map((name) => `${name} is no candidate any more.`);
    };
    const ask = (i) => {
      asked = i;
      cut = new Set();
      redo();
    };
    const show = () => {
      const own = asSubject(readerOf(state.run), trial.now, trial.now.whole);
      update({own, sentence: OWN, token: own.query, tab: views.indexOf(sentenceView)});
    };
    explore(
        figure,
        (row, column, map) => {
          const [l, h] = allHeads(runNow().heads)[row] ?? [];
          if (map.ramp) return null;
          return [
            `${headName(l, h)}: `,
            ...pairText(trial.now.tokens, trial.now.query, column, map.values[row * map.columns + column]),
            ' Press to cut or restore.'
          ];
        },
        (row, column, map) => {
          if (!map.ramp) toggle(cut, [...allHeads(runNow().heads)[row], column].join('.'));
        });

    return {
      ownsSentence: true,
      followsTraining: () => hasModels(state.run),
      sliderOnly: true,
      figures: [figure],
      element,
      says: () => trial.now ? [el('span', {class: result.className}, trySays(trial.now, readBy, changesText()))] : [],
      draw() {
        const reader = readerOf(state.run);
        if (!reader) return element.replaceChildren(missingModel());
        const another = !touched && state.sentence !== OWN && begun.sentence !== state.sentence;
        if (begun.run !== state.run || another) begin(reader);
        const {now: before} = trial;
        if (readBy !== reader && (!before || reader.readSoon(before, () => update({})))) compute();
        const {now} = trial, changed = changesText();
        if (now) {
          drawFromQuery(figure, now, off, cut);
          renew(
              marks, changed.length ? el('b', {}, `Changed: ${changed.join(', ')}. `) : '',
              button('Reset', reset, {'aria-label': 'Reset: the watched sentence and the whole model'}), ' ',
              button('Show this sentence in the other views', show));
          asking.dir = direction(now.tokens);
          renew(asking, now.tokens.flatMap((token, i) => [button(word(token), () => ask(i), {
                                                            class: `token ${i === now.query ? 'asked' : now.candidates?.some((span) => isIn(span, i)) ? 'candidate' : ''}`,
                                                            'aria-pressed': String(i === now.query),
                                                            'aria-label': `Ask about ${visible(token)}`
                                                          }),
                                                          ' ']));
          renew(
              answers, answerTable(reader, now, changed.length > 0),
              el('div', {}, el('p', {class: 'muted'}, 'Heads: switch one off, and what it would add becomes 0.'),
                 headButtons(
                     runNow().heads, (l, h) => !off.has(key(l, h)), (l, h) => toggle(off, key(l, h)), 'Heads switched on')));
          renew(looks, 'Attention from ', word(now.tokens[now.query]));
        }
        offerWriting(reader);
        if (input.parentNode === null || element.firstChild === null) {
          element.replaceChildren(
              ...(reader.choosing ? [el('p', {class: 'muted'}, 'It chooses among the candidates in brackets.')] : []),
              input, writing, notice,
              el('details', {class: 'as-table'},
                 el('summary', {}, `The ${reader.vocabulary.length} ${reader.split === 'characters' && reader.ofText ? 'characters' : 'words'} of its vocabulary`), words));
        }
        if (now && result.parentNode !== element) element.append(result);
        announce(
            now && !notice.textContent ? `Answer ${visible(now.predicted)}, ${fixed(now.probability)}` :
                                         notice.textContent);
      },
    };
  },
};

// Returns a reading in the form that views expect of a sentence.
function asSubject(reader, {tokens, query, candidates}, reading) {
  const [best] = reader.best(reading, 1);
  return {
    tokens,
    query,
    candidates,
    antecedent: -1,
    predicted: best.word,
    probability: best.probability,
    attention: reader.attention(tokens, reading),
    heads: runNow().heads,
    step: reader.step
  };
}

function trySays({tokens, query, predicted, probability}, reader, changed) {
  return [
    `The model ${stepOf(reader)}${changed.length ? `, ${changed.join(', ')},` : ''} answers `, el('b', {}, visible(predicted)),
    ' at ', el('b', {}, placed(tokens, query)), `, with probability ${fixed(probability)}.`
  ];
}

// Shows the five most probable words, or all candidates. If a part is switched off, adds their probability in the whole
// model.
function answerTable(reader, {reading, whole}, changed) {
  const rows = reader.best(reading, reader.choosing ? reading.answers.length : 5).map(({word: name, probability, number}) => {
    const before = whole.probabilities[number];
    return [
      word(name), bar(probability, fixed(probability)), ...(changed ? [bar(before, fixed(before), 'before')] : [])
    ];
  });
  return table(
      ['answer', 'probability', ...(changed ? ['in the whole model'] : [])], rows,
      {'aria-label': 'Answers', class: 'answers'});
}

function drawFromQuery(figure, {tokens, query, candidates, heads, attention}, off, cut) {
  const T = tokens.length, rows = allHeads(heads), labels = rows.map(([l, h]) => headName(l, h)),
        columns = tokens.map((_, i) => placed(tokens, i));
  const values =
      Float32Array.from(rows.flatMap(([l, h]) => Array.from(attention.of(l, h).subarray(query * T, (query + 1) * T))));
  const cell = cellFor(labels, columns, roomFor(), 46), {left, top, right} = axisSizes(labels, columns, cell);
  const scale = scales.weight.within(attention.end);
  figure.begin(
      left + cell * T + right, top + rows.length * cell + 46,
      rows.map(([l, h]) => `${headName(l, h)}: ${looksAtIn({tokens, attention}, l, h, query)}`).join('; '));
  drawMatrix(figure, 0, 0, cell, {rows: labels, columns, values, candidates, scale});
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
  drawLegend(figure, left, top + rows.length * cell + 12, Math.min(190, cell * T), scale);
}
