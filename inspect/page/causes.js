// Is the attention the cause of the answer? Shows the measurements of explain/studies/causes.h on held-out sentences.
const causesView = {
  title: 'Why',
  isFor: ({model, causes, served}) => Boolean(model || causes || served),
  lead: () => !runNow().causes ? t`Each score is a sum over what both tokens carry; the largest parts are removed to see whether they matter.` :
      t`A large weight need not matter. Here parts of the model are removed or replaced while it answers held-out sentences; what changes the answers is a cause, whatever its weight.`,
  make() {
    const effects = new Figure(t`causes`, () => causeRows(runNow().causes), aboutCauses);
    const parts = new Figure(
        t`attribution of the answer`, () => attributionRows(runNow().causes.attribution[state.sentence]),
        () => [...aboutCauses(), shortened(runNow().sentences[state.sentence].tokens)]);
    const below = new TableBelow(t`All of them as a table`), element = el('section');
    explore(parts, (row, column, map) => map.ramp ? null : [signed(map.values[row * map.columns + column])]);
    const why = new WhyAttends(), when = new WhenPart(), where = new RestoredPart(), fold = (title, ...parts) => el('details', {class: 'more'}, el('summary', {}, title), ...parts);
    const scores = fold(t`Why does it attend there?`, why.element), history = fold(t`When did it become the cause?`, when.element), logits = fold(t`Which heads produced the answer?`, el('div'));
    history.ontoggle = scores.ontoggle = () => update({});
    let drawn = '', details = [];
    return {
      figures: [effects, parts, when.figure, where.figure], element, followsTraining: () => hasModels(state.run),
      draw() {
        const {causes, causes_missing, restored, history: measured} = runNow(), engine = engineOf(state.run);
        if (engine && (scores.open || !causes)) why.draw(engine, subject());
        if (causes && history.open) when.draw(measured);
        // Only these two parts change with the slider.
        const other = causes && otherStep(causes, subject());
        const name = [state.run, state.sentence, engine && subject().tokens.join(' '), where.chosen, other, isDark(), roomFor()].join();
        if (drawn === name && element.firstChild) return;
        drawn = name;
        const reason = causes_missing ? [el('p', {class: 'notice'}, said(causes_missing))] : [];
        if (!causes) return element.replaceChildren(...reason, ...(engine ? [el('h2', {}, t`Why does it attend there?`), why.element] : []));
        drawEffects(effects, causes);
        if (restored) where.draw();
        below.draw(() => {
          const [head, ...rows] = causeRows(causes);
          return table(head.map(said), rows.map((row) => row.map(said)), {'aria-label': t`Causes`});
        });
        const answer = attributionPart(parts, causes), card = cardPart(runNow().card);
        logits.replaceChildren(logits.firstChild, ...answer);
        scores.append(why.element);
        if (details.causes !== causes) details = Object.assign([fold(t`How it was measured`, ...method(causes)), fold(t`Each intervention`, ...groupTables(causes), below.element)], {causes});
        element.replaceChildren(
            ...(other ? [el('p', {class: 'note muted'}, t`Measured at step ${other}; the parts that can be opened say which other steps they show.`)] : []),
            ...headline(causes), el('h2', {}, t`What changes the answers most`), effects.element,
            ...(restored ? [el('h2', {}, t`At which layer and word is what the answer needs?`), where.element] : []), ...(card.length ? [fold(t`Right and wrong answers apart`, ...card)] : []),
            ...(engine ? [scores] : []), history, ...(answer.length ? [logits] : []), ...details);
      },
    };
  },
};

const aboutCauses = () => [...aboutNow({sentence: false, step: false, head: false}), t`step ${runNow().causes.step}`];

const causeGroups = [
  ['head zero', t`Zero-ablate a head`, t`: zero-ablated`],
  ['head mean', t`Mean-ablate a head`, t`: mean-ablated`],
  ['edge', t`Remove one edge`, t` removed`],
  ['edge all heads', t`Remove one edge in every head of a layer`, t` removed`],
  ['edge everywhere', t`Remove one edge in every head of every layer`, t` removed`],
  ['zero weight', t`Zero the weight of one edge`, t` with weight 0`],
  ['zero weight all heads', t`Zero the weight of one edge in every head of a layer`, t` with weight 0`],
  ['zero weight everywhere', t`Zero the weight of one edge in every head of every layer`, t` with weight 0`],
  ['only edge', t`Keep one edge only`, t` kept alone`],
  ['patch head', t`Patch a head from the minimal pair`, t`: patched`],
  ['patch layer', t`Patch every head of a layer from the minimal pair`, t`: patched`],
];

