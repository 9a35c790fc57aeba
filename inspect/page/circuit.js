// The circuit of a run's held-out minimal pairs (explain/circuits/circuit_study.h): which head or MLP reads the output of which other one,
// from the words to the answer. A click removes an edge or a node; the faithfulness of what is left was measured by circuit_parts().
const circuitView = {
  title: 'Circuit',
  isFor: ({circuit, circuit_missing}) => Boolean(circuit || circuit_missing),
  lead: () => '',
  make() {
    const figure = new Figure(t`circuit`, () => circuitRows(runNow().circuit), () => [...aboutNow({sentence: false, step: false, head: false}), t`step ${runNow().circuit.step}`]);
    const element = el('section'), left = el('div', {class: 'kept'}), told = el('div'), list = el('div'), legend = el('p', {class: 'muted'});
    const looks = new TableBelow(t`Where the heads look in the pair above`), below = new TableBelow(t`How sure each edge is`);
    const both = el('div', {class: 'beside'}, el('div', {class: 'drawn'}, figure.element, legend, left), el('div', {class: 'edges'}, told, list));
    let pointed = -1, of = null, isTold = false;
    const toggle = (edges) => {
      const {edges: removed} = state;
      const isGone = edges.every((i) => removed.has(i));
      edges.forEach((i) => isGone ? removed.delete(i) : removed.add(i));
      draw();
      remember();
      announce(left.textContent);
    };
    const point = (i) => {
      pointed = i;
      draw();
    };
    const draw = () => {
      const {circuit} = runNow(), {edges: removed} = state;
      left.classList.toggle('stays', removed.size > 0);
      renew(left, ...whatIsLeft(circuit, removed, () => {
        toggle([...removed]);
        list.querySelector('button')?.focus({preventScroll: true});
      }));
      const shown = {kept: onPaths(circuit, removed), removed, pointed, toggle, point, isTold};
      drawCircuit(figure, circuit, shown);
      renew(list, ...edgeList(circuit, shown));
    };
    return {
      figures: [figure], element, followsTraining: () => false, ownsSentence: true,
      draw() {
        const {circuit, circuit_missing} = runNow();
        if (!circuit) return element.replaceChildren(el('p', {class: 'notice'}, said(circuit_missing)));
        if (of !== circuit) {
          of = circuit;
          const [verdict, ...more] = circuit.says, isReported = circuit.verdict === 'circuit', path = isReported ? pathInWords(circuit) : [];
          isTold = path.length > 0;
          const figures = el('ul', {class: 'figures'}, [...isTold ? [said(verdict)] : [], ...more.map((text) => said(text.replace(/ -(?=\d)/g, ' −'))), ...howMeasured(circuit)].map((text) => el('li', {}, text)));
          const says = isTold ? [] : [el('p', {class: 'verdict'}, said(verdict))];
          if (!isReported) return element.replaceChildren(...says, figures);
          told.replaceChildren(...path, ...keptTable(circuit));
          legend.textContent = paragraphOf([t`Read it from the words up. An edge is what a later part reads of an earlier one: a head as its query (q) or key (k), which set where it looks, or as its value (v), what it passes on. Wide: a large effect.`, ...circuit.edges.every((edge) => edge.survives) ? [] : [t`Dashed: does not survive, but may have a large effect.`]]);
          element.replaceChildren(...pairOf(circuit), ...says, both, el('h3', {}, t`How sure the circuit is`), figures, looks.element, below.element);
          looks.draw(() => el('div', {}, ...headsOf(circuit)));
          below.draw(() => {
            const [head, ...rows] = circuitRows(circuit);
            return el('div', {}, table(head, rows, {'aria-label': t`Edges of the circuit`}), el('p', {class: 'muted'}, ...(circuit.method === 'exact' ? [] : [t`The estimate by ${circuit.method} sets the order in which edges are chosen, and may be far from the effect.`, ' ']), t`The ${circuit.methods.length} methods: ${circuit.methods.join(', ')}.`, ...(circuit.methods.includes('exact') ? [' ', t`exact measures each edge by patching, and chooses each edge that survives.`] : []), ' ', t`Each interval is of one edge alone: of 20 edges without an effect, about one has an interval without 0.`));
          });
        }
        if (circuit.verdict === 'circuit') draw();
      },
    };
  },
};

