// A grid of layers and heads that selects the head. A head is a thumbnail of its matrix, or a square in the colour of a score.
class HeadGrid {
  constructor() {
    this.figure = new Figure(t`all heads`, () => headRows(), () => [...aboutNow({head: false}), this.step && t`${this.title}, step ${this.step}`]);
    this.figure.svg.setAttribute('role', 'group');  // the heads are buttons
    this.choose = el('div');
    this.text = el('p', {class: 'note muted'});
    this.element = el('div', {class: 'head-grid'}, this.choose, this.figure.element, this.text);
    this.mode = null;  // name of the score that the user chose
    const at = (event) => {
      const box = this.figure.box.getBoundingClientRect();
      return this.cells?.find(({x, y, side}) => Math.abs(event.clientX - box.left - x - side / 2) <= side / 2 && Math.abs(event.clientY - box.top - y - side / 2) <= side / 2);
    };
    this.figure.box.addEventListener('pointermove', (event) => {
      const cell = at(event);
      if (cell) return this.figure.showTip(cell.x, cell.y + cell.side - 14, cell.tip());
      this.figure.hideTip();
    });
    this.figure.box.addEventListener('pointerleave', () => this.figure.hideTip());
    this.figure.box.addEventListener('click', (event) => {
      const cell = at(event);
      if (cell) chooseOneHead(cell.layer, cell.head);
    });
    onArrows(this.figure.box, (rows, columns) => {
      const {heads} = runNow(), layer = indexNear(state.layer + (this.isTurned ? columns : rows), heads.length);
      chooseOneHead(layer, indexNear(state.head + (this.isTurned ? rows : columns), heads[layer]));
      this.isMoved = true;
    });
  }

  // Draws the grid in `width` pixels with cells of at most `most`. `wanted` is the score shown at first; captions write the numbers.
  draw(now, {width, most, wanted = 'pattern', captions = false}) {
    const scores = scoresOfHeads(now), chosen = Math.max(0, scores.findIndex(({kind}) => kind === (this.mode ?? wanted)));
    renew(this.choose, select(t`Heads by`, scores.map(({title}) => title), chosen, (i) => {
      this.mode = scores[i].kind;
      update({});
    }));
    Object.assign(this, {title: scores[chosen].title, step: scores[chosen].step});
    const score = scores[chosen], found = measuredHeads(now.attention) ?? now.attention.partly;
    this.cells = drawHeads(this.figure, now, {width, most, captions, score, found});
    this.isTurned = this.cells.isTurned;
    const {layer, head} = state, one = found?.[layer]?.[head];
    renew(this.text, ...(one ? [t`${headName(layer, head)}: ${patternText(one)}. ${score.note ?? ''} ${total(now.heads) > 16 ? namesOfHeads(now) : ''}`] : [t`The heads are being measured …`]));
    if (this.isMoved) this.figure.svg.querySelector('[aria-pressed=true]')?.focus({preventScroll: true});
    this.isMoved = false;
  }
}

// Counts the patterns of all heads: "Of 72 heads: 30 mixed, 21 first token, ..."
function namesOfHeads({heads, attention}) {
  const names = measuredHeads(attention)?.flat().map(({name}) => name) ?? [];
  const counts = [...new Set(names)].map((name) => ({name, count: names.filter((one) => one === name).length})).sort((a, b) => b.count - a.count);
  return names.length ? t`All ${total(heads)} heads: ${counts.map(({name, count}) => `${count} ${name}`).join(t`, `)}.` : '';
}