const findings = (texts) => texts.map((text) => el('li', {}, inWords(text)));

// The verdict comes from causes_verdict() of views/view.h.
function headline({verdict, left_out, rows}) {
  return [
    el('h2', {}, t`Is the attention the cause?`), el('p', {class: 'verdict'}, inWords(verdict[0] ?? left_out[0])),
    el('ul', {class: 'figures'}, ...findings(verdict.slice(1))),
    ...(rows.some((row) => row.verdict.lost > 1) ? [el('p', {class: 'muted'}, t`More than 100 % of the advantage is lost where accuracy falls below chance.`)] : []),
  ];
}

const method = ({step, sentences, held_out, probability, left_out, ...figures}) => [
  el('p', {},
     t`Measured with the model of step ${step} on ${grouped(sentences)} of ${grouped(held_out)} held-out sentences: ${
         accuracyText(figures)} of them are answered right; the answer has a mean probability of ${fixed(probability)}.`),
  el('p', {class: 'muted'},
     (kindOf() === 'induction' ? t`Query: the token asked about. Copied token: the one after its earlier copy. ` :
         isQuestion()          ? t`Query: the word asked about. Answer: the word of the story that is right. ` :
         t`Query: the word asked about. Antecedent: what it refers to; distractor: the other candidate; cue word: the word that decides between them. Minimal pair: two sentences that differ in the cue word and in the answer. `) +
         t`An edge is the attention of one token to another in one head. An accuracy has its 95 % interval: half of it after ±, or both ends.`),
  ...left_out.map((text) => el('p', {class: 'muted'}, inWords(text)))
];

// Shows the report of a model that chooses among candidates (explain/studies/report.h): the head with the most weight on the
// correct candidate, for right and for wrong answers.
function cardPart(card) {
  if (!card || card.head === null) return [];
  const {sentences, layer, head, right, wrong, model, bag_of_words, verdict} = card;
  const row = (name, {sentences, meant, other, moved}) => [
    name, String(sentences), ...[meant, other].map((x) => sentences > 0 ? bar(x, fixed(x, 2)) : ''),
    sentences > 0 ? percent(moved) : ''
  ];
  const range = ({share, low, high}) => t`${percent(share)} (${fixed(100 * low, 1)} to ${fixed(100 * high, 1)})`;
  return [
    el('p', {},
       t`Of all heads, ${headName(layer, head)} puts the most attention on the correct candidate. A weight that goes with the answer is not yet its cause: the last column says how many answers change when that edge is removed. Of ${
           grouped(sentences)} held-out sentences ${range(model)} are answered right, by a bag of words ${range(bag_of_words)}.`),
    table(
        [t`answers`, t`how many`, t`on the correct one`, t`on another`, t`changed without that edge`],
        [row(t`right`, right), row(t`wrong`, wrong)], {'aria-label': t`Right and wrong answers apart`}),
    el('ul', {class: 'figures'}, ...findings(verdict))
  ];
}

const roleNames = {query: t`query`, antecedent: t`antecedent`, itself: t`itself`, other: t`distractor`, decider: t`cue word`, rest: t`other tokens`};

function causeName({layer, head, from, to}) {
  const where = layer === null ? t`all heads` : head === null ? t`layer ${layer + 1}, all heads` : headName(layer, head);
  return from ? inWords(t`${where}: ${roleNames[from] ?? from} → ${roleNames[to] ?? to}`) : where;
}

function causeRows({rows}) {
  const columns = ['weight', 'probability', 'spread', 'before', 'accuracy', 'accuracy_low', 'accuracy_high', 'flipped'];
  return [
    ['what', 'layer', 'head', 'from', 'to', 'sentences', 'weight', 'change of probability', 'spread', 'accuracy before', 'accuracy after', 'at least', 'at most', 'flip rate'],
    ...rows.map(
        (one) => [one.what, one.layer === null ? 'all' : one.layer + 1, one.head === null ? 'all' : one.head + 1, one.from ?? '', one.to ?? '',
                  one.sentences, ...columns.map((name) => one[name] ?? '')])
  ];
}

const byEffect = (rows) => [...rows].sort((a, b) => Math.abs(b.probability) - Math.abs(a.probability));
const firstShown = 10;

