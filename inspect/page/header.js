// Above every view: the run, the sentence with its answer, and the training.
const header = {};

function drawHeader(view) {
  if (!header.element) makeHeader();
  const run = runNow();
  header.summary.textContent = summaryOf(run);
  const sentences = run.sentences.map(({tokens}, i) => `${i + 1}  ${shortened(tokens)}`);
  const own = state.own ? [`your own: ${shortened(state.own.tokens)}`] : [];
  const chosen = state.sentence === OWN ? sentences.length : state.sentence;
  header.controls.replaceChildren(
      ...(content.runs.length > 1 ? [select('Run', content.runs.map(({name}) => name), state.run, chooseRun)] : []),
      select('Sentence', [...sentences, ...own], chosen, (i) => chooseSentence(i < sentences.length ? i : OWN)));
  header.controls.hidden = view.ownsSentence ?? false;
  const now = subject();
  header.sentence.replaceChildren(...sentenceLine(now));
  header.sentence.dir = direction(now.tokens);
  header.sentence.classList.toggle('long', now.tokens.length > 40);
  header.sentence.hidden = view.ownsSentence ?? false;
  header.training.hidden = !view.followsTraining || state.sentence === OWN;
  if (!header.training.hidden) training.draw();
}

function makeHeader() {
  header.summary = el('p', {class: 'muted summary'});
  header.controls = el('div', {class: 'controls'});
  header.sentence = el('p', {class: 'sentence'});
  header.training = training.make();
  header.element =
      el('div', {},
         el('div', {class: 'top'}, el('h1', {}, 'heed'), header.summary,
            button('Light or dark', toggleTheme, {class: 'theme', 'aria-label': 'Switch between light and dark'})),
         header.controls, header.sentence, header.training);
  document.getElementById('header').replaceChildren(header.element);
  document.title = `heed: ${content.runs.map(({name}) => name).join(' and ')}`;
}

const counted = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`;

function summaryOf({name, heads, parameters, metrics, steps}) {
  const last = metrics.at(-1);
  const same = heads.every((count) => count === heads[0]);
  return [
    name, `${counted(heads.length, 'layer')} of ${same ? counted(heads[0], 'head') : `${heads.join(', ')} heads`}`,
    parameters && `${parameters.toLocaleString('en')} parameters`, `${steps.at(-1).step} steps`,
    last && `${percent(last.held_out_accuracy)} right on held-out examples`
  ].filter(Boolean)
      .join(' · ');
}

const shortened = (tokens) => {
  const text = tokens.map(visible).join(' ');
  return text.length > 90 ? `${[...text].slice(0, 88).join('')} …` : text;
};

// The tokens, the one asked about underlined and its antecedent framed, with the answer.
function sentenceLine({tokens, query, antecedent, predicted, probability, step}) {
  const words = tokens.flatMap(
      (token, i) =>
          [word(
               token,
               {class: i === query   ? 'asked' :
                    i === antecedent ? 'antecedent' :
                                       null}),
           ' ']);
  const right = antecedent >= 0 && tokens[antecedent] === predicted;
  return [
    ...words,
    el('span', {class: 'answer', dir: 'ltr'}, ' → ', word(predicted, {class: right ? 'right' : null}),
       ` ${fixed(probability)}`, el('span', {class: 'muted'}, ` at step ${step}`))
  ];
}

function drawFooter() {
  const partial = content.runs.filter(({steps, dumped_steps}) => steps.length < dumped_steps)
                      .map(
                          ({name, steps, dumped_steps}) => `Of ${name} the page holds ${steps.length} of ${
                              dumped_steps} dumped steps, to stay of a size that opens. `);
  document.getElementById('footer').append(
      ...partial,
      `Made by heed ${
          content
              .version}. Attention weights are right to the three decimals shown; inspect --json gives all digits. ` +
          'This file asks for nothing from any network.');
}
