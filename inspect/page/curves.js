// The page of directories that have numbers alone, as a Log writes them: a panel for each name, and one for all names with the same part
// before a slash, such as gradient/NAME. The URL fragment holds what is chosen: #only=loss&scale=linear&smoothing=0.9&hidden=2.
const curvesPage = {
  only: '', scale: 'automatic', smoothing: 0, hidden: new Set(), lost: [], panels: new Map(),

  start() {
    const summary = el('p', {class: 'muted summary'}, content.runs.map((_, run) => visible(runName(run))).join(' · '));
    topLine(summary);
    document.querySelector('nav').hidden = true;
    const panel = document.getElementById('panel');
    panel.removeAttribute('role');
    this.alert = el('p', {class: 'lost', role: 'alert', hidden: true});
    this.filter = el('input', {type: 'search', 'aria-label': t`Names that contain`, oninput: () => this.choose({only: this.filter.value})});
    this.controls = el('span', {class: 'controls'});
    this.empty = el('p', {class: 'notice', hidden: true});
    this.grid = el('div', {class: 'panels', role: 'group', 'aria-label': t`Curves over the steps`});
    document.getElementById('context').replaceChildren(
        this.alert, el('div', {class: 'controls'}, el('label', {class: 'field'}, el('span', {}, t`Names that contain`), this.filter), this.controls));
    panel.replaceChildren(
        this.empty, this.grid, el('p', {class: 'lead muted'}, t`Point at a curve for its exact numbers; the arrow keys move from step to step and from curve to curve.`));
    addEventListener('popstate', () => this.follow());
    this.follow();
    document.getElementById('footer').append(...thinnedNotes(), t`Made by heed ${content.version}. All digits of the numbers are in metrics.jsonl. This file works offline.`);
  },

  address() {
    const parts = {};
    if (this.only) parts.only = this.only;
    if (this.scale !== 'automatic') parts.scale = this.scale;
    if (this.smoothing > 0) parts.smoothing = this.smoothing;
    if (this.hidden.size > 0) parts.hidden = [...this.hidden].map((run) => run + 1).join();
    if (language !== usualLanguage) parts.language = language;
    return {all: `#${new URLSearchParams(parts)}`};
  },

  // Shows what the URL names.
  follow() {
    const given = new URLSearchParams(location.hash.slice(1)), lost = [];
    const scale = given.get('scale') ?? 'automatic', isScale = scaleNames.includes(scale);
    if (!isScale) lost.push(`${t`Scale`} ${scale}`);
    const smoothing = given.get('smoothing') ?? '0', isSmoothing = smoothings.map(String).includes(smoothing);
    if (!isSmoothing) lost.push(`${t`Smoothing`} ${smoothing}`);
    const hidden = new Set();
    for (const name of (given.get('hidden') ?? '').split(',').filter(Boolean)) {
      const run = Number(name) - 1;
      Object.hasOwn(content.runs, run) ? hidden.add(run) : lost.push(t`Run ${name}`);
    }
    Object.assign(this, {only: given.get('only') ?? '', scale: isScale ? scale : 'automatic', smoothing: isSmoothing ? Number(smoothing) : 0, hidden, lost});
    this.filter.value = this.only;
    this.draw();
  },

  choose(changes) {
    Object.assign(this, changes, {lost: []});
    this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => history.replaceState(null, '', urlWith(this.address().all)), 300);
  },

  draw() {
    const names = [t`automatic`, t`linear`, t`logarithmic`];
    const flip = (run) => this.choose({hidden: new Set([...this.hidden].filter((one) => one !== run).concat(this.hidden.has(run) ? [] : [run]))});
    renew(
        this.controls, select(t`Scale`, names, scaleNames.indexOf(this.scale), (i) => this.choose({scale: scaleNames[i]})),
        select(t`Smoothing`, [t`none`, ...smoothings.slice(1).map(String)], smoothings.indexOf(this.smoothing), (i) => this.choose({smoothing: smoothings[i]})),
        ...(content.runs.length < 2 ? [] : content.runs.map((_, run) => button(visible(runName(run)), () => flip(run), {'aria-pressed': String(!this.hidden.has(run))}))));
    this.alert.hidden = this.lost.length === 0;
    this.alert.textContent = t`This page does not have what its link names: ${this.lost.join('; ')}`;
    const groups = curveGroups(this.only, this.hidden), room = roomFor(), across = Math.max(1, Math.floor((room + 28) / 408));
    const width = Math.floor((room - 28 * (across - 1)) / across);
    this.empty.hidden = groups.size > 0;
    this.empty.textContent = t`No name contains “${this.only}”.`;
    const shown = [...groups].map(([name, curves]) => {
      if (!this.panels.has(name)) this.panels.set(name, new CurvePanel(name));
      const panel = this.panels.get(name);
      panel.draw(curves, width, this.scale, this.smoothing);
      return panel.element;
    });
    if (shown.length !== this.grid.children.length || shown.some((element, i) => element !== this.grid.children[i])) this.grid.replaceChildren(...shown);
  },
};

