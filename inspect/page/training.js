// The slider over the dumped steps, and the curves of the first view.
const training = {
  figure: new Figure('training', () => training.rows(), () => aboutNow({sentence: false, step: false})),
  note: el('p', {class: 'muted note'}),
  curves: el('div', {class: 'curves'}),

  make() {
    this.curves.append(el('h2', {}, 'During training'), this.figure.element, this.note);
    this.slider = el('input', {type: 'range', min: 0, 'aria-label': 'Training step', oninput: () => update({step: Number(this.slider.value)})});
    this.label = el('output', {class: 'step'});
    this.play = button('▶ Play', () => this.toggle(), {class: 'play'});
    this.figure.svg.addEventListener('click', (event) => this.jump(event));
    return el('section', {class: 'training', 'aria-label': 'Training'}, el('div', {class: 'slider'}, this.play, this.slider, this.label));
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

  jump(event) { chooseNearestStep(this.stepAt(event.clientX - this.figure.box.getBoundingClientRect().left)); },

  rows() {
    const keys = ['step', 'train_loss', 'held_out_loss', 'held_out_accuracy', 'twin_accuracy'];
    return [keys, ...runNow().metrics.map((line) => keys.map((name) => line[name] ?? ''))];
  },

  draw() {
    const {steps} = runNow(), {step} = steps[state.step];
    this.slider.max = steps.length - 1;
    this.slider.value = state.step;
    this.slider.setAttribute('aria-valuetext', `step ${step}`);
    this.slider.parentElement.hidden = steps.length < 2;
    this.label.textContent = `step ${step}`;
    this.play.textContent = state.playing ? '❚❚ Pause' : '▶ Play';
  },

  drawCurves(room) {
    const {steps, metrics} = runNow(), {step} = steps[state.step];
    this.curves.hidden = metrics.length < 2;
    if (this.curves.hidden) return;
    this.note.hidden = !(metrics.at(-1).train_loss > metrics.at(-1).held_out_loss);
    this.note.textContent =
        'Training loss: the mean since the point before, with dropout where the run has it, so it may lie above the held-out loss.';
    const beside = room > 700, width = beside ? room / 2 - 10 : room, height = 130;
    const last = Math.max(metrics.at(-1).step, steps.at(-1).step, 1);
    const now = metrics.findLast((line) => line.step <= step) ?? metrics[0];
    this.figure.begin(
        room, beside ? height : 2 * height, `Loss ${fixed(now.held_out_loss)} and accuracy ${percent(now.held_out_accuracy)} at step ${step}`);
    const largest =
        Math.max(...content.runs.flatMap((run) => run.metrics).flatMap((line) => [line.train_loss, line.held_out_loss]).filter(Number.isFinite));
    const scoreCurve = ({layer, head, kind, name, colour}) => ({
      label: `${width > 500 ? name : name.replace(' head', '').replace('-token', '')} ${layer + 1}.${head + 1}`,
      colour,
      of: ({step}) => steps.find((one) => one.step === step)?.scores?.[layer][head][kind]
    });
    const ofHeads = kindOf() === 'induction' ? Object.values(inductionHeads()).map(scoreCurve) : [{
      label: `weight of ${state.layer + 1}.${state.head + 1}${width > 500 ? ' on the antecedent' : ''}`,
      colour: headColour(state.layer, state.head),
      of: (line) => line.antecedent_weight?.[state.layer]?.[state.head]
    }];
    const plots = [
      {
        x: 0, y: 0, top: largest, ticks: [0, largest], name: (v) => fixed(v, 1), curves: [
          {label: 'training loss', colour: ink.muted, dashed: true, of: (line) => line.train_loss},
          {label: 'held-out loss', colour: ink.text, of: (line) => line.held_out_loss}
        ]
      },
      {
        x: beside ? width + 20 : 0, y: beside ? 0 : height, top: 1, ticks: [0, 1], name: (v) => `${100 * v} %`, curves: [
          {label: 'right', colour: ink.text, of: (line) => line.held_out_accuracy},
          {label: width > 500 ? 'both of a pair' : 'pairs', colour: ink.muted, dashed: true, of: (line) => line.twin_accuracy}, ...ofHeads
        ]
      }
    ];
    const left = 44, inner = width - left - 8;
    this.stepAt = (x) => ((beside && x > width + 20 ? x - width - 20 : x) - left) / inner * last;
    const others = content.runs.filter((_, run) => run !== state.run).map(({metrics}) => metrics);
    for (const plot of plots) this.plot(plot, {left, inner, height, last, step, metrics, others});
    if (others.length > 0)
      this.note.textContent = `Faint: the same of ${runName(1 - state.run)}, without its training loss and weight. ${this.note.textContent}`;
    this.note.hidden = this.note.hidden && others.length === 0;
  },

  plot({x, y, top, ticks, name, curves}, {left, inner, height, last, step, metrics, others}) {
    const low = y + height - 14, high = y + 26, figure = this.figure;
    const line = (points, attributes) => figure.add('polyline', {points: points.map((p) => p.map((v) => v.toFixed(1)).join()).join(' '), fill: 'none', ...attributes});
    const place = (at, value) => [x + left + at / last * inner, low - value / top * (low - high)];
    for (const tick of ticks) {
      const [, tickY] = place(0, tick);
      figure.add('line', {x1: x + left, x2: x + left + inner, y1: tickY, y2: tickY, stroke: ink.line});
      figure.text(x + left - 6, tickY, name(tick), {'text-anchor': 'end', 'font-size': 11, fill: ink.muted});
    }
    const [cursor] = place(step, 0);
    figure.add('line', {x1: cursor, x2: cursor, y1: high - 6, y2: low, stroke: ink.accent, 'stroke-width': 2, class: 'cursor'});
    const now = metrics.findLast((line) => line.step <= step) ?? metrics[0];
    let labelX = x + left;
    for (const {of} of curves.slice(0, 2).filter((curve) => curve.label !== 'training loss')) {
      for (const other of others) {
        const points = other.filter((line) => Number.isFinite(of(line)) && line.step <= last).map((line) => place(line.step, of(line)));
        if (points.length === 0) continue;
        line(points, {stroke: ink.muted, 'stroke-width': 1.5, 'stroke-opacity': 0.6, class: 'other-run'});
      }
    }
    for (const {label, colour, dashed, of} of curves) {
      const points = metrics.filter((line) => Number.isFinite(of(line))).map((line) => place(line.step, of(line)));
      if (points.length === 0) continue;
      line(points, {stroke: colour, 'stroke-width': 2, 'stroke-dasharray': dashed ? '5 3' : null, 'stroke-linejoin': 'round'});
      if (Number.isFinite(of(now))) {
        const [cx, cy] = place(now.step, of(now));
        figure.add('circle', {cx, cy, r: 3.5, fill: colour});
      }
      const text = `${label} ${fixed(of(now), 2)}`;
      for (let dash = 0; dash < (dashed ? 2 : 1); ++dash)
        figure.add('rect', {x: labelX + 6 * dash, y: y + 7, width: dashed ? 4 : 10, height: 4, fill: colour});
      figure.text(labelX + 14, y + 9, text, {'font-size': 12});
      labelX += textWidth(text, 12) + (inner > 400 ? 26 : 18);
    }
  },
};
