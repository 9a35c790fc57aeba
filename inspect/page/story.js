// The column beside the picture of the first view: answers, removals, the verdict, the heads.

// Returns the kind of a run, which decides its first view.
function kindOf({predicts, masked, sentences} = runNow()) {
  const asked = sentences.filter(({antecedent}) => antecedent >= 0);
  if (asked.length === 0) return masked ? 'masked' : predicts === 'next' ? 'language' : predicts === 'nothing' ? 'encoder' : 'answers';
  const copies = ({tokens, query, antecedent}) => antecedent <= query && tokens[antecedent - 1] === tokens[query];
  return predicts === 'next' && asked.every(copies) ? 'induction' : 'coreference';
}
const isOfText = () => ['language', 'masked', 'encoder'].includes(kindOf());

// The token that the answer comes from, in the words of the task.
const sourceName = () => kindOf() === 'induction' ? t`copied token` : isQuestion() ? t`answer` : t`antecedent`;
const isQuestion = () => runNow().sentences.every(({tokens}) => tokens.at(-1) === '?');  // a story and a question about it
const inWords = (text) => sourceName() === t`antecedent` ? said(text) : said(text).replaceAll(t`antecedent`, sourceName()).replaceAll(t`cue word`, t`earlier copy`);

class Story {
  constructor() {
    this.grid = new HeadGrid();
    this.figures = [this.grid.figure, training.figure];
    this.top = el('div');
    this.below = el('div');
    this.element = el('div', {class: 'aside'}, this.top, this.below);
  }
  draw(now) {
    const kind = kindOf(), isText = isOfText(), hasGrid = isText || total(now.heads) > 16;
    const told = kind === 'language' ? numbersPart(now) : kind === 'induction' ? inductionPart(now) : isText ? [] : guidePart(now);
    renew(this.top, ...answerPart(now, kind), ...told, ...whyNotLive(now), ...verdictPart(now));
    if (!hasGrid) this.grid.element.remove();
    else if (!this.grid.element.parentNode) this.below.before(this.grid.element);
    if (hasGrid)
      inTurn('grid', () => this.grid.draw(now, {width: sideRoom(), most: 40, wanted: kind === 'language' ? now.live ? 'direct' : 'previous' : 'pattern'}));
    if (!isText) return this.below.replaceChildren();
    renew(this.below, now.live ? el('p', {}, removeHead(), ...otherRemoved([key(state.layer, state.head)])) : null);
  }
}

// The first view has two columns if they fit.
const sideWidth = 400;
const hasSide = () => roomFor() >= 900;
const sideRoom = () => hasSide() ? sideWidth : roomFor();
const pictureRoom = () => hasSide() ? roomFor() - sideWidth - 40 : roomFor();

// The answers at the query, or the tokens that a language model expects next.
function answerPart(now, kind) {
  const isNext = ['language', 'induction'].includes(kind), token = isNext ? now.token : now.query;
  const {rows, changed} = answersNow(now, token, kind === 'language' || kind === 'masked' ? 10 : 5);
  if (rows.length === 0) return isNext ? [el('p', {class: 'note muted'}, t`The predictions after other tokens need the model, which this page does not hold.`)] : [];
  const asked = word(placed(now.tokens, token)), title = isNext ? t`Next token after ${asked}` : kind === 'masked' ? t`Predictions for ${word(now.tokens[token])}` : t`Answer at ${asked}`;
  return [
    el('h2', {}, ...title, now.isAfter ? t`, after the removal` : ''),
    table(['', t`probability`, ...(changed ? [t`before`] : [])], rows.map(({word: answer, probability, before}) => [
      word(answer), bar(probability, fixed(probability)), ...(changed ? [fixed(before)] : [])
    ]), {'aria-label': t`Answers`, class: 'answers'})
  ];
}

// Loss, perplexity and bits per byte of the held-out text, and the surprise of this text.
function numbersPart(now) {
  const line = runNow().metrics.findLast(({step}) => step <= now.step), bits = bitsOf(now)?.filter(Number.isFinite) ?? [];
  const numbers = line ? [
    t`loss ${fixed(line.held_out_loss, 2)}`, line.perplexity && t`perplexity ${fixed(line.perplexity, 1)}`,
    line.bits_per_byte && t`${fixed(line.bits_per_byte, 2)} bits per byte`
  ].filter(Boolean).join(' · ') : '';
  return [
    ...(numbers ? [el('p', {class: 'numbers'}, el('b', {}, numbers), el('span', {class: 'muted'}, line.step === now.step ? t` on held-out text` : t` on held-out text at step ${line.step}`))] : []),
    ...(bits.length ? [el('p', {class: 'numbers'}, el('b', {}, t`${fixed(total(bits) / bits.length, 2)} bits per token`), el('span', {class: 'muted'}, t` on this text`))] : [])
  ];
}