// Formats a figure without bounds, and a share, with their intervals as views/circuit_view.h does.
const rangeText = (low, high, format) => low === null || high === null ? t` (no bounds)` : t` (${format(low)} to ${format(high)})`;
function figureText({mean, low, high}) {
  const largest = Math.max(Math.abs(low), Math.abs(high)), digits = low === null || high === null || largest < 10 ? 2 : largest < 100 ? 1 : 0;
  return signed(mean, digits) + rangeText(low, high, (x) => fixed(x, digits));
}
const shareText = ({mean, low, high}) => percent(mean) + rangeText(low, high, (x) => fixed(100 * x, 1));

const effectOf = ({exact, effect}) => exact ?? effect;
const edgeText = (edge) => `${edgeName(edge)} ${edge.exact ? '' : '~'}${figureText(effectOf(edge))}`;
const nodeKey = ({kind, layer, head}) => [kind, layer, head].join();
const headKey = ({layer, head}) => nodeKey({kind: 'head', layer, head});
const nodeName = ({kind, layer, head}) =>
    kind === 'head' ? headName(layer, head) : kind === 'mlp' ? t`layer ${layer + 1} MLP` : kind === 'logits' ? t`answer` : t`words`;
const edgesFrom = (edges, node) => [...edges.keys()].filter((i) => nodeKey(edges[i].from) === nodeKey(node));  // their indices
const edgeName = ({from, to, nodes}) => `${nodeName(from)} → ${inputName(to, nodes)}`;

// Names an input as CircuitGraph::name() does: several heads may share one of keys or values.
function inputName({kind, layer, head}, nodes) {
  if (kind === 'query') return t`${headName(layer, head)} query`;
  if (kind === 'key') return nodes.length > 1 ? t`layer ${layer + 1} key head ${head + 1}` : t`${headName(layer, head)} key`;
  if (kind === 'value') return nodes.length > 1 ? t`layer ${layer + 1} value head ${head + 1}` : t`${headName(layer, head)} value`;
  return nodeName(nodes[0]);
}

function circuitRows({edges, resamples, method, methods}) {
  const isEstimated = method !== 'exact', ends = (figure) => [figure?.mean ?? '', figure?.low ?? '', figure?.high ?? ''].map((x) => x === '' ? x : fixed(x, 2));
  return [
    [t`which edge`, t`effect`, t`at least`, t`at most`, ...isEstimated ? [t`estimate by ${method}`] : [], t`chosen in, of ${resamples} resamples`, t`chosen by, of ${methods.length} methods`, t`survives`],
    ...edges.map((edge) => [edgeName(edge), ...ends(effectOf(edge)), ...isEstimated ? [fixed(edge.effect.mean, 2)] : [], rounded(edge.resamples), edge.methods, edge.survives ? t`yes` : t`no`])
  ];
}

// Returns which edges are still on a path from the embedding to the logits, like CircuitGraph::on_paths().
function onPaths({edges}, removed) {
  let kept = edges.map((_, i) => !removed.has(i)), before;
  do {
    before = total(kept.map(Number));
    const here = edges.filter((_, i) => kept[i]), reached = new Set(here.flatMap(({nodes}) => nodes.map(nodeKey))), read = new Set(here.map(({from}) => nodeKey(from)));
    kept = kept.map((isKept, i) => {
      const {from, nodes} = edges[i];
      return isKept && (from.kind === 'embedding' || reached.has(nodeKey(from))) && nodes.some((node) => node.kind === 'logits' || read.has(nodeKey(node)));
    });
  } while (total(kept.map(Number)) < before);
  return kept;
}

