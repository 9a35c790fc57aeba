// Shown above every view: the run, the sentence with its answer, and the training curves.
const header = {};

function drawHeader(view) {
  if (!header.element) makeHeader();
  const run = runNow(), kind = kindOf(run), isText = !asLines(subject()) && (isOfText() || kind === 'induction') && views[state.tab] === sentenceView;
  header.summary.textContent = header.summary.title = summaryOf(run);
  const sentences = run.sentences.map(({tokens}, i) => `${i + 1} ${verdictSign(run, i)} ${shortened(tokens)}`);
  const own = state.own ? [t`your own: ${shortened(state.own.tokens)}`] : [];
  const chosen = state.sentence === OWN ? sentences.length : state.sentence, several = sentences.length + own.length > 1;
  renew(
      header.controls, ...(content.runs.length > 1 ? [select(t`Run`, content.runs.map(({name}) => name), state.run, chooseRun)] : []),
      ...(several ? [select(kind === 'coreference' ? t`Sentence` : t`Text`, [...sentences, ...own], chosen, (i) => chooseSentence(i < sentences.length ? i : OWN), t`Sentence`)] : []));
  header.controls.hidden = (view.ownsSentence ?? false) || header.controls.childElementCount === 0;
  header.sentence.hidden = header.signs.hidden = (view.ownsSentence ?? false) || isText;
  if (!header.sentence.hidden) drawSentenceLine(subject());
  header.lost.hidden = state.lost.length === 0;
  header.lost.textContent = t`This page does not have what its link names: ${state.lost.join('; ')}`;
  header.training.hidden = !view.followsTraining?.() || (state.sentence === OWN && !view.ownsSentence && !hasModels(state.run));
  if (!header.training.hidden) training.draw();
}

function drawSentenceLine(now) {
  const drawn = `${state.run} ${state.sentence} ${now.tokens.join(' ')} ${now.query}`;
  if (header.drawn !== drawn) {
    header.drawn = drawn;
    const long = now.tokens.length > 40, {words} = header;
    words.replaceChildren(...markedWords(now));
    header.sentence.dir = direction(now.tokens);
    header.sentence.classList.toggle('long', long);
    change(words, {class: 'words', ...(long ? {tabindex: 0, role: 'group', 'aria-label': t`The sentence`} : {})});
    header.asked = words.querySelector('.asked');
    header.signs.replaceChildren(...signsOf(now));
  }
  const {live} = isRemovedAny() ? shownNow() : {}, after = live && firstAnswers({live}, now.query).after;
  renew(header.answer, answerOf(after ? {...now, predicted: after.word, probability: after.probability, isAfter: true} : now));
}

// Runs after drawing, because reading the position of a word forces a layout.
function scrollToAsked() {
  if (!header.asked) return;
  header.words.scrollTop = Math.max(0, header.asked.offsetTop - header.words.clientHeight / 2);
  header.asked = null;
}

function makeHeader() {
  header.summary = el('p', {class: 'muted summary'});
  header.controls = el('div', {class: 'controls'});
  header.words = el('span', {class: 'words'});
  header.answer = el('span', {class: 'answer', dir: 'ltr'});
  header.sentence = el('p', {class: 'sentence'}, header.words, header.answer);
  header.signs = el('p', {class: 'muted signs'});
  header.lost = el('p', {class: 'lost', role: 'alert'});
  header.training = training.make();
  header.element = topLine(header.summary);
  document.getElementById('context').replaceChildren(header.lost, header.controls, header.sentence, header.signs, header.training);
}

// Shows the line above every view, and returns it.
function topLine(summary) {
  const line = el(
      'div', {class: 'top'}, el('h1', {}, 'heed'), summary, sharing(),
      button(isChinese ? 'English' : '中文', switchLanguage, {class: 'language', lang: isChinese ? 'en' : 'zh-Hans'}),
      button('◐', () => drawIn(isDark() ? 'light' : 'dark'), {class: 'theme', 'aria-label': t`Switch between light and dark`, title: t`Light or dark`}));
  document.getElementById('header').replaceChildren(line);
  document.title = `heed: ${listed(content.runs.map((_, run) => runName(run)))}`;
  return line;
}