// Three steps: see the attention, remove it, watch the answer.
function guidePart(now) {
  const {layer, head} = state, {tokens, query, antecedent, attention} = now;
  if (antecedent < 0 && !now.live) return [];
  const row = Array.from((now.live?.whole.attention ?? attention).row(layer, head, query));
  const best = row.indexOf(Math.max(...row)), span = antecedent >= 0 ? antecedentSpan(now) : [best, best + 1];
  const names = Array.from({length: span[1] - span[0]}, (_, i) => `${layer}.${head}.${span[0] + i}`);
  const removed = names.every((name) => state.removed.includes(name)), edge = removed ? t`Put the edge back` : t`Remove this edge`;
  const from = el('b', {}, visible(tokens[query])), to = el('b', {}, antecedent >= 0 ? spanText(now, span) : placed(tokens, best));
  const cut = antecedent < 0 ? undefined : cutOf(now, layer, head), other = cut && otherStep(cut, now);
  const over = !cut ? '' : other ? t` At step ${other}, over ${grouped(cut.sentences)} held-out sentences, accuracy ${percent(cut.before)}, and ${percent(cut.accuracy)} after the removal.` :
      t` Over ${grouped(cut.sentences)} held-out sentences, accuracy ${percent(cut.before)}, and ${percent(cut.accuracy)} after the removal.`;
  if (!now.live && !cut) return [];
  return [
    el('h2', {}, t`See it, remove it, watch the answer`),
    el('ol', {class: 'guide'},
       el('li', {}, t`In ${headName(layer, head)}, ${from} puts ${rounded(total(row.slice(...span)))} of its attention on ${to}.`),
       now.live ? el('li', {}, button(edge, () => toggleRemoved(names), {'aria-pressed': String(removed), class: 'first'}), ' ', removeHead(),
                     ...otherRemoved([...names, key(layer, head)])) : null,
       el('li', {}, now.live ? answerChange(now) : null, over))
  ];
}

// Returns {whole, after}: the first answers at a token of the whole model, and after the removal: {word, probability, before}.
function firstAnswers({live}, token) {
  const [after, ...others] = live.reading.answers(token, 2);
  return {whole: [after, ...others].reduce((a, b) => b.before > a.before ? b : a), after};
}

function answerChange(now, token = now.query) {
  const {whole, after} = firstAnswers(now, token), before = fixed(whole.before);
  const answer = el('b', {}, visible(whole.word));
  if (!now.isAfter) return t`The answer is ${answer}, with probability ${before}.`;
  return after.word !== whole.word ?
      t`The answer breaks: ${el('b', {}, visible(after.word))} instead of ${answer}: its probability is ${fixed(whole.probability)} instead of ${before}.` :
      t`The answer stays ${answer}: its probability is ${fixed(whole.probability)} instead of ${before}.`;
}

// Lists what else is removed.
const otherRemoved = (names) => state.removed.some((name) => !names.includes(name)) ?
    [' ', button(t`Put everything back`, () => update({removed: []}))] : [];

function removeHead() {
  const {layer, head} = state, removed = isRemoved(layer, head);
  return button(removed ? t`Put back ${headName(layer, head)}` : t`Remove ${headName(layer, head)}`, () => toggleRemoved([key(layer, head)]), {'aria-pressed': String(removed)});
}

// Returns {previous, induction, others}: the heads with the largest scores, and further induction heads, each {layer, head, kind, score,
// low, high, isInduction, colour}. The scores are those of inspect induction (repeated_json() of views/induction_view.h), if the page has
// them. Otherwise they are those of the watched sentences at the last step, which do not show that a head is an induction head.
function inductionHeads() {
  const {repeated, steps, heads} = runNow(), {scores} = steps.at(-1);
  const ranked = (kind) => allHeads(heads).map(([layer, head], i) => {
    const measured = repeated?.heads[i][kind === 0 ? 'previous_token' : 'induction'], score = measured ? measured.share : scores?.[layer][head][kind] ?? NaN;
    return {layer, head, kind, score, ...measured, isInduction: kind === 1 && Boolean(repeated?.heads[i].is_induction), colour: ink[kind === 0 ? 'head-1' : 'head-0']};
  }).sort((a, b) => b.isInduction - a.isInduction || (b.score || 0) - (a.score || 0));
  const [previous] = ranked(0), [induction, ...others] = ranked(1);
  return {previous, induction, others: others.filter(({isInduction}) => isInduction).map((one) => ({...one, colour: ''}))};
}