// Returns the ways to show heads: [{kind, title, of(layer, head), low, high, note, step}]. Without of(), thumbnails. `step` is that of a
// score which is not of the step shown.
function scoresOfHeads(now) {
  const found = measuredHeads(now.attention), rows = runNow().causes?.rows ?? [];
  const list = [{kind: 'pattern', title: t`attention pattern`, note: t`Each square is scaled to its own largest weight.`}];
  if (now.antecedent >= 0)
    list.push({kind: 'antecedent', title: t`weight on the ${sourceName()}`, of: (l, h) => weightOnAnswer(now, l, h), high: 1});
  const zero = new Map(rows.filter(({what}) => what === 'head zero').map((one) => [key(one.layer, one.head), one]));
  if (zero.size > 0) {
    const step = otherStep(runNow().causes, now);
    list.push({kind: 'effect', title: t`effect of zero-ablating it`, of: (l, h) => zero.get(key(l, h))?.probability ?? NaN, signed: true, step,
      note: step ? t`Change of the answer’s probability over held-out sentences, at step ${step}.` : t`Change of the answer’s probability over held-out sentences.`});
  }
  const direct = now.live?.reading.direct(Math.min(state.token, now.tokens.length - 1));
  if (direct)
    list.push({kind: 'direct', title: t`direct effect on the next token’s logit`, of: (l, h) => direct.values[l][h], signed: true,
      note: t`What the head itself adds to the logit of “${visible(direct.word)}”.`});
  if (!found) return list;
  const isCausal = runNow().causal;
  for (const kind of ['previous', 'first', 'induction', 'duplicate', 'same', 'next', 'mark']) {
    if ((isCausal && kind === 'next') || !allHeads(now.heads).some(([l, h]) => found[l][h].scores[kind] > 0)) continue;
    list.push({kind, title: patterns[kind].title, of: (l, h) => found[l][h].scores[kind], high: 1, note: t`Mean weight over the tokens of this text.`});
  }
  list.push({kind: 'entropy', title: t`entropy`, of: (l, h) => found[l][h].scores.entropy, high: 1, note: t`0: one token takes all; 1: all take the same.`});
  return list;
}

const weightOnAnswer = (now, layer, head) => {
  const row = now.attention.row(layer, head, now.antecedent >= 0 ? now.query : Math.min(state.token, now.tokens.length - 1));
  return now.antecedent >= 0 ? weightOnSpan(row, antecedentSpan(now)) : Math.max(...row);
};