// Says what the circuit keeps without the removed edges, or how to measure that.
function whatIsLeft(circuit, removed, restore) {
  const {edges, parts} = circuit, kept = onPaths(circuit, removed), left = [...edges.keys()].filter((i) => kept[i]), whole = shareText(circuit.circuit.faithfulness);
  if (!removed.size) return [el('p', {}, t`Press an edge or a head to remove it, and again to put it back. What is left of the ${edges.length} edges carries the clean text, all else the corrupted one. All ${edges.length} go ${whole} of the way.`)];
  const found = parts.find((part) => part.edges.join() === left.join()), gone = removedParts(edges, removed);
  const names = removed.size === edges.length ? t`any edge` : listed(gone.map(({shown}) => shown)), cut = [...edges.keys()].filter((i) => !kept[i] && !removed.has(i)), command = `inspect circuit RUN --without "${gone.map(({name}) => name).join()}"`;
  return [
    el('p', {}, !left.length ? t`Without ${names}, no path leads to the answer, and nothing is kept.` :
                found        ? t`Without ${names}, ${left.length} of ${edges.length} edges are on a path to the answer. They go ${el('b', {}, shareText(found.faithfulness))} of the way to the right answer; all ${edges.length} go ${whole}. The right answer is the more probable one in ${shareText(found.right)} of the held-out pairs.` :
                        t`Without ${names}: not measured for this page. This command measures it: ${el('code', {}, command)}`, ' ', ...(cut.length ? [t`Not removed, but on no path to the answer any more: ${cut.length > 6 ? t`${cut.length} edges` : listed(cut.map((i) => t`edge ${i + 1}`))}.`, ' '] : []), button(t`Put all back`, restore)),
  ];
}

// Returns what is removed, as the page and as the program name it: a head or MLP, where all of several edges from it are.
function removedParts(edges, removed) {
  const parts = new Map();
  for (const i of [...removed].sort((a, b) => a - b)) {
    const {from, name} = edges[i], own = edgesFrom(edges, from);
    const isNode = from.kind !== 'embedding' && own.length > 1 && own.every((k) => removed.has(k));
    isNode ? parts.set(nodeKey(from), {name: name.split(' -> ')[0], shown: nodeName(from)}) :
             parts.set(name, {name, shown: from.kind !== 'embedding' && own.length === 1 ? t`edge ${i + 1} (${nodeName(from)})` : t`edge ${i + 1}`});
  }
  return [...parts.values()];
}

// Says what other circuits with as many edges keep.
const controlsOf = ({joined}, random, nullTasks) => [
  random.circuits > 0 && t`${random.circuits} random circuits of ${joined} edges keep ${shareText(random.faithfulness)} on average.`,
  nullTasks.circuits > 0 && t`${nullTasks.circuits} circuits of ${joined} edges keep ${shareText(nullTasks.faithfulness)} on average if the right and the wrong answer of random pairs are exchanged before the choice (null tasks).`,
];

// Lists how the circuit was found, and the faithfulness of other circuits of the same size.
const howMeasured = (circuit) => [
  t`Measured with the model of step ${circuit.step} on ${circuit.held_out} of ${circuit.pairs} pairs of held-out sentences. The circuit was chosen on the others: edges were added, those with the largest effects there (by ${circuit.method}) first, until it kept ${rounded(circuit.target)} there.`,
  t`The difference between both texts is that of the log odds: log (probability of the right answer / probability of the wrong one). What both texts share cannot be seen: parts that carry it may be needed, and have no edge.`,
  circuit.observations < circuit.pairs && t`Two sentences make two pairs: each of them is the clean text once. For the intervals both pairs count as one, so the ${circuit.held_out} pairs are ${circuit.held_out_observations} observations.`,
  ...controlsOf(circuit.circuit, circuit.random, circuit.null_tasks),
  ...circuit.verdict === 'circuit' ? [
    t`The circuit is reported because both all edges that were chosen and those that survive are shown to keep more than random circuits and those of null tasks with as many edges.`,
  ] : [],
  circuit.attention_alone && t`The last layer of this model has no residual around its attention: only what its heads read reaches the answer.`,
  t`This is the circuit of one model. Those of other seeds may differ. A command compares the circuits of two runs: ${el('code', {}, 'inspect circuit RUN1 RUN2')}`,
].filter(Boolean);

const differencesOf = (tokens, corrupted) => [...tokens.keys()].filter((i) => tokens[i] !== corrupted[i]);
const quoted = (text, places) => listed(places.map((i) => `“${visible(text[i])}”`));

