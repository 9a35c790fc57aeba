// Shown above every view: the run, the sentence with its answer, and the training curves.
const header = {};

function drawHeader(view) {
  if (!header.element) makeHeader();
  const run = runNow();
  header.summary.textContent = summaryOf(run);
  const sentences = run.sentences.map(({tokens}, i) => `${i + 1} ${verdictSign(run, i)} ${shortened(tokens)}`);
  const own = state.own ? [`your own: ${shortened(state.own.tokens)}`] : [];
  const chosen = state.sentence === OWN ? sentences.length : state.sentence;
  renew(
      header.controls, ...(content.runs.length > 1 ? [select('Run', content.runs.map(({name}) => name), state.run, chooseRun)] : []),
      select('Sentence', [...sentences, ...own], chosen, (i) => chooseSentence(i < sentences.length ? i : OWN)));
  header.controls.hidden = view.ownsSentence ?? false;
  header.sentence.hidden = header.signs.hidden = view.ownsSentence ?? false;
  if (!header.sentence.hidden) drawSentenceLine(subject());
  const verdict = run.causes?.verdict[0];
  header.verdict.hidden = !verdict || header.sentence.hidden || view === made.get(views.indexOf(causesView));
  if (!header.verdict.hidden) renew(header.verdict, el('b', {}, 'Is the attention the cause? '), verdict);
  header.training.hidden = !view.followsTraining?.() || (state.sentence === OWN && !view.ownsSentence && !hasModels(state.run));
  if (!header.training.hidden) training.draw(view);
}

function drawSentenceLine(now) {
  const drawn = `${state.run} ${state.sentence} ${now.tokens.join(' ')} ${now.query}`;
  if (header.drawn !== drawn) {
    header.drawn = drawn;
    const long = now.tokens.length > 40, {words} = header;
    words.replaceChildren(...markedWords(now));
    header.sentence.dir = direction(now.tokens);
    header.sentence.classList.toggle('long', long);
    for (const [name, value] of [['tabindex', 0], ['role', 'group'], ['aria-label', 'The sentence']]) {
      if (long) {
        words.setAttribute(name, value);
      } else {
        words.removeAttribute(name);
      }
    }
    header.asked = words.querySelector('.asked');
    header.signs.replaceChildren(...signsOf(now));
  }
  renew(header.answer, answerOf(now));
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
  header.verdict = el('p', {class: 'finding'});
  header.training = training.make();
  header.element =
      el('div', {},
         el('div', {class: 'top'}, el('h1', {}, 'heed'), header.summary,
            button('Light or dark', toggleTheme, {class: 'theme', 'aria-label': 'Switch between light and dark'})),
         header.controls, header.sentence, header.signs, header.verdict, header.training);
  document.getElementById('header').replaceChildren(header.element);
  document.title = `heed: ${content.runs.map(({name}) => name).join(' and ')}`;
}

const counted = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`;

function summaryOf({name, heads, parameters, metrics, steps, held_out, predicts}) {
  const last = metrics.at(-1), of = predicts === 'next' || held_out === 0 ? 'held-out tokens' : `${grouped(held_out)} held-out sentences`;
  const same = heads.every((count) => count === heads[0]);
  return [
    name, `${counted(heads.length, 'layer')} of ${same ? counted(heads[0], 'head') : `${heads.join(', ')} heads`}`,
    parameters && `${grouped(parameters)} parameters`, steps.at(-1).step > 0 && `${steps.at(-1).step} steps`,
    last && `${percent(last.held_out_accuracy)} of ${of} right`
  ].filter(Boolean)
      .join(' · ');
}

const shortened = (tokens) => {
  const text = textOf(tokens);
  return text.length > 90 ? `${[...text].slice(0, 88).join('')} …` : text;
};

const isIn = ([begin, end], token) => begin <= token && token < end;
const spanText = ({tokens}, [begin, end]) => textOf(tokens.slice(begin, end));

// Returns the tokens. The query is underlined, the antecedent is framed and other candidates are dashed.
function markedWords({tokens, query, antecedent, candidates}) {
  const gap = gapOf(tokens), nodes = [];
  for (let i = 0; i < tokens.length;) {
    const [, end] = candidates?.find(([begin]) => begin === i) ?? [i, i + 1];
    const kind = i === query                                          ? 'asked' :
        isIn([i, end], antecedent)                                    ? 'antecedent' :
        candidates?.some((span) => isIn(span, i)) && !isIn([i, end], query) ? 'candidate' :
                                                                        null;
    const words = tokens.slice(i, end).flatMap((token, n) => [n > 0 ? gap : '', el('bdi', {}, inText(token))]);
    nodes.push(el('span', {class: kind}, words), gap);
    i = end;
  }
  return nodes;
}

// Explains the marks in the sentence.
function signsOf(now) {
  const {tokens, query, antecedent, candidates} = now, own = state.sentence === OWN;
  const sign = (kind, text) => el('span', {class: `sentence-sign ${kind}`}, el('bdi', {}, text));
  const among = (candidates ?? []).flatMap((span, i) => [
    i === 0 ? '' : i + 1 === candidates.length ? ' and ' : ', ',
    sign(isIn(span, antecedent) ? 'antecedent' : 'candidate', spanText(now, span))
  ]);
  const asked = sign('asked', visible(tokens[query]));
  return [
    ...(runNow().predicts === 'nothing' ? ['Query: ', asked, '.'] :
        antecedent < 0 && runNow().predicts === 'next' ? ['Next token after ', asked, '.'] :
                                                         ['Question: what does ', asked, ' refer to?']),
    ...(candidates     ? [' Candidates: ', ...among, own ? '.' : antecedent < 0 ? '; none of them is meant.' : '; the framed one is meant.'] :
        antecedent < 0 ? [] :
                         [' Antecedent: ', sign('antecedent', visible(tokens[antecedent])), '.']),
    own ? ' Your own sentence. ' : '', own ? button('Back to the watched sentence', () => chooseSentence(0)) : null
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
  const {predicted, probability, step} = now, expected = expectedAnswer(now);
  if (runNow().predicts === 'nothing') return [];
  const verdict = expected === null ? [] :
      expected === predicted        ? [' ', el('span', {class: 'right'}, '✓ right')] :
                                      [' ', el('span', {class: 'wrong'}, '✗ not ', word(expected))];
  return [
    '→ ', word(predicted), ...verdict, ' ', el('span', {class: 'muted'}, `probability ${fixed(probability)} at step ${step}`)
  ].filter(Boolean);
}

function drawFooter() {
  const models = content.runs.filter(({models_left_out}) => models_left_out > 0)
                     .map(
                         ({name, steps, models_left_out}) => `Of ${name} it holds the models of ${
                             steps.filter(({model}) => model).length + 1} steps, and leaves out ${
                             models_left_out}, to stay below 20 MB. `);
  const partial = content.runs.filter(({steps, dumped_steps}) => steps.length < dumped_steps)
                      .map(
                          ({name, steps, dumped_steps}) => `Of ${name} the page holds ${steps.length} of ${
                              dumped_steps} dumped steps, to stay of a size that opens. `);
  document.getElementById('footer').append(
      ...partial, ...models,
      `Made by heed ${
          content
              .version}. Attention weights are right to the three decimals shown; inspect --json gives all digits. ` +
          'This file works offline.');
}
