// What is looked at. `sentence` is OWN for the sentence typed in the view "Try"; `shown` are the heads of the sentence view.
const OWN = -1;
const state = {
  run: 0,
  step: 0,
  sentence: 0,
  layer: 0,
  head: 0,
  token: 0,
  shown: new Set(),
  tab: 0,
  playing: false,
  own: null
};
const key = (layer, head) => `${layer}.${head}`;
const runNow = () => content.runs[state.run];

// What a run did with a sentence at a dumped step.
function dumped(run, step, sentence) {
  const {sentences, steps} = content.runs[run];
  return {
    ...sentences[sentence],
    ...steps[step].answers[sentence],
    attention: dumpedAttention(run, step, sentence),
    heads: content.runs[run].heads,
    step: steps[step].step
  };
}

const subject = () => state.sentence === OWN ? state.own : dumped(state.run, state.step, state.sentence);

// Changes the state and draws what it shows, once a frame.
let frame = 0;
function update(changes) {
  Object.assign(state, changes);
  if (!frame) frame = requestAnimationFrame(draw);
}

function chooseRun(run) {
  const {steps, heads, sentences} = content.runs[run];
  const sentence = Math.min(Math.max(state.sentence, 0), sentences.length - 1);
  const layer = heads.length - 1;
  update({
    run,
    step: steps.length - 1,
    sentence,
    layer,
    head: 0,
    own: null,
    token: sentences[sentence].query,
    shown: new Set(Array.from({length: Math.min(heads[layer], 8)}, (_, head) => key(layer, head)))
  });
}

function chooseSentence(sentence) {
  update({sentence, token: sentence === OWN ? state.own.query : runNow().sentences[sentence].query});
}

// A view is {title, make}; make() gives {element, draw, figures, followsTraining, ownsSentence}.
const made = new Map();  // of `views` (start.js) those that were shown, by number

function draw() {
  frame = 0;
  const held = document.activeElement;
  const view = viewNow();
  drawHeader(view);
  document.querySelectorAll('#tabs [role=tab]').forEach((tab, i) => {
    tab.setAttribute('aria-selected', String(i === state.tab));
    tab.tabIndex = i === state.tab ? 0 : -1;
  });
  const main = document.getElementById('main');
  if (main.firstChild !== view.element) main.replaceChildren(view.element);
  main.setAttribute('aria-labelledby', `tab-${state.tab}`);
  view.draw();
  keepFocus(held);
}

// What was drawn anew in place of the element that had the focus takes it over.
function keepFocus(held) {
  const name = held?.getAttribute('aria-label');
  if (document.activeElement !== document.body || !name) return;
  (held.isConnected ? held : document.querySelector(`[aria-label="${CSS.escape(name)}"]`))?.focus({
    preventScroll: true
  });
}

function viewNow() {
  if (!made.has(state.tab)) made.set(state.tab, views[state.tab].make());
  return made.get(state.tab);
}

function chooseTab(tab) { update({tab: (tab + views.length) % views.length}); }

function drawTabs() {
  const keys = {ArrowRight: 1, ArrowLeft: -1};
  document.getElementById('tabs').replaceChildren(
      ...views.map(({title}, i) => button(title, () => chooseTab(i), {
                     role: 'tab',
                     id: `tab-${i}`,
                     'aria-controls': 'main',
                     onkeydown: (event) => {
                       if (!keys[event.key]) return;
                       event.preventDefault();
                       chooseTab(state.tab + keys[event.key]);
                       document.getElementById(`tab-${(state.tab + views.length) % views.length}`).focus();
                     }
                   })));
  document.getElementById('main').setAttribute('role', 'tabpanel');
}

// A figure's width within the view.
const roomFor = () => Math.max(300, Math.min(1180, document.getElementById('main').clientWidth));

function toggleTheme() {
  setTheme(isDark() ? 'light' : 'dark');
  draw();
}

function start() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  setTheme(dark.matches ? 'dark' : 'light');
  dark.addEventListener('change', () => {
    setTheme(dark.matches ? 'dark' : 'light');
    draw();
  });
  let before = '';
  addEventListener('beforeprint', () => {
    before = isDark() ? 'dark' : 'light';
    setTheme('light');
    draw();
  });
  addEventListener('afterprint', () => {
    setTheme(before);
    draw();
  });
  addEventListener('resize', () => update({}));
  // What had not arrived when the page was first drawn.
  addEventListener('DOMContentLoaded', () => update({}));
  drawTabs();
  chooseRun(0);
  drawFooter();
}
