// Two sentences, steps, heads or runs side by side: lines, heat maps and their difference. A side is {run, sentence, step,
// head}. Without a step it follows the slider; without a head, headOf() selects one. A link has the sides that were chosen.
const sideView = {
  title: 'Side by side',
  isFor: ({sentences, steps}) => content.runs.length + sentences.length + steps.length > 3,
  lead: () => t`Two pictures of attention, A and B, and their difference: blue where B has more weight, orange where A has more. Choose what they show; the slider moves those that follow it.`,
  make() {
    const figure = new Figure(t`side by side`, () => sideRows(resolved()), () => resolved().flatMap((one, i) => ['AB'[i], ...sideNames(one)]));
    const presetButtons = el('div', {class: 'controls'}), pickersOfBoth = el('div', {class: 'two'}), answers = el('div');
    const element = el('section', {}, presetButtons, pickersOfBoth, figure.element, answers);
    const presetsNow = () => presetsOf(state.run, Math.max(0, state.sentence)), sidesOf = (presets) => chosenSides() ?? presets[0].sides;
    const setSides = (both) => update({sides: {of: placeOfSides(), both}});
    const resolved = (sides = sidesOf(presetsNow())) => sides.map((_, i) => sideNow(sides, i));
    explore(figure, (row, column, map) => {
      const {tokens} = map.of ?? {};
      return tokens ? pairText(tokens, row, column, map.values[row * map.columns + column]) : null;
    });
    return {
      figures: [figure], element, followsTraining: () => true, ownsSentence: true,
      says: () => sidesSay(resolved()),
      draw() {
        const presets = presetsNow(), sides = sidesOf(presets), [a, b] = resolved(sides);
        const isPressed = (preset) => String(JSON.stringify(preset.sides) === JSON.stringify(sides));
        renew(presetButtons, presets.map((one) => button(one.name, () => setSides(one.sides), {'aria-pressed': isPressed(one)})));
        renew(pickersOfBoth, [a, b].map((one, i) => pickers(sides[i], one, i === 0 ? b : a, 'AB'[i], (next) => setSides(sides.with(i, next)))));
        renew(answers, answersOf([a, b]));
        if (!a.attention || !b.attention) return waiting(figure);
        drawSides(figure, a, b);
      },
    };
  },
};

// Sides belong to the run and the sentence that the page showed when they were chosen. chosenSides() returns null for others.
const placeOfSides = ({run, sentence} = state) => `${run} ${sentence}`;
const chosenSides = () => state.sides?.of === placeOfSides() ? state.sides.both : null;

// Returns two sides as a link names them: run.sentence.step.layer.head each, without what follows the page: 1.2..2.1,1.2.300..
const sidesName = (both) => both.map(({run, sentence, step, head}) => {
  const at = step === null ? '' : content.runs[run].steps[step].step;
  return [run + 1, sentence + 1, at, head ? shortName(key(head.layer, head.head)) : '.'].join('.');
}).join();

// Returns the sides of a link; null where the page has none.
function sidesOfName(text) {
  const both = text.split(',').map((name) => {
    const [run, sentence, step, ...place] = name.split('.'), {sentences, steps, heads} = content.runs[run - 1] ?? {sentences: [], steps: [], heads: []};
    const at = step === '' ? null : steps.findIndex((one) => String(one.step) === step), isOfPage = place.join('.') === '.';
    const head = allHeads(heads).find(([l, h]) => shortName(key(l, h)) === place.join('.'));
    if (!Object.hasOwn(sentences, sentence - 1) || at === -1 || (!isOfPage && !head)) return null;
    return {run: run - 1, sentence: sentence - 1, step: at, head: isOfPage ? null : {layer: head[0], head: head[1]}};
  });
  return both.length === 2 && both.every(Boolean) ? both : null;
}

// Returns the data that a side shows, like dumped(), with its run, layer and head.
function sideNow(sides, i) {
  const {run, sentence, step} = sides[i], at = step ?? nearestStep(run);
  return {...dumped(run, at, sentence), ...headOf(sides, i), run, at};
}

// Returns the dumped step of a run that is nearest to `wanted`, of itself the slider's step.
function nearestStep(run, wanted = runNow().steps[state.step].step) {
  const distances = content.runs[run].steps.map(({step}) => Math.abs(step - wanted));
  return distances.indexOf(Math.min(...distances));
}

// Returns the head selected for the side. Otherwise A uses the page's head if it shows the page's run, and B uses the head of
// A if the runs are equal. The default is the head that points.
function headOf(sides, i) {
  const {run, sentence, head} = sides[i];
  if (head) return head;
  if (run === state.run && i === 0) return {layer: state.layer, head: state.head};
  if (i === 1 && run === sides[0].run) return headOf(sides, 0);
  return content.runs[run].sentences[sentence].pointing;
}