// Shows the pair: the clean sentence, with what the other one has in its place.
function pairOf({step, held_out, example: {tokens, corrupted, right, wrong, query}}) {
  const gap = gapOf(tokens), differs = differencesOf(tokens, corrupted), of = (text) => quoted(text, differs);
  const words = tokens.map((token, i) => [differs.includes(i) ? el('b', {class: 'differs'}, `[${visible(token)} → ${visible(corrupted[i])}]`) : i === query ? el('span', {class: 'asked'}, inText(token)) : inText(token), gap]);
  return [
    el('p', {class: 'sentence', dir: direction(tokens)}, ...words.flat()),
    el('p', {}, t`The model is asked at “${placed(tokens, query)}”. With ${of(tokens)} (clean) the right answer is ${word(right)}, with ${of(corrupted)} (corrupted) it is ${word(wrong)}.`, ' ', el('span', {class: 'muted'}, t`One of ${held_out} held-out pairs, at step ${step}.`)),
  ];
}

const headAt = (heads, node) => heads.find((head) => headKey(head) === nodeKey(node));

// Returns what was measured of the main path alone.
const pathAlone = ({parts, main_path}) => parts.find(({edges}) => edges.join() === [...main_path].sort((a, b) => a - b).join());

// Tells the main path in words, a step for each edge: the tokens that each of its heads attends to in the pair, and the part that reads it.
// Returns nothing where the path has a part that is not a head or of which the pair says nothing, and where the path alone keeps less than
// half as much as all edges that survive.
function pathInWords(circuit) {
  const {edges, main_path, surviving, circuit: chosen, held_out, example: {tokens, corrupted, right, wrong, heads}} = circuit, path = main_path.map((i) => edges[i]), parts = path.slice(1).map(({from}) => from);
  const alone = pathAlone(circuit), looks = parts.map((node) => headAt(heads, node));
  const isMost = alone && alone.faithfulness.low > 0 && alone.faithfulness.mean >= surviving.faithfulness.mean / 2;
  if (!parts.length || !isMost || looks.some((look) => !look)) return [];
  const steps = looks.map(({token, attends_to: {token: attended}, corrupted_attends_to: {token: otherwise}}, i) => {
    const name = nodeName(parts[i]), at = placed(tokens, token), to = placed(tokens, attended), other = placed(corrupted, otherwise), {kind} = path[i].to;
    if (i === 0) return kind === 'value' ? t`At “${at}”, ${name} attends to “${to}” and passes it on.` : t`At “${at}”, ${name} attends to “${to}”.`;
    if (kind === 'value') return t`That becomes a value of ${name}, which attends at “${at}” to “${to}” and passes it on.`;
    const read = kind === 'query' ? t`That changes the query of ${name}.` : t`That changes a key of ${name}.`;
    return paragraphOf([read, to === other ? t`At “${at}” this head attends to “${to}”.` : t`At “${at}” this head then attends to “${to}”, not to “${other}”.`]);
  });
  steps.push(t`Its output favours ${visible(right)} over ${visible(wrong)}.`);
  const isSteered = !edges.some(({to, nodes}) => to.kind === 'value' && nodes.some((node) => nodeKey(node) === nodeKey(parts.at(-1))));
  const pairs = ({mean}) => Math.round(mean * held_out);
  return [
    el('ul', {class: 'verdict steps'}, steps.map((text, i) => el('li', {}, el('span', {class: 'number'}, String(main_path[i] + 1)), text))),
    el('p', {}, paragraphOf([
      t`These ${main_path.length} edges alone go ${shareText(alone.faithfulness)} of the way from the wrong to the right answer, and give the right one in ${pairs(alone.right)} of ${held_out} pairs; all ${edges.length} give it in ${pairs(chosen.right)}.`,
      ...(alone.faithfulness.high < 1 ? [t`So the path is a part of the computation, not all of it.`] : []),
      ...(isSteered ? [t`It changes where ${nodeName(parts.at(-1))} looks, and not the values that it reads there: those are of the corrupted text.`] : []),
    ])),
  ];
}