// Shows the first rows of a long table, with a button for the rest.
function foldedTable(head, rows, cells, attributes) {
  const box = el('div'), others = (count) => button(t`Show the other ${rows.length - count}`, () => show(rows.length));
  const show = (count) => box.replaceChildren(
      table(head, rows.slice(0, count).map(cells), attributes), ...(count < rows.length ? [others(count)] : []));
  show(firstShown);
  return box;
}

// Shows a collapsed table per kind of intervention, in descending order of effect.
function groupTables({rows}) {
  const cells = (one) => [
    causeName(one), Number.isFinite(one.weight) ? fixed(one.weight, 2) : '',
    bar(one.probability, `${signed(one.probability, 2)} ± ${fixed(one.spread, 2)}`, one.probability < 0 ? 'negative' : ''),
    accuracyText(one), percent(one.before), grouped(one.sentences), Number.isFinite(one.flipped) ? percent(one.flipped) : ''
  ];
  return causeGroups.map(([what, title]) => ({title, found: byEffect(rows.filter((one) => one.what === what))}))
      .filter(({found}) => found.length > 0)
      .map(({title, found}) => {
        const below = new TableBelow(t`${title}: ${found.length}`);
        below.draw(
            () => foldedTable(
                [t`where`, t`weight`, t`change of the answer’s probability ± deviation`, t`accuracy after`, t`before`, t`of sentences`, t`flip rate`], found, cells,
                {'aria-label': title}));
        return below.element;
      });
}

// Draws a line per intervention: attention weight, mean and spread of the change of the answer's probability, accuracy after it.
function drawEffects(figure, {rows, sentences, pointing}) {
  const shown = byEffect(rows).slice(0, firstShown), room = roomFor(), wide = room >= 760;
  const row = wide ? 30 : 50, top = 46, bottom = top + shown.length * row;
  const short = new Map(causeGroups.map(([what, , text]) => [what, text]));
  const nameOf = (one) => `${causeName(one)}${short.get(one.what)}${one.sentences === sentences ? '' : ` (${one.sentences})`}`;
  const labels = wide ? Math.min(440, Math.max(...shown.map((one) => textWidth(nameOf(one), 14))) + 10) : 0;
  const weightAt = wide ? labels + 30 : 28, from = weightAt + 44, zeroSide = wide ? 320 : 62, to = room - zeroSide;
  const ends = shown.flatMap(({probability, spread}) => [probability - spread, probability + spread]);
  const low = Math.max(-1, Math.min(-0.1, ...ends)), high = Math.min(1, Math.max(0.02, ...ends));
  const at = (value) => from + (Math.max(low, Math.min(high, value)) - low) / (high - low) * (to - from), zero = at(0);
  figure.begin(room, bottom + 50, shown.map((one) => t`${said(one.what)} ${causeName(one)}: accuracy ${percent(one.accuracy)}`).join('; '));
  const small = {'font-size': 12, fill: ink.muted, 'text-anchor': 'middle'}, right = {'text-anchor': 'end', 'font-size': 14};
  figure.text(weightAt, 12, t`weight`, small);
  figure.text((from + to) / 2, 12, wide ? t`change of the answer’s probability` : t`change of probability`, small);
  if (wide) {
    figure.text(room - 190, 12, t`mean ± deviation`, {...small, 'text-anchor': 'end'});
    if (shown.some(({flipped}) => Number.isFinite(flipped))) figure.text(room, 12, t`flip rate`, {...small, 'text-anchor': 'end'});
  }
  figure.text(wide ? room - 100 : room, 12, t`accuracy`, {...small, 'text-anchor': 'end'});
  for (const tick of [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5].filter((value) => value >= low && value <= high)) {
    figure.add('line', {x1: at(tick), x2: at(tick), y1: 38, y2: bottom, stroke: tick === 0 ? ink.muted : ink.line});
    figure.text(at(tick), 30, fixed(tick, tick === 0 ? 0 : 2), {...small, 'font-size': 11});
  }
  shown.forEach((one, i) => {
    const y = top + i * row, middle = wide ? y + row / 2 : y + 34, x = at(one.probability);
    const points = pointing && one.layer === pointing.layer && one.head === pointing.head;
    const strong = one.loses ? 700 : 400;
    figure.text(
        0, wide ? middle : y + 12, fitted(nameOf(one), 14, wide ? labels - 4 : room),
        {'font-size': 14, fill: points ? ink.accent : ink.text, title: nameOf(one)});
    if (Number.isFinite(one.weight)) {
      figure.add('rect', {x: weightAt - 26, y: middle - 11, width: 52, height: 22, fill: scales.weight.colour(one.weight)});
      figure.text(weightAt, middle, fixed(one.weight, 2), {'text-anchor': 'middle', 'font-size': 13, fill: scales.weight.text(one.weight)});
    }
    const fill = one.probability < 0 ? ink.orange : ink['head-0'];
    figure.add('rect', {x: Math.min(x, zero), y: middle - 7, width: Math.max(1, Math.abs(x - zero)), height: 14, fill});
    const [a, b] = [one.probability - one.spread, one.probability + one.spread].map(at);
    figure.add('path', {d: `M${a},${middle}H${b}`, stroke: ink.text, 'stroke-opacity': 0.7});
    figure.text(wide ? room - 100 : room, middle, percent(one.accuracy), {...right, 'font-weight': strong});
    if (!wide) return;
    figure.text(room - 190, middle, `${signed(one.probability, 2)} ± ${fixed(one.spread, 2)}`, right);
    if (Number.isFinite(one.flipped)) figure.text(room, middle, percent(one.flipped), {...right, 'font-weight': strong});
  });
  figure.text(
      0, bottom + 18, fitted(t`The ${shown.length} of ${grouped(rows.length)} that change most; a line is ± one deviation.`, 12, room),
      {'font-size': 12, fill: ink.muted});
  figure.text(
      0, bottom + 34, fitted(t`Accuracy after the removal, over ${grouped(sentences)} sentences or the number in brackets; bold: a loss is shown (p < 0.05 by Holm’s method, over all rows).`, 12, room),
      {'font-size': 12, fill: ink.muted});
}