// Draws all heads and returns their places: [{layer, head, x, y, side, tip()}].
function drawHeads(figure, now, {width, most, captions, score, found}) {
  const {heads, attention, tokens} = now, widest = Math.max(...heads), isTurned = heads.length > 1.5 * widest;
  const [columns, lines] = isTurned ? [heads.length, widest] : [widest, heads.length];
  const group = groupSize(), left = 34, top = 34, apart = group > 1 ? 4 : 0, caption = captions ? 32 : 0;
  const along = isTurned ? 0 : Math.floor((columns - 1) / group) * apart;
  const step = Math.max(6, Math.min(most, (width - left - along) / columns)), gap = step > 40 ? 10 : step > 16 ? 3 : 1, side = step - gap;
  const down = side + gap + caption, height = lines * down + (isTurned ? Math.floor((lines - 1) / group) * apart : 0);
  const range = score.signed ? allHeads(heads).reduce((most, at) => Math.max(most, Math.abs(score.of(...at)) || 0), 1e-9) : score.high;
  const scale = score.of && (score.signed ? scales.signed : scales.weight).within(range);
  figure.begin(
      left + columns * step + along, top + height + (group > 1 ? 4 : 0),
      t`${counted(heads.length, 'layer')} of ${counted(widest, 'head')}. ${looksAt({tokens, heads, attention}, Math.min(state.token, tokens.length - 1))}`);
  const small = {'font-size': 11, fill: ink.muted, 'text-anchor': 'middle'}, every = Math.ceil(22 / step), cells = [];
  const place = (layer, head) => {
    const shift = Math.floor(head / group) * apart;
    return isTurned ? [left + layer * step, top + head * down + shift] : [left + head * step + shift, top + layer * down];
  };
  for (let n = 0; n < columns; n += every) figure.text(place(isTurned ? n : 0, isTurned ? 0 : n)[0] + side / 2, top - 12, String(n + 1), small);
  for (let n = 0; n < lines; n += Math.ceil(13 / down)) figure.text(left - 6, place(isTurned ? 0 : n, isTurned ? n : 0)[1] + side / 2, String(n + 1), {...small, 'text-anchor': 'end'});
  const [across, downward] = isTurned ? [t`layer`, t`head`] : [t`head`, t`layer`], middle = top + Math.max(14, (height - gap - caption) / 2);
  figure.text(left + Math.max(14, (columns * step + along - gap) / 2), 8, across, small);
  figure.text(8, middle, downward, {...small, transform: isChinese ? null : `rotate(-90 8 ${middle})`});
  for (let head = 0; group > 1 && head < widest; head += group) {
    const [x, y] = place(0, head), [endX, endY] = place(0, head + group - 1);
    figure.add('path', {
      d: isTurned ? `M${left - 2},${y}V${endY + side}` : `M${x},${top - 2}H${endX + side}`,
      stroke: ink.muted, 'stroke-width': 2, class: 'group', title: t`heads ${head + 1} to ${head + group} share keys and values`
    });
  }
  for (const [layer, head] of allHeads(heads)) {
    const [x, y] = place(layer, head), one = found?.[layer]?.[head], value = score.of?.(layer, head), chosen = layer === state.layer && head === state.head;
    const isOff = now.isAfter && isRemoved(layer, head);
    if (!score.of && one) {
      const whole = side > 90;
      figure.heat(x, y, side, side, whole ? tokens.length : one.side, whole ? tokens.length : one.side, whole ? attention.of(layer, head) : one.thumb, scales.weight.within(one.most));
    }
    const name = `${headName(layer, head)}${one ? `: ${patternText(one)}` : ''}${Number.isFinite(value) ? `; ${score.title} ${fixed(value, 2)}` : ''}`;
    figure.add('rect', {
      x: x - 0.5, y: y - 0.5, width: side + 1, height: side + 1, rx: 2,
      fill: !score.of ? 'transparent' : Number.isFinite(value) ? scale.colour(value) : ink.panel,
      stroke: isOff ? ink.mark : chosen ? ink.accent : ink.line,
      'stroke-width': chosen ? 3 : isOff ? 2 : 1,
      class: 'head', role: 'button', tabindex: chosen ? 0 : -1, 'aria-pressed': String(chosen), 'aria-label': name,
      onkeydown: (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        chooseOneHead(layer, head);
      }
    });
    if (Number.isFinite(value) && side >= 30 && score.of) figure.text(x + side / 2, y + side / 2, fixed(value, 2).replace(/^(−?)0\./, '$1.'), {...small, fill: scale.text(value)});
    if (isOff) figure.add('path', {d: `M${x},${y}L${x + side},${y + side}`, stroke: ink.mark, 'stroke-width': 2});
    if (captions) {
      const weight = weightOnAnswer(now, layer, head), cut = cutOf(now, layer, head), compact = side < 76;
      const after = cut && !otherStep(cut, now) ? cut.accuracy : NaN;
      const bold = weight >= 0.5 ? {'font-weight': 700, fill: ink.text} : {};
      figure.text(x + side / 2, y + side + 10, fixed(weight, 2).replace(/^0/, compact ? '' : '0'), {...small, ...bold, 'font-size': compact ? 10 : 13});
      if (Number.isFinite(after)) figure.text(x + side / 2, y + side + 23, compact ? rounded(after).replace(' ', '') : t`after: ${rounded(after)}`, {...small, 'font-size': compact ? 9 : 12});
    }
    cells.push({layer, head, x, y, side, tip: () => name});
  }
  return Object.assign(cells, {isTurned});
}

// Returns how many query heads share the keys and values of one group.
const groupSize = ({kv_heads, heads} = runNow()) => kv_heads > 0 ? heads[0] / kv_heads : 1;

// Returns whether a row of the causes removes the edge from the query to the antecedent in one head.
const isRemovedEdge = ({what, from, to}) => what === 'edge' && from === 'query' && to === 'antecedent';

// Returns what removing the edge from the query to the antecedent in a head does to held-out sentences: {step, before, accuracy,
// accuracy_low, accuracy_high, sentences}. The step is that of `now`, if its model was measured, else the last; undefined if none was.
function cutOf(now, layer, head) {
  const {causes, history} = runNow(), then = causes?.step !== now.step && history?.steps.find(({step}) => step === now.step);
  if (then) return {...then.heads[layer][head], step: then.step, before: then.accuracy, sentences: history.sentences};
  const row = causes?.rows.find((one) => isRemovedEdge(one) && one.layer === layer && one.head === head);
  return row && {...row, step: causes.step};
}

// Returns the step of a measurement as a text, or '' if it is the step that is shown.
const otherStep = (measured, now) => measured.step === now.step ? '' : String(measured.step);