const sideNames = ({run, step, layer, head, tokens}) => [runName(run), t`step ${step}`, headName(layer, head), shortened(tokens)];

function sideRows(both) {
  const all = both.map((one) => attentionRows(one, (l, h) => l === one.layer && h === one.head));
  return [['side', ...all[0][0]], ...all.flatMap((rows, i) => rows.slice(1).map((row) => ['AB'[i], ...row]))];
}

// Returns the minimal pair of a sentence: it differs in one token and in the antecedent. Returns -1 if none is found.
function twinOf({sentences}, sentence) {
  const {tokens, query, antecedent} = sentences[sentence];
  return sentences.findIndex(
      (other) => other.tokens.length === tokens.length && other.query === query && other.antecedent !== antecedent &&
          other.tokens.filter((token, i) => token !== tokens[i]).length === 1);
}

// Returns [{name, sides}], the most informative comparison first.
function presetsOf(run, sentence) {
  const twin = twinOf(content.runs[run], sentence), side = {run, sentence, step: null, head: null};
  const presets = [{name: t`First and last step`, sides: [{...side, step: 0}, side]}];
  if (twin >= 0) presets.unshift({name: t`Minimal pair`, sides: [side, {...side, sentence: twin}]});
  if (content.runs.length > 1) {
    presets.unshift({
      name: t`The two runs`,
      sides: [0, 1].map((other) => ({...side, run: other, sentence: Math.min(sentence, content.runs[other].sentences.length - 1)}))
    });
  }
  return presets;
}

// `now` is the result of sideNow(), and `other` is the side to compare with.
function pickers(side, now, other, name, change) {
  const {steps, sentences, heads} = content.runs[side.run];
  const chooseRun = (run) => change({run, step: null, head: null, sentence: Math.min(side.sentence, content.runs[run].sentences.length - 1)});
  const runs = content.runs.map((run) => run.name), all = allHeads(heads);
  const texts = sentences.map(({tokens}, i) => `${i + 1} ${verdictSign(content.runs[side.run], i, now.at)} ${shortened(tokens)}`);
  return el(
      'fieldset', {}, el('legend', {}, name), runs.length > 1 ? select(t`Run`, runs, side.run, chooseRun, t`Run ${name}`) : null,
      select(t`Sentence`, texts, side.sentence, (sentence) => change({...side, sentence, head: side.head}), t`Sentence ${name}`),
      select(
          t`Step`, [t`as the slider: ${now.step}`, ...steps.map(({step}) => String(step))], side.step === null ? 0 : side.step + 1,
          (i) => change({...side, step: i === 0 ? null : i - 1}), t`Step ${name}`),
      select(
          t`Head`, all.map(([l, h]) => `${l + 1}.${h + 1}`), all.findIndex(([l, h]) => l === now.layer && h === now.head),
          (i) => change({...side, head: {layer: all[i][0], head: all[i][1]}}), t`Head ${name}`),
      el('p', {class: 'side-sentence', dir: direction(now.tokens)}, ...markedDifferences(now.tokens, other.tokens)));
}

// Returns the tokens and marks those that differ. For a long text, returns only the context of the first difference.
function markedDifferences(tokens, others) {
  const gap = gapOf(tokens);
  const words = tokens.map((token, i) => el('bdi', {class: token === others[i] ? null : 'differs'}, inText(token)));
  const first = Math.max(0, tokens.findIndex((token, i) => token !== others[i]));
  const [from, to] = tokens.length > 40 ? [Math.max(0, first - 12), first + 12] : [0, tokens.length];
  return [from > 0 ? '… ' : '', ...words.slice(from, to).flatMap((node) => [node, gap]), to < tokens.length ? '…' : ''];
}

// Returns whether the model chose between this candidate and one other.
const isOther = (one, candidate) =>
    content.runs[one.run].answer === 'candidate' && one.candidates?.length === 2 && one.candidates.some((span) => spanText(one, span) === candidate);

// Returns the answer of each side and, at the step of the saved model, the probability of every given answer.
function answersOf(both) {
  const candidates = [...new Set(both.flatMap((one) => [expectedAnswer(one) ?? one.predicted, one.predicted]))];
  const rows = both.map((one, i) => {
    const engine = engineOf(one.run, one.at);
    const reading = engine?.step === one.step ? engine.read(asRead(one), [], () => update({})) : null;
    const probability = (candidate) => candidate === one.predicted ? one.probability :
        reading ? reading.probability(candidate) : isOther(one, candidate) ? 1 - one.probability : NaN;
    return ['AB'[i], word(one.predicted), ...candidates.map((candidate) => bar(probability(candidate), fixed(probability(candidate))))];
  });
  return table(
      ['', t`answer`, ...candidates.map((candidate) => el('span', {}, 'p(', word(candidate), ')'))], rows,
      {'aria-label': t`Answers`, class: 'answers'});
}

