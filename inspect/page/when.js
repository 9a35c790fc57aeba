// When did the attention become the cause? Shows, for each dumped step, the query's weight on the antecedent in the selected
// head and the effect of removing that edge (explain/studies/cause_history.h).
function whenFigure() {
  const figure = new Figure(
      'when it became the cause', () => whenRows(runNow().history, state.layer, state.head), () => aboutNow({sentence: false, step: false}));
  figure.svg.addEventListener('click', (event) => {
    if (figure.stepAt) chooseNearestStep(figure.stepAt(event.clientX - figure.box.getBoundingClientRect().left));
  });
  return figure;
}

function chooseNearestStep(wanted) {
  const distances = runNow().steps.map(({step}) => Math.abs(step - wanted));
  update({step: distances.indexOf(Math.min(...distances))});
}

const whenEdges = ({steps}, layer, head) =>
    steps.map(({step, accuracy, heads}) => ({...heads[layer][head], step, right: accuracy, without: heads[layer][head].accuracy}));

function whenRows(history, layer, head) {
  return [
    ['step', 'weight', 'effect', 'accuracy', 'accuracy after the removal'],
    ...whenEdges(history, layer, head).map(({step, weight, effect, right, without}) => [step, weight, effect, right, without])
  ];
}

const whenTitle = 'When did it become the cause?';

// Section of the view.
class WhenPart {
  constructor() {
    this.figure = whenFigure();
    this.lead = el('p');
    this.choose = el('div');
    this.verdict = el('p', {class: 'figures'});
    this.element = el('div');
    this.known = [this.lead, this.choose, this.figure.element, this.verdict];
  }
  draw(history) {
    if (!history) {
      return this.element.replaceChildren(
          el('p', {class: 'muted'},
             'Use the slider to see when the weight grew. Whether the answers depended on it by then needs the models ' +
                 'of earlier steps, which this run did not keep: train it again with --set dump.weights=true.'));
    }
    drawWhen(this.figure, history);
    renew(
        this.lead,
        `At each of ${history.steps.length} steps the edge from the query to the ${sourceName()} is removed in ${
            grouped(history.sentences)} held-out sentences. Move the slider, or press the picture; choose another head.`);
    renew(this.choose, chooseHead(runNow().heads));
    renew(this.verdict, inWords(history.verdict[state.layer][state.head].join('\n')));
    if (!this.lead.parentNode) this.element.replaceChildren(...this.known);
  }
}

function drawWhen(figure, history) {
  const {layer, head} = state, points = whenEdges(history, layer, head), room = roomFor(), height = 250;
  const left = 44, right = room - 12, low = height - 34, high = 48, last = Math.max(1, points.at(-1).step);
  const x = (step) => left + step / last * (right - left), y = (value) => low - Math.max(0, Math.min(1, value)) * (low - high);
  figure.stepAt = (at) => (at - left) / (right - left) * last;
  const {step} = runNow().steps[state.step], now = points.findLast((point) => point.step <= step) ?? points[0];
  figure.begin(
      room, height,
      `${headName(layer, head)} at step ${now.step}: weight ${fixed(now.weight, 2)}, effect of removing it ${fixed(now.effect, 2)}, ${
          percent(now.right)} right, ${percent(now.without)} after it`);
  for (const tick of [0, 0.5, 1]) {
    figure.add('line', {x1: left, x2: right, y1: y(tick), y2: y(tick), stroke: ink.line});
    figure.text(left - 6, y(tick), fixed(tick, 1), {'text-anchor': 'end', 'font-size': 11, fill: ink.muted});
  }
  const ends = [[0, 'start', '0'], [last, 'end', `step ${last}`]];
  for (const [at, anchor, text] of ends) figure.text(x(at), low + 16, text, {'text-anchor': anchor, 'font-size': 11, fill: ink.muted});
  const path = (of) => points.map((point) => `${x(point.step).toFixed(1)},${y(of(point)).toFixed(1)}`);
  // The area between the curves: weight without effect, or effect without weight.
  const area = [...path(({weight}) => weight), ...path(({effect}) => effect).reverse()].join(' ');
  figure.add('polygon', {points: area, fill: ink.muted, 'fill-opacity': 0.14, class: 'gap'});
  figure.add('line', {x1: x(step), x2: x(step), y1: high - 6, y2: low, stroke: ink.accent, 'stroke-width': 2, class: 'cursor'});
  const curves = [
    {text: `weight ${fixed(now.weight, 2)}`, colour: ink['head-0'], of: ({weight}) => weight},
    {text: `effect of removing it ${fixed(now.effect, 2)}`, colour: ink.orange, of: ({effect}) => effect},
    {text: `accuracy ${percent(now.right)}`, colour: ink.text, thin: true, of: ({right}) => right},
    {text: `accuracy after the removal ${percent(now.without)}`, colour: ink.muted, thin: true, dashed: true, of: ({without}) => without}
  ];
  let labelX = left, labelY = 10;
  for (const {text, colour, thin, dashed, of} of curves) {
    const style = {stroke: colour, 'stroke-width': thin ? 1.5 : 3, 'stroke-dasharray': dashed ? '5 3' : null, 'stroke-linejoin': 'round'};
    figure.add('polyline', {points: path(of).join(' '), fill: 'none', ...style});
    figure.add('circle', {cx: x(now.step), cy: y(of(now)), r: thin ? 3 : 4.5, fill: colour});
    if (labelX > left && labelX + 14 + textWidth(text, 13) > room) [labelX, labelY] = [left, labelY + 18];
    figure.add('rect', {x: labelX, y: labelY - 2, width: 10, height: 4, fill: colour});
    figure.text(labelX + 14, labelY, text, {'font-size': 13});
    labelX += textWidth(text, 13) + 34;
  }
}
