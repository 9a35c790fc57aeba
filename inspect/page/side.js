// Two maps and their difference: twins, two steps of one run, or two runs.
const sideView = {
  title: 'Side by side',
  make() {
    const figure = new Figure('side by side', () => this.rows(sides));
    const element = el('section');
    let sides = null, presets = [], madeFor = '';
    const setSides = (next) => {
      sides = next;
      update({});
    };
    explore(figure, (row, column, map) => {
      const [a, b] = sides.map(({run, step, sentence}) => dumped(run, step, sentence));
      const n = row * map.columns + column;
      if (map.rows !== a.tokens.length && map.rows !== b.tokens.length) return null;
      const of = figure.maps.indexOf(map) === 1 ? b : a;
      return pairText(of.tokens, row, column, map.values[n]);
    });
    return {
      ownsSentence: true,
      figures: [figure],
      element,
      draw() {
        if (madeFor !== `${state.run} ${state.sentence}`) {
          madeFor = `${state.run} ${state.sentence}`;
          presets = presetsOf(state.run, Math.max(0, state.sentence));
          sides = presets[0].sides;
        }
        const [a, b] = sides.map(({run, step, sentence}) => ({...dumped(run, step, sentence), run}));
        element.replaceChildren(
            el('div', {class: 'controls'}, presets.map(({name, sides}) => button(name, () => setSides(sides)))),
            el('div', {class: 'two'},
               sides.map((side, i) => pickers(side, 'AB'[i], (next) => setSides(sides.with(i, next))))),
            chooseHead(a.heads), figure.element, answersOf([a, b]));
        if (!a.attention || !b.attention) return waiting(figure);
        drawSides(figure, a, b);
      },
    };
  },
  rows(sides) {
    const [a, b] = sides.map(({run, step, sentence}) => dumped(run, step, sentence).attention);
    const chosen = (l, h) => l === state.layer && h === state.head;
    const [head, ...rows] = attentionRows({tokens: a.tokens, attention: a}, chosen);
    const [, ...others] = attentionRows({tokens: b.tokens, attention: b}, chosen);
    return [['side', ...head], ...rows.map((row) => ['A', ...row]), ...others.map((row) => ['B', ...row])];
  },
};

// A sentence of the run that differs in one token alone and means another; -1 when there is none.
function twinOf({sentences}, sentence) {
  const {tokens, query, antecedent} = sentences[sentence];
  return sentences.findIndex(
      (other) => other.tokens.length === tokens.length && other.query === query && other.antecedent !== antecedent &&
          other.tokens.filter((token, i) => token !== tokens[i]).length === 1);
}

// [{name, sides}], the most telling one first.
function presetsOf(run, sentence) {
  const last = content.runs[run].steps.length - 1, twin = twinOf(content.runs[run], sentence);
  const presets = [{name: 'First and last step', sides: [{run, step: 0, sentence}, {run, step: last, sentence}]}];
  if (twin >= 0)
    presets.unshift({name: 'Twin sentences', sides: [{run, step: last, sentence}, {run, step: last, sentence: twin}]});
  if (content.runs.length > 1) {
    presets.unshift({
      name: 'The two runs',
      sides: [0, 1].map((run) => {
        const {steps, sentences} = content.runs[run];
        return {run, step: steps.length - 1, sentence: Math.min(sentence, sentences.length - 1)};
      })
    });
  }
  return presets;
}

function pickers(side, name, change) {
  const {steps, sentences} = content.runs[side.run];
  const chooseRun = (run) => change({
    run,
    step: content.runs[run].steps.length - 1,
    sentence: Math.min(side.sentence, content.runs[run].sentences.length - 1)
  });
  const runs = content.runs.map((run) => run.name);
  const texts = sentences.map(({tokens}, i) => `${i + 1}  ${shortened(tokens)}`);
  return el(
      'fieldset', {}, el('legend', {}, name),
      runs.length > 1 ? select('Run', runs, side.run, chooseRun, `Run ${name}`) : null,
      select('Sentence', texts, side.sentence, (sentence) => change({...side, sentence}), `Sentence ${name}`),
      select(
          'Step', steps.map(({step}) => String(step)), side.step, (step) => change({...side, step}), `Step ${name}`));
}

// What each side answers, and, for the step of the saved model, the probability of every answer given.
function answersOf(both) {
  const candidates = [...new Set(both.flatMap(
      ({tokens, antecedent, predicted}) => antecedent >= 0 ? [tokens[antecedent], predicted] : [predicted]))];
  const rows = both.map((one, i) => {
    const reader = readerOf(one.run);
    const known = reader?.step === one.step ? reader.read(one.tokens, one.query).probabilities : null;
    const probability = (candidate) => known ? known[reader.numbers.get(candidate)] :
        candidate === one.predicted          ? one.probability :
                                               NaN;
    return [
      'AB'[i], word(one.predicted),
      ...candidates.map((candidate) => bar(probability(candidate), fixed(probability(candidate))))
    ];
  });
  return table(
      ['', 'answer', ...candidates.map((candidate) => el('span', {}, 'p(', word(candidate), ')'))], rows,
      {'aria-label': 'Answers', class: 'answers'});
}

function drawSides(figure, a, b) {
  const room = roomFor(), same = a.tokens.length === b.tokens.length, beside = room > 820;
  const count = same ? 3 : 2, width = beside ? room / count - 12 : room;
  const {layer, head} = state;
  const maps = [a, b].map(
      (one) => ({
        rows: one.tokens.map((_, i) => placed(one.tokens, i)),
        values: one.attention.of(Math.min(layer, one.heads.length - 1), Math.min(head, one.heads.at(-1) - 1)),
        markRow: one.query,
        markColumn: one.antecedent,
        scale: scales.weight
      }));
  if (same) {
    const rows = maps[1].rows.map((label, i) => a.tokens[i] === b.tokens[i] ? label : `${maps[0].rows[i]}/${label}`);
    maps.push({
      rows,
      values: maps[1].values.map((value, n) => value - maps[0].values[n]),
      markRow: b.query,
      scale: scales.signed
    });
  }
  const cell = Math.min(...maps.map(({rows}) => cellFor(rows, rows, width, 40)));
  const sizes = maps.map(({rows}) => { return {height: axisSizes(rows, rows, cell).top + cell * rows.length}; });
  const height = Math.max(...sizes.map((size) => size.height)) + 30;
  const titles = [`A: step ${a.step}`, `B: step ${b.step}`, 'B − A'];
  figure.begin(
      room, (beside ? height : maps.reduce((sum, _, i) => sum + sizes[i].height + 30, 0)) + 40,
      `${headName(layer, head)}: A, ${looksAtIn(a, layer, head, a.query)}; B, ${looksAtIn(b, layer, head, b.query)}`);
  let y = 0;
  maps.forEach((map, i) => {
    const x = beside ? i * (width + 18) : 0;
    figure.text(x, y + 12, titles[i], {'font-weight': 700, fill: ink.muted});
    drawMatrix(figure, x, y + (beside ? height - sizes[i].height : 24), cell, map);
    if (!beside) y += sizes[i].height + 30;
  });
  const bottom = figure.height - 34;
  drawLegend(figure, 4, bottom, 170, scales.weight);
  if (same) drawLegend(figure, 200, bottom, 170, scales.signed, {text: 'difference'});
}
