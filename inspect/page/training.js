// The slider over the dumped steps, and the curves of the first view.
const training = {
  figure: new Figure(t`training`, () => training.rows(), () => aboutNow({sentence: false, step: false})),
  note: el('p', {class: 'muted note'}),
  curves: el('div', {class: 'curves'}),

  make() {
    this.curves.append(el('h2', {}, t`During training`), this.figure.element, this.note);
    this.slider = el('input', {type: 'range', min: 0, 'aria-label': t`Training step`, oninput: () => update({step: Number(this.slider.value)})});
    this.label = el('output', {class: 'step'});
    this.play = button(t`▶ Play`, () => this.toggle(), {class: 'play'});
    this.figure.svg.addEventListener('click', (event) => chooseNearestStep(this.stepAt(event.clientX - this.figure.box.getBoundingClientRect().left)));
    return el('section', {class: 'training', 'aria-label': t`Training`}, el('div', {class: 'slider'}, this.play, this.slider, this.label));
  },

  toggle() {
    const {steps} = runNow(), playing = !state.playing;
    update({playing, step: playing && state.step === steps.length - 1 ? 0 : state.step});
    clearInterval(this.timer);
    if (playing) this.timer = setInterval(() => this.advance(), Math.max(120, Math.min(700, 8000 / steps.length)));
  },

  advance() {
    const last = runNow().steps.length - 1;
    if (state.step < last && !header.training.hidden) return update({step: state.step + 1});
    clearInterval(this.timer);
    return update({playing: false});
  },

  rows() {
    const keys = ['step', 'train_loss', 'held_out_loss', 'held_out_accuracy', 'twin_accuracy'];
    return [keys, ...runNow().metrics.map((line) => keys.map((name) => line[name] ?? ''))];
  },

  draw() {
    const {steps} = runNow(), {step} = steps[state.step];
    this.slider.max = steps.length - 1;
    this.slider.value = state.step;
    this.slider.setAttribute('aria-valuetext', t`step ${step}`);
    this.slider.parentElement.hidden = steps.length < 2;
    this.label.textContent = t`step ${step}`;
    this.play.textContent = state.playing ? t`❚❚ Pause` : t`▶ Play`;
  },

  drawCurves(room) {
    const {steps, metrics} = runNow(), {step} = steps[state.step];
    this.curves.hidden = metrics.length < 2;
    if (this.curves.hidden) return;
    const beside = room > 700, width = beside ? room / 2 - 10 : room, height = 140;
    const last = Math.max(metrics.at(-1).step, steps.at(-1).step, 1);
    const now = metrics.findLast((line) => line.step <= step) ?? metrics[0];
    this.figure.begin(
        room, beside ? height : 2 * height, t`Loss ${fixed(now.held_out_loss)} and accuracy ${percent(now.held_out_accuracy)} at step ${now.step}`);
    const losses = content.runs.flatMap((run) => run.metrics).flatMap((line) => [line.train_loss, line.held_out_loss]);
    const largest = Math.max(...losses.filter(Number.isFinite));
    // Scores in the watched sentences.
    const scoreCurve = ({layer, head, kind, colour}) => ({
      label: `${kind === 0 ? t`previous-token score` : t`induction score`} ${layer + 1}.${head + 1}`,
      colour,
      of: ({step}) => steps.find((one) => one.step === step)?.scores?.[layer][head][kind]
    });
    const ofHeads = kindOf() === 'induction' ? [inductionHeads().previous, inductionHeads().induction].map(scoreCurve) : [{
      label: width > 500 ? t`weight of ${shortName(key(state.layer, state.head))} on the ${sourceName()}` : t`weight of ${shortName(key(state.layer, state.head))}`,
      colour: headColour(state.layer, state.head),
      of: (line) => line.antecedent_weight?.[state.layer]?.[state.head]
    }];
    const plots = [
      {
        top: largest, ticks: [0, largest], name: (v) => fixed(v, 1), curves: [
          {label: t`training loss`, colour: ink.muted, dashed: true, of: (line) => line.train_loss},
          {label: t`held-out loss`, colour: ink.text, of: (line) => line.held_out_loss}
        ]
      },
      {
        top: 1, ticks: [0, 1], name: (v) => `${100 * v} %`, curves: [
          {label: t`right`, colour: ink.text, of: (line) => line.held_out_accuracy},
          {label: width > 500 ? t`both of a pair` : t`pairs`, colour: ink.muted, dashed: true, of: (line) => line.twin_accuracy}, ...ofHeads
        ]
      }
    ];
    const place = beside ? [0, width + 20] : [0, 0], others = content.runs.filter((_, run) => run !== state.run).map(({metrics}) => metrics);
    const stepsAt = plots.map((plot, i) => drawPlot(this.figure, {...plot, x: place[i], y: beside ? 0 : i * height, width, height}, {points: metrics, last, step, others}));
    this.stepAt = (x) => stepsAt[beside && x > width + 20 ? 1 : 0](x);
    const notes = [
      others.length > 0 && t`Faint: the same of ${runName(1 - state.run)}, without its training loss and weight.`,
      kindOf() === 'induction' && t`Scores: mean weights in the watched sentences.`,
      metrics.at(-1).train_loss > metrics.at(-1).held_out_loss &&
          t`Training loss: the mean since the point before, with dropout where the run has it, so it may lie above the held-out loss.`
    ].filter(Boolean);
    this.note.hidden = notes.length === 0;
    this.note.textContent = paragraphOf(notes);
  },
};