const scaleNames = ['automatic', 'linear', 'logarithmic'];
const smoothings = [0, 0.6, 0.9, 0.99];

// Returns the exponential moving average of a curve: `share` of the mean before, the rest of the point. Each mean is divided by the sum
// of its weights, as the first point follows no mean.
function smoothed(curve, share) {
  let sum = 0, weight = 0;
  const values = curve.values.map((value) => {
    if (value === null) return null;
    [sum, weight] = [share * sum + (1 - share) * value, share * weight + 1 - share];
    return sum / weight;
  });
  return {...curve, values};
}

// Returns the curves whose names contain `only`, of the runs that are shown: Map of panel name to [{name, label, run, steps, values}].
function curveGroups(only, hidden) {
  const groups = new Map(), isAmong = content.runs.length > 1;
  content.runs.forEach(({curves, steps}, run) => curves.forEach(({name, steps: at, values, count}) => {
    if (hidden.has(run) || !name.includes(only)) return;
    const [group] = name.split('/'), rest = name === group ? name : name.slice(group.length + 1);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push({name, run, steps: steps[at], values, count, label: [visible(rest), isAmong && visible(runName(run))].filter(Boolean).join(' · ')});
  }));
  return groups;
}

const thinnedNotes = () => content.runs.map(({name, curves}) => {
  const [held, all] = [total(curves.map(({values}) => values.length)), total(curves.map(({count}) => count))];
  return held < all ? t`Of ${visible(name)} the page holds ${grouped(held)} of ${grouped(all)} points, with the smallest and the largest of each stretch of steps. ` : '';
});

// The colour of a curve: of its run where a panel has one name, else of its name; the dashes then tell the runs apart.
function styleOf({name, run}, names) {
  const n = names.indexOf(name), count = names.length, among = count > 1 ? n : run;
  const colour = count <= 8 ? ink[`head-${among % 8}`] : `hsl(${Math.round(n / count * 300)} 70% ${isDark() ? 68 : 40}%)`;
  return {stroke: colour, 'stroke-dasharray': count > 1 ? [null, '6 3', '2 3'][run % 3] : null};
}

const exactNumber = (x) => x === null ? t`not finite` : String(x).replace(/-/g, '−');
const nearestIndex = (steps, step) => {
  let low = 0, high = steps.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    steps[middle] <= step ? low = middle : high = middle;
  }
  return step - steps[low] <= steps[high] - step ? low : high;
};

// Returns round numbers from low to high, three to eight of them, or powers of ten.
function niceTicks(low, high, isLogarithmic) {
  if (isLogarithmic) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9), by = Math.max(1, Math.ceil((last - first) / 5));
    const powers = Array.from({length: Math.max(0, Math.floor((last - first) / by) + 1)}, (_, i) => 10 ** (first + i * by));
    return powers.length > 1 ? powers : [low, high];
  }
  const half = high / 2 - low / 2, power = 10 ** Math.floor(Math.log10(half));
  for (const by of [5, 2, 1, 0.5, 0.2].map((n) => n * power)) {
    const first = Math.ceil(low / by - 1e-9), count = Math.floor(high / by + 1e-9) - first + 1;
    if (count >= 3 && count < 12) return Array.from({length: count}, (_, i) => (first + i) * by);
  }
  return [low, high];
}
// Returns a number with some significant digits. Small and large ones have an exponent.
function shortNumber(x, digits) {
  const rounded = Number(x.toPrecision(digits)), size = Math.abs(rounded);
  return (size > 0 && (size < 1e-4 || size >= 1e7) ? rounded.toExponential() : String(rounded)).replace(/-/g, '−');
}