// A link to the view shown, and how to cite it.
function sharing() {
  const link = el('textarea', {readonly: true, rows: 3, 'aria-label': t`Link to this view`}), cite = el('textarea', {readonly: true, rows: 8, 'aria-label': t`Citation`});
  const copy = (field, text) => button(text, async ({currentTarget}) => {
    field.select();
    await navigator.clipboard?.writeText(field.value).catch(() => document.execCommand('copy'));
    announce(t`Copied`);
    currentTarget.textContent = t`Copied`;
    setTimeout(() => { currentTarget.textContent = text; }, 1500);
  });
  const fill = () => {
    link.value = urlWith(addressNow().all);
    cite.value = citation();
  };
  const close = ({key, currentTarget}) => {
    if (key !== 'Escape' || !currentTarget.open) return;
    currentTarget.open = false;
    currentTarget.firstChild.focus();
  };
  return el('details', {class: 'share', ontoggle: fill, onkeydown: close}, el('summary', {}, t`Share`),
      el('div', {}, link, copy(link, t`Copy link`), cite, copy(cite, t`Copy citation`),
         el('p', {class: 'note muted'}, t`The file itself can be sent or put on a site. Each picture can be saved below it.`)));
}

const citation = () => `@software{heed,
  title = {heed},
  author = {{The heed authors}},
  version = {${content.version}},
  note = {${isOfCurves ? listed(content.runs.map(({name}) => name)) : `${origin()}; ${subject().step > 0 ? `${t`step ${subject().step}`}, ` : ''}${headName(state.layer, state.head)}`}},
  url = {${location.protocol === 'file:' ? '' : location.href}}
}`.replace(/,\n {2}url = \{\}/, '');

// Returns where the data of a picture comes from: run, seed.
const origin = () => [runName(state.run), runNow().seed && t`seed ${runNow().seed}`].filter(Boolean).join(', ');

function summaryOf({name, heads, parameters, metrics, steps, held_out, predicts}) {
  const last = metrics.at(-1), of = predicts === 'next' || held_out === 0 ? t`held-out tokens` : t`${grouped(held_out)} held-out sentences`;
  const same = heads.every((count) => count === heads[0]);
  return [
    name, t`${counted(heads.length, 'layer')} of ${same ? counted(heads[0], 'head') : t`${heads.join(', ')} heads`}`,
    parameters && t`${grouped(parameters)} parameters`, steps.at(-1).step > 0 && t`${steps.at(-1).step} steps`,
    last && (steps.length > 1 ? t`${percent(last.held_out_accuracy)} of ${of} right at step ${last.step}` : t`${percent(last.held_out_accuracy)} of ${of} right`)
  ].filter(Boolean)
      .join(' · ');
}

function shortened(tokens, text = textOf(tokens)) {
  return text.length > 90 ? `${[...text].slice(0, 88).join('')} …` : text;
}

const isIn = ([begin, end], token) => begin <= token && token < end;
const spanText = ({tokens}, [begin, end]) => textOf(tokens.slice(begin, end), gapOf(tokens)).replaceAll(' ##', '').trim();

// Returns the tokens. The query is underlined, the antecedent is framed and other candidates are dashed.
function markedWords({tokens, query, antecedent, candidates}) {
  const gap = gapOf(tokens), nodes = [];
  for (let i = 0; i < tokens.length;) {
    const [, end] = candidates?.find(([begin]) => begin === i) ?? [i, i + 1];
    const isOther = candidates?.some((span) => isIn(span, i)) && !isIn([i, end], query);
    const kind = i === query && kindOf() !== 'encoder' ? 'asked' : isIn([i, end], antecedent) ? 'antecedent' : isOther ? 'candidate' : null;
    const space = /^ ./.test(tokens[i]) ? ' ' : '';  // stays outside the mark
    const words = tokens.slice(i, end).flatMap((token, n) => [n > 0 ? gap : '', el('bdi', {}, inText(n > 0 ? token : token.slice(space.length)))]);
    nodes.push(space, el('span', {class: kind}, words), gap);
    i = end;
  }
  return nodes;
}