// Shows the logit of the selected sentence's answer as a sum over heads and tokens.
function attributionPart(figure, {attribution}) {
  const one = state.sentence === OWN ? null : attribution?.[state.sentence];
  if (!one) return [];
  const {tokens} = runNow().sentences[state.sentence], T = tokens.length,
        heads = [...new Set(one.terms.map(({head}) => head))].sort((a, b) => a - b);
  const layer = one.terms[0].layer ?? runNow().heads.length - 1, values = new Float32Array(heads.length * T);
  for (const {head, source, logit} of one.terms) values[heads.indexOf(head) * T + source] = logit;
  const range = values.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-9),
        labels = heads.map((head) => roomFor() > 600 ? headName(layer, head) : `${layer + 1}.${head + 1}`);
  const columns = tokens.map((_, i) => placed(tokens, i)), cell = cellFor(labels, columns, roomFor(), 52),
        {left, top, right} = axisSizes(labels, columns, cell);
  const sum = total(one.terms.map(({logit}) => logit));
  figure.begin(
      left + cell * T + right, top + heads.length * cell + 46,
      one.terms.filter(({logit}) => Math.abs(logit) > range / 4)
          .map(({head, source, logit}) => t`${headName(layer, head)} from ${visible(tokens[source])} ${signed(logit, 2)}`)
          .join('; '));
  drawMatrix(figure, 0, 0, cell, {rows: labels, columns, values, scale: scales.signed.within(range)});
  drawLegend(
      figure, left, top + heads.length * cell + 12, Math.min(190, cell * T), scales.signed,
      {text: '0', ends: [`−${fixed(range, 1)}`, `+${fixed(range, 1)}`]});
  return [
    el('p', {},
       t`The answer is ${word(one.answer)}. The squares add up to ${fixed(sum)}${one.rest.map(({what, logit}) => t`, ${said(what)} ${signed(logit)}`).join('')}: together the logit ${
           el('b', {}, fixed(one.logit))}. Each square is the direct contribution of a head of the last layer from one token.`),
    figure.element
  ];
}

function attributionRows({terms, rest}) {
  return [
    ['head', 'from', 'logit'], ...terms.map(({head, source, logit}) => [head + 1, source + 1, logit]),
    ...rest.map(({what, logit}) => [what, '', logit])
  ];
}

// Runs a generator in slices of a few milliseconds, then calls done().
function inSlices(work, done) {
  const slice = () => {
    const until = performance.now() + 12;
    do {
      if (work.next().done) return done();
    } while (performance.now() < until);
    return setTimeout(slice);
  };
  setTimeout(slice);
}

// Runs a generator to its end and returns its result.
function finished(work) {
  for (let part = work.next();; part = work.next())
    if (part.done) return part.value;
}