function headRows() {
  const now = subject(), [head, ...rows] = attentionRows(now, () => true), measured = cutOf(now, 0, 0), other = measured && otherStep(measured, now);
  return [[...head, weightName(now), other ? t`accuracy after the removal at step ${other}` : t`accuracy after the removal`], ...rows.map((row) => {
    const cut = cutOf(now, row[0] - 1, row[1] - 1);
    return [...row, digitsOf(weightOnAnswer(now, row[0] - 1, row[1] - 1), 3), cut?.accuracy ?? ''];
  })];
}
const weightName = ({antecedent}) => antecedent >= 0 ? t`weight on the ${sourceName()}` : t`largest weight`;

// The heads, and the matrix of the selected one with its words.
const headsView = {
  title: 'All heads',
  lead: () => {
    const now = subject(), {antecedent} = now, measured = cutOf(now, state.layer, state.head), cut = measured && !otherStep(measured, now) ? measured : null;
    return t`Each square is a head. Under it, ${antecedent >= 0 ? t`the weight from the query to the ${sourceName()}` : t`the largest weight of the selected token`}${
        cut ? t`, and the accuracy over ${grouped(cut.sentences)} held-out sentences after that edge is removed in this head` : ''
    }. Press a square to see it large. Each row of the matrix adds up to 1; press a row to list its weights.`;
  },
  make() {
    const grid = new HeadGrid(), beside = el('div'), below = new TableBelow(t`As a table`);
    const large = new Figure(t`head`, () => attentionRows(subject(), (l, h) => l === state.layer && h === state.head), aboutNow);
    explore(
        large, (row, column, map) => map.ramp ? null : pairText(subject().tokens, row, column, map.values[row * map.columns + column]),
        (row, column, map) => map.ramp || update({token: row}));
    return {
      followsTraining: () => true,
      figures: [grid.figure, large],
      element: el('section', {}, el('div', {class: 'beside heads'}, grid.element, el('div', {}, large.element, beside)), below.element),
      says: () => headsSay(shownNow()),
      draw() {
        const now = shownNow(), {layer, head} = state, room = roomFor(), wide = room > 900;
        if (!now.attention) return waiting(large);
        const lines = Math.min(now.heads.length, Math.max(...now.heads)), tall = (heightFor() - 60) / lines - 40;
        inTurn('grid', () => grid.draw(now, {width: wide ? room * 0.5 : room, most: Math.max(56, Math.min(270, tall)), captions: total(now.heads) <= 64}));
        inTurn('head', () => {
          drawOneHead(large, now, wide ? room * 0.5 - 40 : room);
          renew(beside, rowList(now, layer, head, Math.min(state.token, now.tokens.length - 1)));
        });
        below.draw(() => {
          const labels = now.tokens.map((_, i) => placed(now.tokens, i));
          return table(['', ...labels], labels.map((label, i) => [label, ...Array.from(now.attention.row(layer, head, i), (w) => fixed(w))]),
              {'aria-label': t`Attention of ${headName(layer, head)}`});
        });
      },
    };
  },
};

// Returns the weight that tells most about a head, like telling_weight() of views/shown_heads.h: {weight, to, beyond}. A weight
// from the token to a neighbour counts as far as it is `beyond` what the head's other tokens put on theirs.
function tellingWeight({tokens, attention, token}, layer, head) {
  const T = tokens.length, weights = attention.of(layer, head), sinks = sinksOf({tokens});
  const usual = (by) => {
    const others = tokens.map((_, i) => i).filter((i) => i !== token && i + by >= 0 && i + by < T && !sinks[i + by]);
    return others.length > 0 ? total(others.map((i) => weights[i * T + i + by])) / others.length : 0;
  };
  return tokens.map((_, to) => {
    const weight = weights[token * T + to];
    return {weight, to, beyond: sinks[to] || to === token ? 0 : weight - (Math.abs(to - token) === 1 ? usual(to - token) : 0)};
  }).reduce((a, b) => b.beyond > a.beyond ? b : a, {weight: 0, to: -1, beyond: 0});
}