// Describes the largest weight of each side's query.
function sidesSay(both) {
  if (!both.every(({attention}) => attention)) return [];
  return both.flatMap((one, i) => {
    const row = one.attention.row(one.layer, one.head, one.query);
    const best = row.indexOf(Math.max(...row));
    return t`${'AB'[i]}, ${headName(one.layer, one.head)}: ${el('b', {}, placed(one.tokens, one.query))} puts ${rounded(row[best])} of its attention on ${
        el('b', {}, placed(one.tokens, best))}. `;
  });
}

function drawSides(figure, a, b) {
  const room = roomFor(), same = a.tokens.length === b.tokens.length, beside = room > 820;
  const count = same ? 3 : 2, gap = 18, width = beside ? (room - (count - 1) * gap) / count : room;
  const scale = scales.weight.within(endOf(...[a, b].map((one) => one.attention.of(one.layer, one.head))));
  const maps = [a, b].map((one) => ({
    rows: one.tokens.map((_, i) => placed(one.tokens, i)), values: one.attention.of(one.layer, one.head),
    markRow: one.query, markColumn: one.antecedent, candidates: one.candidates, scale
  }));
  const differences = scales.signed.within(scale.high);
  if (same) {
    const rows = maps[1].rows.map((label, i) => a.tokens[i] === b.tokens[i] ? label : `${maps[0].rows[i]}/${label}`);
    maps.push({rows, values: maps[1].values.map((value, n) => value - maps[0].values[n]), markRow: b.query, scale: differences});
  }
  const cell = Math.min(...maps.map(({rows}) => cellFor(rows, rows, width, 40)));
  const heights = maps.map(({rows}) => axisSizes(rows, rows, cell).top + cell * rows.length);
  const row = 22, size = Math.max(a.tokens.length, b.tokens.length) <= 60 ? 17 : 12,
        texts = [a, b].map(({tokens}) => textLayout(tokens, width, size, true));
  const linesHeight = Math.max(...texts.map(({height}) => height)) + 12;
  const title = 46, tallest = Math.max(...heights), one = (i) => title + (i < 2 ? linesHeight : 0) + heights[i] + 22;
  const all = beside ? title + linesHeight + tallest + 22 : total(maps.map((_, i) => one(i)));
  figure.begin(room, all + 40, `A, ${looksAtIn(a, a.layer, a.head, a.query)}; B, ${looksAtIn(b, b.layer, b.head, b.query)}`);
  let y = 0;
  maps.forEach((map, i) => {
    const x = beside ? i * (width + gap) : 0, of = [a, b][i];
    const [run, ...names] = of ? sideNames(of) : ['', ''];
    figure.text(
        x, y + 10,
        of ? fitted([t`${'AB'[i]}:`, content.runs.length > 1 ? run : '', names[0], names[1]].filter(Boolean).join(' '), 14, width) : 'B − A',
        {'font-weight': 700});
    if (!of) figure.text(x, y + 30, t`blue: more in B, orange: more in A`, {'font-size': 13, fill: ink.muted});
    if (of) drawAttendedText(figure, x, y + title, {tokens: of.tokens, size, ...texts[i]}, of, of.query, scale);
    if (!of && beside) drawDifferences(figure, x, y + title, Math.floor(linesHeight / row) - 1, row, a, b, map.values, differences);
    const under = y + title + (beside || of ? linesHeight : 0);
    drawMatrix(figure, x, under + (beside ? tallest - heights[i] : 0), cell, map);
    figure.maps.at(-1).of = of ?? b;
    if (!beside) y += one(i);
  });
  const bottom = figure.height - 34;
  drawLegend(figure, 4, bottom, 150, scale);
  if (same) drawLegend(figure, 184, bottom, 150, differences, {text: t`difference`});
}

// Lists the entries of B - A with the largest absolute values, in words.
function drawDifferences(figure, x, y, most, row, a, b, values, scale) {
  const T = b.tokens.length;
  const order = Array.from(values.keys()).sort((m, n) => Math.abs(values[n]) - Math.abs(values[m])).slice(0, most);
  const name = (i) => a.tokens[i] === b.tokens[i] ? placed(b.tokens, i) : `${visible(a.tokens[i])}/${visible(b.tokens[i])}`;
  figure.text(x, y + row / 2, t`What differs most`, {'font-size': 13, fill: ink.muted});
  order.forEach((n, i) => {
    const middle = y + (i + 1.5) * row;
    figure.add('rect', {x, y: middle - 8, width: 48, height: 16, fill: scale.colour(values[n])});
    figure.text(x + 24, middle, signed(values[n], 2), {'text-anchor': 'middle', 'font-size': 12, fill: scale.text(values[n])});
    figure.text(x + 58, middle, `${name(Math.floor(n / T))} → ${name(n % T)}`, {'font-size': 13});
  });
}