// Returns the two arcs of induction from the selected token: to the token after its earlier copy, and from there to that copy.
function inductionArcs({tokens, token, attention}, isNamed) {
  const copy = kindOf() === 'induction' && token > 0 ? tokens.lastIndexOf(tokens[token], token - 1) : -1;
  if (copy < 0) return null;
  const {previous, induction} = inductionHeads(), T = tokens.length;
  return [[induction, token, copy + 1], [previous, copy + 1, copy]].map(([{layer, head, colour}, from, to]) => {
    const weight = attention.of(layer, head)[from * T + to];
    return {from, to, colour, weight, label: isNamed && t`${headName(layer, head)}: ${fixed(weight, 2)}`};
  });
}

// Says which heads are induction heads by the rule of inspect induction, or that the page cannot tell.
function inductionVerdict() {
  const {repeated} = runNow(), {induction, others} = inductionHeads();
  if (!repeated) {
    return t`This page cannot tell which heads are induction heads: it does not have their scores over repeated random tokens. The heads below have the largest scores in the watched sentences at step ${runNow().steps.at(-1).step}.`;
  }
  const found = [induction, ...others].filter(({isInduction}) => isInduction).map(({layer, head, score}) => `${headName(layer, head)} (${fixed(score, 2)})`);
  const doubtful = repeated.heads.filter((head) => head.is_undecided).map(({layer, head, induction: {low, high}}) => t`${headName(layer, head)} (${fixed(low, 2)} to ${fixed(high, 2)})`);
  return paragraphOf([
    found.length > 0 ? t`Induction heads at step ${repeated.step}: ${listed(found)}.` : t`No head is shown to be an induction head at step ${repeated.step}.`,
    t`Rule: over ${repeated.sequences} sequences of ${repeated.min_length} to ${repeated.max_length} different random tokens, each read twice, the mean weight from a token of the second copy to the one behind its first copy has an interval above ${fixed(repeated.least, 2)} (95 % for all heads together).`,
    ...(doubtful.length > 0 ? [t`The sequences do not tell whether these are: ${listed(doubtful.slice(0, 4))}.`] : []),
    ...(Number.isFinite(repeated.right.share) ? [t`The model predicts ${percent(repeated.right.share)} of the tokens of the second copies right.`] : []),
    t`The means below come from these sequences.`
  ]);
}

function inductionPart(now) {
  const {previous, induction, others} = inductionHeads(), arcs = inductionArcs(now), {repeated} = runNow();
  const line = ({layer, head, kind, score, low, high, colour, isInduction}) => {
    const removed = isRemoved(layer, head), name = headName(layer, head), label = el('b', {}, name);
    label.style.color = colour;
    const mean = repeated ? t`${fixed(score, 2)} (interval ${fixed(low, 2)} to ${fixed(high, 2)})` : fixed(score, 2);
    const says = isInduction ? t`${label}: induction head, mean weight behind the earlier copy ${mean}. ` : kind === 1 ?
        t`${label}: the largest mean weight behind the earlier copy, ${mean}. ` : t`${label}: the largest mean weight on the token before, ${mean}. `;
    return el('li', {}, says, now.live ? button(removed ? t`Put it back` : t`Remove it`, () => toggleRemoved([key(layer, head)]),
                                                {'aria-pressed': String(removed), 'aria-label': removed ? t`Put back ${name}` : t`Remove ${name}`}) : '');
  };
  const showsWeight = arcs && now.isAfter && !isRemoved(induction.layer, induction.head);  // a removed head writes nothing
  const weight = showsWeight ? t`After the removal ${headName(induction.layer, induction.head)} puts ${rounded(arcs[0].weight)} of its attention behind the earlier copy. ` : '';
  return [
    el('h2', {}, t`Which heads are induction heads?`), el('p', {class: 'finding'}, inductionVerdict()),
    el('ol', {class: 'guide'}, ...[previous, induction, ...others.slice(0, 3)].map(line)),
    arcs && now.live ? el('p', {class: 'changed'}, weight, answerChange(now, now.token), now.isAfter ? '' : t` Remove heads to see whether it stays.`) : ''
  ];
}

// The verdict on the causes, from causes_verdict() of views/view.h.
function verdictPart(now) {
  const {causes} = runNow(), verdict = causes?.verdict[0], other = verdict && otherStep(causes, now);
  return verdict ? [el('p', {class: 'finding'}, el('b', {}, other ? t`Is the attention the cause at step ${other}? ` : t`Is the attention the cause? `), inWords(verdict), ' ', button(t`Details`, () => chooseTab(views.indexOf(causesView))))] : [];
}