// Shows how far the model goes from the wrong answer to the right one when some edges alone carry the clean text.
function keptTable(circuit) {
  const {main_path, circuit: chosen, surviving, all_edges, behaviour, corrupted, right_in_clean, right_in_corrupted, held_out, held_out_observations, survival_share, resamples} = circuit;
  const {surviving_random: random, surviving_null_tasks: nullTasks} = circuit, alone = pathAlone(circuit), tie = -corrupted.mean / behaviour.mean;
  const row = (name, {faithfulness, right}, text = shareText(faithfulness)) => {
    const {mean} = faithfulness, way = bar(mean, text, mean < 0 ? 'negative' : '');
    way.firstChild.style.setProperty('--tie', `${100 * Math.min(1, Math.max(0, tie))}%`);
    return [name, way, right ? shareText(right) : ''];
  };
  const exact = (name, share, right) => row(name, {faithfulness: {mean: share}, right}, percent(share));
  const rows = [
    exact(t`no edge`, 0, right_in_corrupted),
    alone && row(t`main path: ${main_path.length}`, alone),
    row(t`all that survive: ${surviving.joined}`, surviving),
    chosen.joined > surviving.joined && row(t`all that were chosen: ${chosen.joined}`, chosen),
    exact(t`all: ${all_edges}`, 1, right_in_clean),
    random.circuits > 0 && row(t`${surviving.joined} random edges (mean of ${random.circuits} draws)`, random),
    nullTasks.circuits > 0 && row(t`${surviving.joined} of a null task (mean of ${nullTasks.circuits})`, nullTasks),
  ].filter(Boolean);
  return [
    el('div', {class: 'way'}, table([t`edges with the clean text`, t`way to the right answer`, t`right answers`], rows, {'aria-label': t`What some edges keep`})),
    el('p', {class: 'muted'}, paragraphOf([
      t`0 %: the answer to the corrupted text; 100 %: that to the clean one; at the mark (${percent(tie)}) both answers are equally probable.`,
      t`In brackets: 95 % intervals, from ${held_out} pairs, which are ${held_out_observations} observations.`,
      t`The pairs are drawn anew ${resamples} times. An edge survives if at least ${rounded(survival_share)} of the draws choose it, patching it alone does, and its interval in the pairs that choose has no 0.`,
      ...(nullTasks.circuits > 0 ? [t`Null task: edges chosen after the right and the wrong answer of random pairs were exchanged. The best of ${nullTasks.circuits} goes ${percent(nullTasks.best)} of the way.`] : []),
    ])),
  ];
}

// Says what an edge is for the part that reads it.
function roleOf(edge, {tokens, heads, right, wrong}) {
  const {from, to: {kind}} = edge, head = headAt(heads, from), at = head && placed(tokens, head.token);
  const ofWords = from.kind === 'embedding';
  if (kind === 'query') return head ? t`It changes the query of “${at}”: where this word looks.` : ofWords ? t`It changes the queries of the words: where they look.` : t`It changes where the head looks.`;
  if (kind === 'key') return head ? t`It changes the key of “${at}”: how much this word is looked at.` : ofWords ? t`It changes the keys of the words: how much they are looked at.` : t`It changes which words the head looks at.`;
  if (kind === 'value') return head ? t`It changes the value of “${at}”: what is passed on from this word.` : ofWords ? t`It changes the values of the words: what the head passes on.` : t`It changes what the head passes on.`;
  if (kind === 'mlp') return t`It changes what the MLP computes with.`;
  const {mean} = effectOf(edge);
  return mean > 0 ? t`Its output favours ${visible(right)} over ${visible(wrong)} more than the output in the corrupted text does.` : t`Its output favours ${visible(right)} over ${visible(wrong)} less than the output in the corrupted text does.`;
}

// Says which condition of survival an edge fails (explain/circuits/circuit_study.h).
function whyNot({resamples}, circuit) {
  if (resamples < circuit.survival_share) return t`To survive, ${rounded(circuit.survival_share)} of the resamples must choose it.`;
  return t`The effects measured by patching or a group of the pairs do not choose it, or its effect is not shown to differ from 0 in the pairs that choose.`;
}

// Says where a head looks: in the pair, and in all pairs. Each of these pairs is also there in the other direction, so that the wrong answer of
// the corrupted text is counted with the right one.
function lookOf({token, attends_to: one, corrupted_attends_to: other, over_pairs: {difference, right}}, {tokens, corrupted, query}, held_out) {
  const here = t`Here “${placed(tokens, token)}” attends to “${placed(tokens, one.token)}” (${fixed(one.weight, 2)}), with ${quoted(corrupted, differencesOf(tokens, corrupted))} to “${placed(corrupted, other.token)}” (${fixed(other.weight, 2)}).`;
  if (token !== query || Math.max(difference.mean, right.mean) === 0) return here;
  return paragraphOf([here, difference.mean > right.mean ?
    t`It attends most to the word that differs in ${Math.round(difference.mean * held_out)} of ${held_out} pairs: ${shareText(difference)}.` :
    t`It attends most to the right answer in ${Math.round(right.mean * held_out)} of ${held_out} pairs: ${shareText(right)}.`]);
}