class CurvePanel {
  constructor(name) {
    this.figure = new Figure(visible(name), () => this.rows(), () => content.runs.map((_, run) => visible(runName(run))));
    this.heading = el('h2');
    this.names = el('div', {class: 'names', tabindex: 0, role: 'group'});
    this.element = el('section', {}, this.heading, this.figure.element, this.names);
    const {svg: picture} = this.figure;
    picture.setAttribute('tabindex', 0);
    picture.addEventListener('pointermove', ({clientX, clientY}) => this.point(clientX, clientY));
    picture.addEventListener('pointerleave', () => document.activeElement !== picture && this.choose(null));
    picture.addEventListener('focus', () => this.at ?? this.choose({curve: 0, i: this.curves[0].values.length - 1}));
    picture.addEventListener('blur', () => this.choose(null));
    picture.addEventListener('keydown', (event) => this.press(event));
    this.name = name;
  }

  rows() {
    const steps = [...new Set(this.curves.flatMap(({steps}) => steps))].sort((a, b) => a - b);
    const found = this.curves.map(({steps, values}) => new Map(steps.map((step, i) => [step, values[i]])));
    return [['step', ...this.curves.map(({label}) => label)], ...steps.map((step) => [step, ...found.map((values) => values.get(step) ?? '')])];
  }

