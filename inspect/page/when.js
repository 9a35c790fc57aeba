// When did the attention become the cause? Shows, for each dumped step, the query's weight on the antecedent in the selected
// head and the effect of removing that edge (explain/studies/cause_history.h).

const chooseNearestStep = (wanted) => update({step: nearestStep(state.run, wanted)});

const whenEdges = ({steps}, layer, head) =>
    steps.map(({step, accuracy, heads}) => ({...heads[layer][head], step, right: accuracy, without: heads[layer][head].accuracy}));

function whenRows(history, layer, head) {
  return [
    ['step', 'weight', 'effect', 'accuracy', 'accuracy after the removal'],
    ...whenEdges(history, layer, head).map(({step, weight, effect, right, without}) => [step, weight, effect, right, without])
  ];
}

// Section of the view.
class WhenPart {
  constructor() {
    this.figure = new Figure(t`when it became the cause`, () => whenRows(runNow().history, state.layer, state.head), () => aboutNow({sentence: false, step: false}));
    this.figure.svg.addEventListener('click', (event) => this.figure.stepAt && chooseNearestStep(this.figure.stepAt(event.clientX - this.figure.box.getBoundingClientRect().left)));
    this.lead = el('p');
    this.choose = el('div');
    this.verdict = el('ul', {class: 'figures'});
    this.element = el('div');
    this.known = [this.lead, this.choose, this.figure.element, this.verdict];
  }
  draw(history) {
    if (!history) {
      return this.element.replaceChildren(
          el('p', {class: 'muted'},
             t`Use the slider to see when the weight grew. Whether the answers depended on it by then needs the models of earlier steps, which this run did not keep: train it again with --set dump.weights=true.`));
    }
    drawWhen(this.figure, history);
    renew(
        this.lead,
        t`At each of ${history.steps.length} steps the edge from the query to the ${sourceName()} is removed in ${
            grouped(history.sentences)} held-out sentences. Move the slider, or press the picture; choose another head.`);
    renew(this.choose, chooseHead(runNow().heads));
    renew(this.verdict, ...findings(history.verdict[state.layer][state.head]));
    if (!this.lead.parentNode) this.element.replaceChildren(...this.known);
  }
}

function drawWhen(figure, history) {
  const {layer, head} = state, points = whenEdges(history, layer, head), room = roomFor(), height = 250;
  const {step} = runNow().steps[state.step], now = points.findLast((point) => point.step <= step) ?? points[0];
  figure.begin(
      room, height,
      t`${headName(layer, head)} at step ${now.step}: weight ${fixed(now.weight, 2)}, effect of removing it ${fixed(now.effect, 2)}, ${
          percent(now.right)} right, ${percent(now.without)} after it`);
  // The area between the curves: weight without effect, or effect without weight.
  figure.stepAt = drawPlot(figure, {
    x: 0, y: 0, width: room, height, top: 1, ticks: [0, 0.5, 1], name: (tick) => fixed(tick, 1), area: true, curves: [
      {label: t`weight`, colour: ink['head-0'], wide: 3, of: ({weight}) => weight},
      {label: t`effect of removing it`, colour: ink.orange, wide: 3, of: ({effect}) => effect},
      {label: t`accuracy`, colour: ink.text, wide: 1.5, of: ({right}) => right, text: percent},
      {label: t`accuracy after the removal`, colour: ink.muted, wide: 1.5, dashed: true, of: ({without}) => without, text: percent}
    ]
  }, {points, step, last: Math.max(1, points.at(-1).step)});
}
