// State of the page. `sentence` is OWN for a sentence typed in the view "Try". `shown` maps the heads of the sentence view to
// their colour numbers. `edges` are the numbers of the edges removed from the circuit. `chosen` is true if the user, not storyOf(), selected the head. `lost` lists what the URL names and the page does not have.
const OWN = -1;
const state = {
  run: 0, step: 0, sentence: 0, layer: 0, head: 0, token: 0, shown: new Map(), chosen: false,
  tab: 0, playing: false, own: null, removed: [], edges: new Set(), sides: null, lost: []
};
const key = (layer, head) => `${layer}.${head}`;
const headOfKey = (name) => name.split('.').map(Number);
const shortName = (name) => headOfKey(name).map((n) => n + 1).join('.');  // counted from 1
const runNow = () => content.runs[state.run];

// Returns a run's attention and answer for a sentence at a dumped step.
function dumped(run, step, sentence) {
  const {sentences, steps, heads} = content.runs[run];
  return {...sentences[sentence], ...steps[step].answers[sentence], attention: dumpedAttention(run, step, sentence), heads, step: steps[step].step};
}

const subject = () => state.sentence === OWN ? ownNow() : dumped(state.run, state.step, state.sentence);

// Returns the user's own sentence, as read by the model of the slider's step.
function ownNow() {
  const engine = engineOf(state.run), {own} = state;
  const reading = engine && engine.step !== own.step && engine.read(asRead(own), [], () => update({}));
  if (reading) state.own = asSubject(engine, own, reading);
  return state.own;
}

// Changes the state and redraws at most once per frame.
let frame = 0;
function update(changes) {
  Object.assign(state, changes);
  if (!frame) frame = requestAnimationFrame(draw);
}

const lastStep = (run) => content.runs[run].steps.length - 1;

const allHeads = (heads) => heads.flatMap((count, layer) => Array.from({length: count}, (_, head) => [layer, head]));

// Returns the head in which removing the edge from the query to the antecedent lowers the answer's probability most.
const strongestCause = (run) => (content.runs[run].causes?.rows ?? []).filter((row) => isRemovedEdge(row) && row.head !== null)
    .reduce((a, b) => a && a.probability <= b.probability ? a : b, null);

// Returns the initial state for a run and a sentence: the head with the largest effect, else the one that points, at the query.
function storyOf(run, sentence) {
  const {query, antecedent, pointing, tokens} = content.runs[run].sentences[sentence], isAsked = content.runs[run].predicts !== 'nothing';
  const {layer, head} = (antecedent >= 0 && strongestCause(run)) || pointing;
  return {
    run, sentence, layer, head, chosen: false,
    token: isAsked || !sinksOf({tokens})[query] ? query : Math.max(0, sinksOf({tokens}).lastIndexOf(false)),
    removed: [],
    shown: new Map([[key(layer, head), 0]])
  };
}

function chooseRun(run) {
  const sentence = Math.min(Math.max(state.sentence, 0), content.runs[run].sentences.length - 1);
  if (!(views[state.tab].isFor?.(content.runs[run]) ?? true)) state.tab = 0;
  update({...storyOf(run, sentence), step: lastStep(run), own: null, edges: new Set()});
}

// Keeps the head that the user selected.
function chooseSentence(sentence) {
  if (sentence === OWN) return update({sentence, token: state.own.query});
  const {layer, head, shown, ...story} = storyOf(state.run, sentence);
  return update({...story, ...(state.chosen ? {chosen: true} : {layer, head, shown})});
}

function chooseOneHead(layer, head) {
  const shown = state.shown.has(key(layer, head)) ? state.shown : new Map([[key(layer, head), 0]]);
  update({layer, head, shown, chosen: true});
}

// A view is {title, lead, isFor, make}; make() returns {element, draw, figures, followsTraining, ownsSentence, says}. lead() explains
// how to read the view and what to try. says() describes its current content. followsTraining() returns whether it depends on the
// slider. isFor(run) returns whether it shows anything of a run; absent: it does of every run.
const made = new Map();  // views (start.js) already shown, by index

// Draws a part of a view, for many heads in a task of its own, so that the page answers in between. A frame shows each part.
const due = new Map();  // parts that wait, by name
let turn = 0;
function inTurn(name, part) {
  const isLarge = total(runNow().heads) > 144;
  isLarge ? due.set(name, part) : due.delete(name);  // the part that waits may be another run's
  if (!isLarge) return part();
  turn ||= setTimeout(drawDue);
}
function drawDue() {
  const [[name, part] = []] = due;
  turn = part ? requestAnimationFrame(() => setTimeout(drawDue)) : 0;
  due.delete(name);
  part?.();
}
// Draws everything now, for a picture that is kept, printed or of another size.
function drawAll() {
  if (isOfCurves) return curvesPage.draw();
  for (draw(); due.size > 0;) drawDue();
}

