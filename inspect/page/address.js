// The URL fragment captures the current view, so that it can be shared: #view=matrix&sentence=2&step=300&layer=2&head=1&word=8, all counted
// from 1, with text=... in place of sentence, and with without=2.1,1.3.5 for removed heads and edges, edges=2,5 for those removed from
// the circuit, and sides=1.1...,1.2... for the view "Side by side". A change of view, run, sentence or head adds an entry to the browser's history.
const viewName = (tab) => fileName(views[tab].title);

function addressNow() {
  if (isOfCurves) return curvesPage.address();
  const {run, step, sentence, layer, head, token, tab} = state;
  const parts = {view: viewName(tab)};
  if (content.runs.length > 1) parts.run = run + 1;
  if (sentence !== OWN) parts.sentence = sentence + 1;
  else if (state.own.typed) parts.text = state.own.typed;
  if (isRemovedAny()) parts.without = state.removed.map(shortName).join();
  if (state.edges.size > 0) parts.edges = [...state.edges].map((i) => i + 1).sort((a, b) => a - b).join();
  if (views[tab] === sideView && chosenSides()) parts.sides = sidesName(chosenSides());
  if (language !== usualLanguage) parts.language = language;
  return {
    place: new URLSearchParams({...parts, layer: layer + 1, head: head + 1}).toString(),
    all: `#${new URLSearchParams({...parts, step: runNow().steps[step].step, layer: layer + 1, head: head + 1, word: token + 1})}`
  };
}

// Returns the page's URL with another fragment. It is absolute: a notebook's frame (about:srcdoc) resolves others against the notebook.
const urlWith = (fragment) => location.href.replace(/#.*|$/, fragment);

const visited = {place: null, timer: 0};

// Browsers limit how often the URL may change. Other changes update it when the slider rests.
function remember() {
  if (document.readyState === 'loading') return;
  const {place, all} = addressNow();
  clearTimeout(visited.timer);
  const replace = () => history.replaceState(null, '', urlWith(all));
  if (visited.place === place) visited.timer = setTimeout(replace, 300);
  else if (visited.place === null || state.playing) replace();
  else {
    history.pushState(null, '', urlWith(all));
    state.lost = [];  // the user has gone on
    header.lost.hidden = true;
  }
  visited.place = place;
}

// Shows the view that the URL names. Missing parameters select the story of the first run's first sentence.
function followAddress() {
  const given = new URLSearchParams(location.hash.slice(1)), lost = [];
  const number = (name, count) => {
    const n = Number(given.get(name) ?? NaN) - 1, isKnown = n >= 0 && n < count && Number.isInteger(n);
    if (given.has(name) && !isKnown) lost.push(`${said(name)} ${given.get(name)}`);
    return isKnown ? n : null;
  };
  const run = number('run', content.runs.length) ?? 0, {sentences, steps, heads} = content.runs[run];
  const sentence = number('sentence', sentences.length) ?? 0;
  const changes = {...storyOf(run, sentence), step: lastStep(run), own: state.run === run ? state.own : null};
  const step = steps.findIndex((one) => one.step === Number(given.get('step') ?? NaN));
  if (step >= 0) changes.step = step;
  else if (given.has('step')) lost.push(t`step ${given.get('step')}`);
  const layer = number('layer', heads.length), head = layer === null ? null : number('head', heads[layer]);
  if (head !== null && key(layer, head) !== key(changes.layer, changes.head))
    Object.assign(changes, {layer, head, shown: new Map([[key(layer, head), 0]]), chosen: true});
  if (!given.has('text')) changes.token = number('word', sentences[sentence].tokens.length) ?? changes.token;
  const removed = (given.get('without') ?? '').match(/[1-9]\d*(\.[1-9]\d*){1,2}/g)?.map((name) => headOfKey(name).map((n) => n - 1)) ?? [];
  changes.removed = removed.filter(([l, h]) => h < heads[l]).map((place) => place.join('.'));
  if (changes.removed.length < (given.get('without') ?? '').split(',').filter(Boolean).length) lost.push(t`without ${given.get('without')}`);
  const count = content.runs[run].circuit?.edges?.length ?? 0;
  changes.edges = new Set();
  for (const name of (given.get('edges') ?? '').split(',').filter(Boolean))
    /^[1-9]\d*$/.test(name) && Number(name) <= count ? changes.edges.add(Number(name) - 1) : lost.push(t`edge ${name}`);
  const tab = views.findIndex((_, i) => viewName(i) === given.get('view'));
  changes.tab = tab >= 0 && (views[tab].isFor?.(content.runs[run]) ?? true) ? tab : 0;
  if (given.has('view') && viewName(changes.tab) !== given.get('view')) lost.push(t`view ${given.get('view')}`);
  const isTyped = given.has('text') && canType(content.runs[run]);
  const both = given.has('sides') ? sidesOfName(given.get('sides')) : null;
  if (given.has('sides') && !both) lost.push(t`sides ${given.get('sides')}`);
  changes.sides = both && {of: placeOfSides({run, sentence: isTyped ? OWN : sentence}), both};
  if (given.has('text') && !isTyped) lost.push(t`text “${given.get('text')}”: this page cannot read typed texts`);
  Object.assign(state, changes, {lost});
  visited.place = null;
  update({});
  if (isTyped) readTyped(given.get('text'), number('word', Infinity), changes.removed);
}

// Shows a text as if the user had typed it, once the model has loaded.
function readTyped(typed, query, removed) {
  const engine = engineOf(state.run), again = () => readTyped(typed, query, removed);
  if (!engine) return addEventListener('load', again, {once: true});
  const text = engine.understand(typed, null, again);
  if (text?.problem) return update({lost: [...new Set([...state.lost, t`text “${typed}”: ${said(text.problem)}`])]});
  if (text) askOwn(engine, {...text, typed, isLinked: true, query: query < text.tokens.length ? query ?? text.query : text.query}, removed);
}