// Explains the marks in the sentence.
function signsOf(now) {
  const {tokens, query, antecedent, candidates} = now, own = state.sentence === OWN;
  const sign = (kind, text) => el('span', {class: `sentence-sign ${kind}`}, el('bdi', {}, text));
  const among = (candidates ?? []).flatMap((span, i) => [
    i === 0 ? '' : i + 1 === candidates.length ? t` and ` : t`, `,
    sign(isIn(span, antecedent) ? 'antecedent' : 'candidate', spanText(now, span))
  ]);
  const asked = sign('asked', visible(tokens[query]));
  return [
    ...(kindOf() === 'encoder' ? [] : kindOf() === 'masked' ? t`Prediction at ${asked}.` :
        ['language', 'induction'].includes(kindOf()) ? t`Next token after ${asked}.` :
        runNow().answer === 'class' ? t`Class of the text, read at ${asked}.` :
        isQuestion() ? t`Asked at ${asked}.` : t`Question: what does ${asked} refer to?`),
    ...(candidates ? own ? t` Candidates: ${among}.` : antecedent < 0 ? t` Candidates: ${among}; none of them is correct.` : t` Candidates: ${among}; the framed one is correct.` :
        antecedent < 0 || kindOf() === 'induction' ? [] :
        isQuestion() ? t` Answer: ${sign('antecedent', visible(tokens[antecedent]))}.` : t` Antecedent: ${sign('antecedent', visible(tokens[antecedent]))}.`),
    own ? t` Your own sentence. ` : '', own ? button(t`Back to the watched sentence`, () => chooseSentence(0)) : null
  ].filter((part) => part !== null);
}

// Returns the correct answer, or null if it is unknown.
const expectedAnswer = ({answer, tokens, antecedent, predicted}) =>
    answer ?? (antecedent >= 0 && tokens[antecedent] === predicted ? predicted : null);

// Shows whether a watched sentence is answered correctly at the slider's step, if the correct answer is known.
function verdictSign({sentences, steps}, i, step = state.step) {
  const answer = steps[step].answers[i], expected = expectedAnswer({...sentences[i], ...answer});
  return expected === null ? '' : expected === answer.predicted ? '✓' : '✗';
}

function answerOf(now) {
  const {predicted, probability, step, isAfter} = now, expected = expectedAnswer(now);
  if (runNow().predicts === 'nothing') return [];
  const verdict = expected === null ? [] : expected === predicted ? [' ', el('span', {class: 'right'}, t`✓ right`)] :
      [' ', el('span', {class: 'wrong'}, t`✗ not ${word(expected)}`)];
  return [
    '→ ', word(predicted), ...verdict, ' ', el('span', {class: 'muted'}, isAfter ? t`probability ${fixed(probability)} after the removal` :
        runNow().steps.length > 1 ? t`probability ${fixed(probability)} at step ${step}` : t`probability ${fixed(probability)}`)
  ].filter(Boolean);
}

function drawFooter() {
  const notes = content.runs.flatMap(({name, steps, dumped_steps, model, models_left_out}) => [
    steps.length < dumped_steps && t`Of ${name} the page holds ${steps.length} of ${dumped_steps} dumped steps, to stay of a size that opens. `,
    models_left_out > 0 && t`Of ${name} it holds the models of ${steps.filter(({model}) => model).length + 1} steps, and leaves out ${
        models_left_out}, to stay below 20 MB. `,
    model?.float16 && t`The model of ${name} is in float16 here: what the page computes differs slightly from the program. `
  ].filter(Boolean));
  document.getElementById('footer').append(
      ...notes, t`Made by heed ${content.version}. Attention weights are right to three decimals; inspect --json gives all digits. ` +
          (content.runs.some(({served}) => served) ? '' : t`This file works offline.`));
}