function draw() {
  cancelAnimationFrame(frame);
  frame = 0;
  document.querySelectorAll('#tabs [role=tab]').forEach((tab, i) => {
    tab.setAttribute('aria-selected', String(i === state.tab));
    tab.tabIndex = i === state.tab ? 0 : -1;
    tab.hidden = !isShown(i);
  });
  const isOther = !document.getElementById('panel').contains(viewNow().element);
  if (isOther) document.getElementById(`tab-${state.tab}`).scrollIntoView({block: 'nearest', inline: 'nearest'});
  if (!header.element) drawHeader(viewNow());
  isOther ? inTurn('view', drawView) : drawView();
  remember();
}

function drawView() {
  const held = document.activeElement, view = viewNow(), panel = document.getElementById('panel');
  drawHeader(view);
  view.spoken ??= el('p', {class: 'says'});
  view.lead ??= el('p', {class: 'lead muted'});
  view.draw();
  renew(view.lead, views[state.tab].lead());
  renew(view.spoken, view.says?.() ?? []);
  for (const text of [view.lead, view.spoken]) text.hidden = text.textContent === '';
  if (!panel.contains(view.element)) panel.replaceChildren(view.spoken, view.element, view.lead);
  panel.setAttribute('aria-labelledby', `tab-${state.tab}`);
  scrollToAsked();
  keepFocus(held);
}

// Restores the focus after a redraw that replaced the focused element.
function keepFocus(held) {
  const name = held?.getAttribute('aria-label');
  if (document.activeElement !== document.body || !name) return;
  (held.isConnected ? held : document.querySelector(`[aria-label="${CSS.escape(name)}"]`))?.focus({preventScroll: true});
}

function viewNow() {
  if (!made.has(state.tab)) made.set(state.tab, views[state.tab].make());
  return made.get(state.tab);
}

const isShown = (tab) => views[tab].isFor?.(runNow()) ?? true;
const chooseTab = (tab) => update({tab});

function drawTabs() {
  const moved = (from, name) => {
    const all = [...views.keys()].filter(isShown), at = all.indexOf(from);
    return {ArrowRight: all[(at + 1) % all.length], ArrowLeft: all.at(at - 1), Home: all[0], End: all.at(-1)}[name];
  };
  const onkeydown = (event) => {
    const to = moved(state.tab, event.key);
    if (to === undefined) return;
    event.preventDefault();
    chooseTab(to);
    document.getElementById(`tab-${state.tab}`).focus();
  };
  document.getElementById('tabs').replaceChildren(...views.map(
      ({title}, i) => button(said(title), () => chooseTab(i), {role: 'tab', id: `tab-${i}`, 'aria-controls': 'panel', onkeydown})));
}

// Measures the layout only when the window or the lines above `main` may have changed, because each measurement forces a layout.
const measured = new Map();
function measure(name, ask) {
  const place = `${name} ${innerWidth} ${state.run}`;
  if (!measured.has(place)) measured.set(place, ask(document.getElementById('main')));
  return measured.get(place);
}

// Returns the width available for a figure.
const roomFor = () => Math.max(300, Math.min(1344, measure('width', ({clientWidth}) => clientWidth)));

// Returns the height available for a figure, below the header and the text above it.
const heightFor = () => Math.max(300, window.innerHeight - measure('top', ({offsetTop}) => offsetTop) - 150);

// Returns the run, sentence, step and head of a picture, as far as it shows them.
function aboutNow({sentence = true, step = true, head = true} = {}) {
  const now = subject();
  return [runName(state.run), step && now.step > 0 && t`step ${now.step}`, head && headName(state.layer, state.head), sentence && shortened(now.tokens)].filter(
      Boolean);
}

const runName = (run) => content.runs[run].name;

function drawIn(theme) {
  setTheme(theme);
  drawAll();
}

// Returns the result of make() in the light theme.
function inLight(make) {
  if (!isDark()) return make();
  drawIn('light');
  try {
    return make();
  } finally {
    drawIn('dark');
  }
}

function start() {
  document.documentElement.lang = isChinese ? 'zh-Hans' : 'en';
  document.querySelectorAll('nav, #tabs').forEach((node) => node.setAttribute('aria-label', t`Views`));
  const dark = matchMedia('(prefers-color-scheme: dark)');
  setTheme(dark.matches ? 'dark' : 'light');
  dark.addEventListener('change', () => drawIn(dark.matches ? 'dark' : 'light'));
  let before = '';
  addEventListener('beforeprint', () => {
    before = isDark() ? 'dark' : 'light';
    drawIn('light');
  });
  addEventListener('afterprint', () => drawIn(before));
  addEventListener('resize', drawAll);
  if (isOfCurves) return curvesPage.start();
  addEventListener('popstate', followAddress);
  drawTabs();
  followAddress();
  draw();
  // Follows the URL again once all data has loaded, unless the user has changed the view by then.
  const first = addressNow().all;
  addEventListener('DOMContentLoaded', () => addressNow().all === first ? followAddress() : update({}));
  drawFooter();
}