// Shows what the heads of the circuit do in the pair.
function headsOf({edges, example: {tokens, corrupted, heads}}) {
  const numbersOf = ({layer, head}) => edgesFrom(edges, {kind: 'head', layer, head}).map((i) => i + 1).join(', ');
  // Heads whose queries or keys alone are read from the clean text.
  const steered = heads.map(({layer, head}) => ({kind: 'head', layer, head})).filter((node) => {
    const read = edges.filter(({nodes}) => nodes.some((one) => nodeKey(one) === nodeKey(node)));
    return read.length && read.every(({to}) => to.kind !== 'value');
  });
  const attended = (words, {token, weight}) => `${placed(words, token)} ${fixed(weight, 2)}`;
  return [
    el('p', {class: 'muted'}, t`For each head: the edges that lead from it, the word at which its output has the largest effect, what this word attends to most, and the log odds lost in this pair when the output at this word is that of the corrupted text. A positive effect may be for the right answer or against the wrong one. In other pairs, above all of sentences of another form, heads may look elsewhere. Small numbers are places in the text.`),
    table([t`head`, t`edges`, t`word`, t`attends to`, t`in the corrupted text`, t`effect`],
          heads.map((one) => [headName(one.layer, one.head), numbersOf(one), placed(tokens, one.token), attended(tokens, one.attends_to), attended(corrupted, one.corrupted_attends_to), signed(one.effect_at_token, 2)]),
          {'aria-label': t`Where the heads look in the pair above`}),
    ...(steered.length ? [el('p', {class: 'muted'}, t`No edge leads to a value of ${listed(steered.map(nodeName), 'or')}: with the circuit alone, values there are those of the corrupted text, and edges change only where a head looks.`)] : []),
  ];
}

// Returns the edges in groups, the main path first: a button for each edge that removes it, its role, and where the head looks that reads
// it. Then a button for each node.
function edgeList(circuit, {kept, removed, toggle, point, isTold}) {
  const {edges, main_path, example} = circuit, told = new Set();
  const pathNodes = new Set(main_path.map((i) => nodeKey(edges[i].from)));
  const lookAt = ({nodes}, isOnPath) => example.heads.filter((head) => {
    const key = headKey(head);
    return !told.has(key) && nodes.some((node) => nodeKey(node) === key) && (!isOnPath || pathNodes.has(key)) && told.add(key);
  }).map((head) => lookOf(head, example, circuit.held_out));
  const show = (i) => {
    const edge = edges[i], isOnPath = main_path.includes(i), says = [...(isTold && isOnPath ? [] : [roleOf(edge, example)]), ...lookAt(edge, isOnPath)];
    const figures = [`${edge.exact ? '' : '~'}${figureText(effectOf(edge))}`, rounded(edge.resamples)];
    return el('li', {}, el('button', {
      type: 'button', onclick: () => toggle([i]),
      'aria-pressed': String(removed.has(i)), 'aria-label': t`Remove ${edgeText(edge)}`, class: kept[i] ? '' : 'off',
      onfocus: () => point(i), onblur: () => point(-1), onpointerenter: () => point(i), onpointerleave: () => point(-1)
    }, el('span', {}, `${i + 1}  ${edgeName(edge)}`), ...figures.map((text) => el('span', {}, text))), ...[paragraphOf(says), edge.survives || isUnsteady ? '' : whyNot(edge, circuit)].filter(Boolean).map((text) => el('p', {class: 'look'}, text)));
  };
  const all = [...edges.keys()], others = all.filter((i) => !main_path.includes(i)), weak = others.filter((i) => !edges[i].survives), isUnsteady = weak.every((i) => edges[i].resamples < circuit.survival_share);
  const group = (title, which, ...about) => which.length || about.length ? [el('h3', {}, title), ...about, el('ul', {}, which.map(show))] : [];
  const path = main_path.map((i) => edges[i]), chain = [...path.map(({from}) => nodeName(from)), visible(example.right)].join(' → ');
  const nodes = [...new Map(edges.map(({from}) => [nodeKey(from), from])).values()].filter(({kind}) => kind !== 'embedding').sort((a, b) => b.layer - a.layer || a.head - b.head);
  const own = (node) => edgesFrom(edges, node);
  return [
    el('p', {class: 'columns muted'}, el('span', {}, t`which edge`), el('span', {}, t`loss without it, of ${fixed(circuit.behaviour.mean, 1)}`), el('span', {}, t`chosen`)),
    el('div', {role: 'group', 'aria-label': t`Remove an edge`, class: 'list', tabindex: 0},
       ...group(t`Main path`, main_path, path.length ? el('p', {}, el('b', {}, chain)) : el('p', {}, t`No path of edges that survive, all with positive effects, leads to the answer.`)),
       ...group(t`Other edges that survive`, others.filter((i) => edges[i].survives)), ...group(t`Chosen, but do not survive`, weak, ...(weak.length && isUnsteady ? [el('p', {}, t`Fewer than ${rounded(circuit.survival_share)} of the resamples choose them. Their effects may be clear.`)] : []))),
    el('p', {class: 'muted'}, t`Loss: of the log odds, when the edge alone carries the corrupted text, with its 95 % interval; ${figureText(circuit.behaviour)} is the difference between both texts; means over ${circuit.held_out} pairs. Chosen: in how many of ${circuit.resamples} resamples of the pairs.`, ' ', t`Losses do not add up: a path is broken at any of its edges. The main path is the one whose weakest edge is the strongest. A press shows another loss: that of the circuit without the edge.`),
    el('div', {role: 'group', 'aria-label': t`Remove a node`, class: 'controls'}, el('span', {class: 'muted'}, t`Remove a node:`),
       nodes.map((node) => button(nodeName(node), () => toggle(own(node)), {'aria-pressed': String(own(node).every((i) => removed.has(i))), 'aria-label': t`Remove ${nodeName(node)}`}))),
  ];
}