function headsSay(now) {
  if (!now.attention) return [];
  const best = allHeads(now.heads).map(([layer, head]) => ({layer, head, weight: weightOnAnswer(now, layer, head)})).reduce((a, b) => b.weight > a.weight ? b : a);
  const cut = cutOf(now, best.layer, best.head), other = cut && otherStep(cut, now);
  const from = el('b', {}, placed(now.tokens, now.antecedent >= 0 ? now.query : now.token));
  if (now.antecedent < 0) {
    const telling = allHeads(now.heads).map(([layer, head]) => ({layer, head, ...tellingWeight(now, layer, head)})).reduce((a, b) => b.beyond > a.beyond ? b : a);
    if (telling.to < 0) return [];
    return t`${atStep(now, headName(telling.layer, telling.head))} has the most telling weight from ${from}: ${fixed(telling.weight, 2)} on ${el('b', {}, placed(now.tokens, telling.to))}.`;
  }
  return [
    t`${atStep(now, headName(best.layer, best.head))} puts the most attention from ${from} on ${el('b', {}, spanText(now, antecedentSpan(now)))}: ${rounded(best.weight)}.`,
    !cut ? '' : other ? t` At step ${other}, after that edge is removed in it, ${accuracyText(cut)} of ${grouped(cut.sentences)} held-out sentences are answered right (before ${percent(cut.before)}).` :
        t` After that edge is removed in it, ${accuracyText(cut)} of ${grouped(cut.sentences)} held-out sentences are answered right (before ${percent(cut.before)}).`
  ];
}

function drawOneHead(figure, now, width) {
  const labels = now.tokens.map((_, i) => placed(now.tokens, i)), title = 26, values = now.attention.of(state.layer, state.head);
  const most = Math.max(26, Math.min(44, (heightFor() - 60) / labels.length)), cell = cellFor(labels, labels, width, most);
  const {left, top, right} = axisSizes(labels, labels, cell), side = cell * labels.length, scale = scales.weight.within(endOf(values));
  figure.begin(
      Math.max(left + 170, left + side + right), title + top + side + 44,
      t`Attention of ${headName(state.layer, state.head)}, ${labels.length} tokens by ${labels.length}. ${looksAtIn(now, state.layer, state.head, now.query)}`);
  figure.text(0, 10, headName(state.layer, state.head), {'font-weight': 700});
  drawMatrix(figure, 0, title, cell, {rows: labels, values, markRow: Math.min(state.token, labels.length - 1), markColumn: now.antecedent, candidates: now.candidates, scale});
  drawLegend(figure, left, title + top + side + 12, Math.max(160, Math.min(220, side)), scale, {ends: ['0', String(scale.high)], text: t`weight, row to column`});
}

const pairText = (tokens, i, j, weight) => [word(placed(tokens, i)), ' → ', word(placed(tokens, j)), el('b', {}, ` ${fixed(weight)}`)];

// Returns the controls that select one head: buttons, or a list if there are many.
function chooseHead(heads) {
  if (total(heads) <= 16) return headButtons(heads, (l, h) => l === state.layer && h === state.head, chooseOneHead, t`Head`, headColour);
  const all = allHeads(heads);
  return select(t`Head`, all.map((at) => headName(...at)), all.findIndex(([l, h]) => l === state.layer && h === state.head), (i) => chooseOneHead(...all[i]));
}

// Lists the row of one token, in descending order of weight.
function rowList({tokens, attention}, layer, head, i) {
  const row = Array.from(attention.row(layer, head, i)), most = 10;
  const order = row.map((weight, j) => ({weight, j})).sort((a, b) => b.weight - a.weight);
  const others = order.slice(most), rest = Math.max(0, 1 - total(order.slice(0, most).map(({weight}) => weight)));  // exact: packed zeros are not 0
  return el(
      'div', {class: 'row-list'}, el('h2', {}, t`From ${word(placed(tokens, i))}, in ${headName(layer, head)}`),
      table(
          [t`to`, t`weight`],
          [
            ...order.slice(0, most).map(({weight, j}) => [word(placed(tokens, j)), bar(weight, fixed(weight))]),
            ...(others.length ? [[others.length === 1 ? t`one other` : t`${others.length} others`, bar(rest, fixed(rest), 'before')]] : [])
          ],
          {'aria-label': t`Attention from ${visible(tokens[i])}`}));
}

function looksAtIn({tokens, attention}, layer, head, i) {
  const row = attention.row(layer, head, i), best = row.indexOf(Math.max(...row));
  return `${visible(tokens[i])} → ${visible(tokens[best])} ${fixed(row[best], 2)}`;
}