  draw(curves, width, scale, smoothing) {
    const {figure} = this, top = 12, height = 150, low = top + height;
    const finite = curves.flatMap(({values}) => values).filter((x) => x !== null);
    let [smallest, largest] = finite.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);
    const isLogarithmic = smallest > 0 && (scale === 'logarithmic' || (scale === 'automatic' && largest > 100 * smallest));
    const isFinite = smallest <= largest, isFlat = smallest === largest;
    if (isFlat) [smallest, largest] = isLogarithmic ? [smallest / 2, largest * 2] : [smallest - (Math.abs(smallest) || 1) / 2, largest + (Math.abs(largest) || 1) / 2];
    const ticks = !isFinite ? [] : isFlat ? [finite[0]] : niceTicks(smallest, largest, isLogarithmic);
    const tickTexts = ticks.map((tick) => shortNumber(tick, ticks.length > 2 ? 12 : 3));
    const left = Math.max(58, 10 + Math.max(...tickTexts.map((text) => textWidth(text, 11)))), inner = width - left - 10;
    const level = (x) => isLogarithmic ? Math.log(x) : x / 2;  // halves: a range of all doubles overflows
    const first = Math.min(...curves.map(({steps}) => steps[0])), last = Math.max(...curves.map(({steps}) => steps.at(-1)));
    const across = (step) => left + (last > first ? (step - first) / (last - first) : 0.5) * inner;
    const down = (x) => x === null ? top - 4 : low - (level(x) - level(smallest)) / (level(largest) - level(smallest)) * height;
    const names = [...new Set(curves.map(({name}) => name))];
    Object.assign(this, {curves, width, across, down, top, low, first, last, styles: curves.map((curve) => styleOf(curve, names))});
    this.heading.textContent = isLogarithmic ? t`${visible(this.name)} (logarithmic)` : visible(this.name);
    figure.begin(width, low + 22, t`Curves of ${visible(this.name)}, steps ${first} to ${last}`);
    const small = {'font-size': 11, fill: ink.muted};
    ticks.forEach((tick, i) => {
      const y = down(tick);
      figure.add('line', {x1: left, x2: left + inner, y1: y, y2: y, stroke: ink.line});
      figure.text(left - 6, y, tickTexts[i], {...small, 'text-anchor': 'end'});
    });
    figure.text(left, low + 13, t`step ${first}`, small);
    if (last > first) figure.text(left + inner, low + 13, t`step ${last}`, {...small, 'text-anchor': 'end'});
    curves.forEach((curve, n) => {
      this.line(curve, {...this.styles[n], opacity: smoothing > 0 ? 0.3 : null});
      if (smoothing > 0) this.line(smoothed(curve, smoothing), this.styles[n]);
    });
    curves.forEach((curve, n) => this.crosses(curve, this.styles[n]));
    this.cursor = figure.add('line', {y1: top, y2: low, stroke: ink.accent, class: 'cursor', visibility: 'hidden'});
    this.dot = figure.add('circle', {r: 4, visibility: 'hidden'});
    this.names.setAttribute('aria-label', visible(this.name));
    this.cells = curves.map(() => el('span', {class: 'at'}));
    this.names.replaceChildren(...curves.map(({label}, n) => el(
        'div', {}, svg('svg', {width: 18, height: 6, 'aria-hidden': 'true'}, svg('line', {x1: 0, x2: 18, y1: 3, y2: 3, 'stroke-width': 3, ...this.styles[n]})),
        el('bdi', {}, label), this.cells[n])));
    this.choose(null);
  }

  // Draws a curve, which ends where a number is not finite.
  line({steps, values, label}, style) {
    const parts = [[]];
    values.forEach((value, i) => {
      if (value === null) parts.push([]);
      else parts.at(-1).push([this.across(steps[i]), this.down(value)]);
    });
    const shapes = parts.filter((part) => part.length > 0).map((part) => part.length > 1 || values.length > 400 ?
        `M${part.map((place) => place.map((v) => v.toFixed(1)).join()).join('L')}` :
        `M${part[0][0] - 2},${part[0][1]}h4`);
    if (shapes.length > 0) this.figure.add('path', {d: shapes.join(''), fill: 'none', 'stroke-width': 1.6, 'stroke-linejoin': 'round', ...style, title: label});
  }

  // Marks the steps whose numbers are not finite by crosses above the panel.
  crosses({steps, values, label}, style) {
    const lost = steps.filter((_, i) => values[i] === null), crosses = [...new Set(lost.map((step) => Math.round(this.across(step) / 3) * 3))];
    if (lost.length > 0) {
      this.figure.add('path', {
        d: crosses.map((x) => `M${x - 3},${this.top - 7}l6,6m0,-6l-6,6`).join(''), fill: 'none', stroke: style.stroke, 'stroke-width': 1.4, class: 'lost-numbers',
        title: `${label}: ${t`${lost.length} of ${values.length} not finite`}`
      });
    }
  }

  // Chooses the point of a curve that is nearest to the pointer.
  point(clientX, clientY) {
    const box = this.figure.box.getBoundingClientRect(), [x, y] = [clientX - box.left, clientY - box.top];
    const step = this.first + (x - this.across(this.first)) / Math.max(1, this.across(this.last) - this.across(this.first)) * (this.last - this.first);
    let nearest = null, least = Infinity;
    this.curves.forEach(({steps, values}, curve) => {
      const i = nearestIndex(steps, step), distance = Math.hypot(this.across(steps[i]) - x, this.down(values[i]) - y);
      if (distance < least) [nearest, least] = [{curve, i}, distance];
    });
    this.choose(nearest);
  }

  press(event) {
    if (!this.at) return;
    const {curve, i} = this.at, {steps, values} = this.curves[curve], by = {ArrowUp: -1, ArrowDown: 1}[event.key];
    const to = {ArrowLeft: i - 1, ArrowRight: i + 1, PageUp: i - 20, PageDown: i + 20, Home: 0, End: values.length - 1}[event.key];
    if (by === undefined && to === undefined) return;
    event.preventDefault();
    const next = indexNear(curve + (by ?? 0), this.curves.length);
    this.choose(by === undefined ? {curve, i: indexNear(to, values.length)} : {curve: next, i: nearestIndex(this.curves[next].steps, steps[i])});
    announce(this.figure.tip.textContent);
  }

  // Shows a point {curve, i} with all its digits and rounded numbers of all curves at its step, or the last numbers.
  choose(at) {
    this.at = at;
    const step = at ? this.curves[at.curve].steps[at.i] : Infinity, hidden = {visibility: at ? null : 'hidden'};
    this.curves.forEach(({steps, values}, n) => {
      const i = nearestIndex(steps, Math.min(step, this.last)), isOther = at && steps[i] !== step;
      this.cells[n].textContent = (values[i] === null ? exactNumber(null) : shortNumber(values[i], 5)) + (isOther ? ` ${t`at step ${steps[i]}`}` : '');
    });
    const x = at ? this.across(step) : 0;
    change(this.cursor, {...this.cursor.given, x1: x, x2: x, ...hidden});
    if (!at) {
      change(this.dot, {...this.dot.given, ...hidden});
      return this.figure.hideTip();
    }
    const {values, label} = this.curves[at.curve], value = values[at.i], y = this.down(value);
    change(this.dot, {...this.dot.given, cx: x, cy: y, fill: this.styles[at.curve].stroke, ...hidden});
    return this.figure.showTip(x, y, el('bdi', {}, label), ` ${exactNumber(value)}, ${t`step ${step}`}`);
  }
}