const mostNumbered = 24;  // of the strongest edges

// Draws the circuit: words at the bottom, the answer at the top, a row per layer of heads and per MLP.
function drawCircuit(figure, {edges, example, circuit: {faithfulness}}, {kept, removed, pointed, toggle, point}) {
  const nodes = new Map(edges.flatMap(({from, nodes}) => [from, ...nodes]).map((node) => [nodeKey(node), node]));
  const rowOf = ({kind, layer}) => kind === 'embedding' ? -1 : kind === 'logits' ? Infinity : 2 * layer + (kind === 'mlp');
  const keys = [...new Set([...nodes.values()].map(rowOf))].sort((a, b) => b - a);
  const rows = keys.map((key) => [...nodes.values()].filter((node) => rowOf(node) === key).sort((a, b) => a.head - b.head));
  const most = Math.max(...rows.map(({length}) => length)), side = 66, room = Math.min(roomFor(), Math.max(440, side + most * 120));
  const height = 34, gap = Math.max(26, Math.min(66, (heightFor() - 40) / rows.length - height));
  const slot = (room - side) / most, width = Math.min(92, slot - 8), places = new Map();
  rows.forEach((row, r) => row.forEach((node, i) => places.set(nodeKey(node), {
    node, x: side + (room - side) / 2 + (i - (row.length - 1) / 2) * slot, y: 4 + r * (height + gap)
  })));
  figure.begin(
      room, rows.length * (height + gap) - gap + 8,
      t`Circuit of ${edges.length} edges, which keeps ${shareText(faithfulness)}: ${edges.map(edgeText).join('; ')}`);
  rows.forEach(([{kind, layer}], r) => figure.text(0, 4 + r * (height + gap) + height / 2, kind === 'logits' ? t`answer` : kind === 'embedding' ? '' : t`layer ${layer + 1}`, {'font-size': 12, fill: ink.muted}));
  const strongest = Math.max(...edges.map((edge) => Math.abs(effectOf(edge).mean)));
  const ports = {query: -0.3, value: 0.3}, curves = edges.map((edge) => edge.nodes.map((node) => {
    const from = places.get(nodeKey(edge.from)), to = places.get(nodeKey(node)), port = (ports[edge.to.kind] ?? 0) * width;
    const [x0, y0, x1, y1] = [from.x + port / 2, from.y, to.x + port, to.y + height], bend = Math.max(20, (y0 - y1) / 2);
    return [[x0, y0], [x0, y0 - bend], [x1, y1 + bend], [x1, y1]];
  }));
  for (let i = edges.length - 1; i >= 0; --i) {
    const {mean} = effectOf(edges[i]), isPointed = i === pointed;
    for (const curve of curves[i]) {
      const width = (kept[i] ? 1.5 + 6 * Math.abs(mean) / strongest : 1.5) + (isPointed ? 2 : 0), [x, y] = curve[3], half = 3 + width / 2;
      const stroke = isPointed ? ink.accent : !kept[i] ? ink.line : mean < 0 ? ink.orange : ink['head-0'], opacity = isPointed || !kept[i] ? 1 : 0.6;
      figure.add('path', {
        d: `M${curve[0]}C${curve[1]} ${curve[2]} ${[x, y + half]}`, fill: 'none', stroke, 'stroke-opacity': opacity,
        'stroke-width': width, 'stroke-dasharray': removed.has(i) ? '2 5' : edges[i].survives ? null : '6 4'
      });
      figure.add('path', {d: `M${[x - half, y + 2 * half]}L${[x, y]}L${[x + half, y + 2 * half]}Z`, fill: stroke, 'fill-opacity': isPointed || !kept[i] ? 1 : 0.8});  // the arrow's head
    }
  }
  // What the pointer reaches: wide and invisible, above the curves.
  edges.forEach((edge, i) => curves[i].forEach((curve) => figure.add('path', {
    d: `M${curve[0]}C${curve.slice(1).join(' ')}`, fill: 'none', stroke: 'transparent', 'stroke-width': 14, 'pointer-events': 'stroke', class: 'head', onclick: () => toggle([i]),
    onpointerenter: () => point(i), onpointermove: (event) => tipAt(figure, event, edgeText(edge)),
    onpointerleave: () => { figure.hideTip(); point(-1); }
  })));
  const differs = differencesOf(example.tokens, example.corrupted);
  for (const {node, x, y} of places.values()) {
    const own = edgesFrom(edges, node), isFixed = ['embedding', 'logits'].includes(node.kind);
    const isOff = !isFixed && !own.some((i) => kept[i]);
    const listeners = isFixed ? {} : {class: 'head', onclick: () => toggle(own), onpointermove: (event) => tipAt(figure, event, t`Remove ${nodeName(node)}`), onpointerleave: () => figure.hideTip()};
    figure.add('rect', {x: x - width / 2, y, width, height, rx: 6, fill: ink.panel, stroke: isOff ? ink.line : ink.muted, ...listeners});
    const name = {embedding: differs.length === 1 ? t`words: ${visible(example.tokens[differs[0]])}` : t`words`, logits: visible(example.right), mlp: 'MLP', head: width > 60 ? t`head ${node.head + 1}` : String(node.head + 1)}[node.kind];
    figure.text(x, y + 14, fitted(name, 13, width - 6), {'text-anchor': 'middle', 'font-size': 13, fill: isOff ? ink.muted : ink.text, 'pointer-events': 'none'});
    if (node.kind === 'head') for (const [kind, letter] of [['query', 'q'], ['key', 'k'], ['value', 'v']]) {
      if (edges.some((edge) => edge.to.kind === kind && edge.nodes.some((one) => nodeKey(one) === nodeKey(node)))) {
        figure.text(x + (ports[kind] ?? 0) * width, y + height - 7, letter, {'text-anchor': 'middle', 'font-size': 10, fill: ink.muted, 'pointer-events': 'none'});
      }
    }
  }
  // Numbers, at points of the curves that differ from edge to edge.
  edges.slice(0, mostNumbered).forEach((edge, i) => {
    const t = 0.35 + 0.1 * (i % 4), u = 1 - t, [x, y] = [0, 1].map((c) => curves[i].at(-1).reduce((sum, point, k) => sum + point[c] * [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t][k], 0));
    figure.add('circle', {cx: x, cy: y, r: 8, fill: ink.ground, stroke: kept[i] ? ink.muted : ink.line, 'pointer-events': 'none'});
    figure.text(x, y, String(i + 1), {'text-anchor': 'middle', 'font-size': 10, fill: kept[i] ? ink.text : ink.muted, 'pointer-events': 'none'});
  });
}

function tipAt(figure, event, text) {
  const box = figure.box.getBoundingClientRect();
  figure.showTip(event.clientX - box.left, event.clientY - box.top, text);
}