// Draws curves over the steps, with a legend of their values at `step`. A curve is {label, colour, dashed, wide, of(point), text(value)}.
// Returns a function from x to the step there.
function drawPlot(figure, {x, y, width, height, top, ticks, name, curves, area}, {points, last, step, others = []}) {
  const left = x + 44, inner = width - 52, now = points.findLast((point) => point.step <= step) ?? points[0];
  let labelX = left, labelY = y + 9;
  const shown = curves.filter(({of}) => points.some((point) => Number.isFinite(of(point))));
  for (const {label, colour, dashed, of, text = (value) => fixed(value, 2)} of shown) {
    const says = `${label} ${text(of(now))}`, wide = textWidth(says, 12) + 14;
    if (labelX > left && labelX + wide > x + width) [labelX, labelY] = [left, labelY + 17];
    for (let dash = 0; dash < (dashed ? 2 : 1); ++dash)
      figure.add('rect', {x: labelX + 6 * dash, y: labelY - 2, width: dashed ? 4 : 10, height: 4, fill: colour});
    figure.text(labelX + 14, labelY, says, {'font-size': 12});
    labelX += wide + 14;
  }
  if (now.step !== step) {  // the step shown was not measured
    const says = t`at step ${now.step}`;
    if (labelX + textWidth(says, 12) > x + width) [labelX, labelY] = [left, labelY + 17];
    figure.text(labelX, labelY, says, {'font-size': 12, fill: ink.muted});
  }
  const low = y + height - 22, high = labelY + 17, place = (at, value) => [left + at / last * inner, low - Math.max(0, Math.min(1, value / top)) * (low - high)];
  const path = (list, of) => list.filter((point) => Number.isFinite(of(point)) && point.step <= last).map((point) => place(point.step, of(point)).map((v) => v.toFixed(1)).join());
  const line = (list, of, attributes) => {
    const shape = path(list, of);
    if (shape.length > 0) figure.add('polyline', {points: shape.join(' '), fill: 'none', 'stroke-linejoin': 'round', ...attributes});
  };
  const small = {'font-size': 11, fill: ink.muted}, [cursor] = place(step, 0);
  for (const tick of ticks) {
    const [, tickY] = place(0, tick);
    figure.add('line', {x1: left, x2: left + inner, y1: tickY, y2: tickY, stroke: ink.line});
    figure.text(left - 6, tickY, name(tick), {...small, 'text-anchor': 'end'});
  }
  figure.text(left, low + 13, '0', small);
  figure.text(left + inner, low + 13, t`step ${last}`, {...small, 'text-anchor': 'end'});
  if (area) figure.add('polygon', {points: [...path(points, shown[0].of), ...path(points, shown[1].of).reverse()].join(' '), fill: ink.muted, 'fill-opacity': 0.14, class: 'gap'});
  figure.add('line', {x1: cursor, x2: cursor, y1: high - 6, y2: low, stroke: ink.accent, 'stroke-width': 2, class: 'cursor'});
  for (const {of} of shown.slice(0, 2).filter(({label}) => label !== t`training loss`)) {
    for (const other of others) line(other, of, {stroke: ink.muted, 'stroke-width': 1.5, 'stroke-opacity': 0.6, class: 'other-run'});
  }
  for (const {colour, dashed, wide, of} of shown) {
    line(points, of, {stroke: colour, 'stroke-width': wide ?? 2, 'stroke-dasharray': dashed ? '5 3' : null});
    const [cx, cy] = place(now.step, of(now));
    if (Number.isFinite(of(now))) figure.add('circle', {cx, cy, r: 3.5, fill: colour});
  }
  return (at) => (at - left) / inner * last;
}
