// Two columns of tokens. Lines show the attention from each token on the left to those on the right.
const sentenceView = {
  title: 'Sentence',
  lead: () => 'Each line runs from a word at the left to a word that it attends to, at the right; its width is the weight. ' +
      'Point at a word for its lines alone, choose other heads, move the slider to watch it learn.',
  make() {
    const figure =
        new Figure('lines', () => attentionRows(subject(), (l, h) => state.shown.has(key(l, h))), () => [
          ...aboutNow({head: false}), [...state.shown.keys()].map((name) => `head ${shortName(name)}`).join(' ')
        ]);
    const choose = el('div', {class: 'controls'}), below = new TableBelow('As a table'), frame = el('div');
    figure.element.prepend(frame);
    frame.append(figure.box);
    const view = {
      followsTraining: () => true,
      figures: [figure],
      element: el('section', {}, choose, figure.element, below.element),
      says: () => saysOf(subject())
    };
    let hover = null;  // {side, token}
    let least = 0;     // index into leastWeights
    let inView = '';   // text and size for which the query token was scrolled into view
    figure.box.tabIndex = 0;
    figure.box.setAttribute('role', 'group');
    figure.box.setAttribute('aria-label', 'Arrow keys up and down choose a token');
    const at = (event) => {
      const box = figure.box.getBoundingClientRect();
      const token = Math.floor((event.clientY - box.top - view.top) / view.row);
      if (token < 0 || token >= subject().tokens.length) return null;
      return {side: event.clientX - box.left < view.middle ? 'left' : 'right', token};
    };
    const hoverOver = (next) => {
      if (hover?.side === next?.side && hover?.token === next?.token) return;
      hover = next;
      view.draw();
    };
    const bring = (token) => { frame.scrollTop = view.top + (token + 0.5) * view.row - frame.clientHeight / 2; };
    figure.box.addEventListener('pointermove', (event) => hoverOver(at(event)));
    figure.box.addEventListener('pointerleave', () => hoverOver(null));
    figure.box.addEventListener('click', (event) => {
      const place = at(event);
      if (place?.side === 'left') update({token: place.token});
    });
    figure.box.addEventListener('keydown', (event) => {
      const move = {ArrowUp: -1, ArrowDown: 1}[event.key];
      if (!move) return;
      event.preventDefault();
      const {tokens} = subject();
      hover = null;
      update({token: Math.max(0, Math.min(tokens.length - 1, state.token + move))});
      bring(state.token);
      announce(looksAt(subject(), state.token));
    });
    view.draw = () => {
      const now = subject(), token = Math.min(state.token, now.tokens.length - 1);
      renew(
          choose, headButtons(now.heads, (l, h) => state.shown.has(key(l, h)), toggleHead, 'Heads shown', headColour),
          select('Hide weights below', leastWeights.map(String), least, (next) => {
            least = next;
            update({});
          }));
      frame.className = now.tokens.length > 40 ? 'tall' : '';
      if (!now.attention) return waiting(figure);
      drawSentence(figure, view, now, hover ?? {side: 'left', token}, leastWeights[least]);
      below.draw(() => rowTable(now, token));
      const text = `${state.run} ${state.sentence} ${now.tokens.length} ${view.top} ${view.row}`;
      if (inView !== text) bring(token);
      inView = text;
    };
    return view;
  },
};

const leastWeights = [0.005, 0.05, 0.1, 0.25, 0.5];

// At most one head per colour. A further head takes the colour of the head shown longest.
const mostShown = 8;
function toggleHead(layer, head) {
  const shown = new Map(state.shown), name = key(layer, head);
  if (shown.delete(name)) {
    const last = shown.size > 0 ? headOfKey([...shown.keys()].at(-1)) : [layer, head];
    return update({shown, layer: last[0], head: last[1], chosen: true});
  }
  if (shown.size === mostShown) {
    const [oldest] = shown.keys();
    announce(`${mostShown} heads are shown at once: ${headName(...headOfKey(oldest))} was put away`);
    shown.delete(oldest);
  }
  const used = new Set(shown.values());
  shown.set(name, Array.from({length: mostShown}, (_, i) => i).find((colour) => !used.has(colour)));
  return update({shown, layer, head, chosen: true});
}

const waiting = (figure) => {
  figure.begin(300, 40, 'Loading');
  figure.text(0, 20, 'This part of the page is still loading …', {fill: ink.muted});
};

// Returns the shown heads in the order of layers and heads.
function shownHeads(heads) {
  return allHeads(heads)
      .filter(([layer, head]) => state.shown.has(key(layer, head)))
      .map(([layer, head]) => ({layer, head, colour: headColour(layer, head)}));
}

// Describes the view in words.
function saysOf({tokens, query, antecedent, candidates, heads, attention, step}) {
  if (!attention) return [];
  const shown = shownHeads(heads), T = tokens.length;
  if (shown.length === 0) return ['No head is chosen: choose one of the numbers.'];
  const {layer, head} = shown.find((one) => one.layer === state.layer && one.head === state.head) ?? shown[0];
  const from = Math.min(state.token, T - 1), row = attention.of(layer, head).subarray(from * T, (from + 1) * T);
  const best = row.indexOf(Math.max(...row));
  const that = best === antecedent && from === query ? ', its antecedent' : '';
  const on = from !== query || !candidates ? [`${rounded(row[best])} of its attention on `, el('b', {}, placed(tokens, best)), that] :
                                             candidates.flatMap((span, i) => [
    `${i > 0 ? ', ' : ''}${rounded(weightOnSpan(row, span))}${i === 0 ? ' of its attention' : ''} on `, el('b', {}, spanText({tokens}, span)),
    isIn(span, antecedent) ? ', which is meant' : ''
  ]);
  return [
    `At step ${step}, in ${headName(layer, head)}, `, el('b', {}, placed(tokens, from)), ' puts ', ...on, '.',
    shown.length > 1 ? ` ${shown.length} heads are shown, each in the colour of its button.` : ''
  ];
}

// Returns the weight on a span: the sum over its tokens.
const weightOnSpan = (row, span) => total(Array.from(row.subarray(...span)));
const antecedentSpan = ({antecedent, candidates}) =>
    candidates?.find((span) => isIn(span, antecedent)) ?? [antecedent, antecedent + 1];

// Returns whether a token is the antecedent or belongs to a candidate.
const isMarked = (token, antecedent, candidates) =>
    token === antecedent || Boolean(candidates?.some((span) => isIn(span, token)));

function drawSentence(figure, view, {tokens, query, antecedent, candidates, heads, attention}, focus, leastWeight) {
  const T = tokens.length, shown = shownHeads(heads);
  const row = T <= 16 ? 32 : T <= 40 ? 26 : 18, size = T <= 16 ? 18 : T <= 40 ? 15 : 12;
  const room = roomFor(), column = room > 520 ? 58 : 40, narrowest = 120;  // minimum width of the lines, in pixels
  const labels = Math.min(room * 0.24, Math.max(...tokens.map((_, i) => textWidth(placed(tokens, i), size))) + 14);
  const columns = Math.floor((room - 2 * labels - narrowest) / column);
  const figures = shown.length <= Math.min(6, columns) ? shown.length : 0;
  const width = Math.min(room, 560 + 2 * labels + figures * column), top = figures ? 34 : 12;
  const left = labels, right = width - labels - figures * column;
  Object.assign(view, {row, top, middle: (left + right) / 2});
  figure.begin(
      width, top + T * row + 44,
      `Attention in ${shown.length} heads. ${looksAt({tokens, heads, attention}, focus.token)}`);
  const y = (token) => top + (token + 0.5) * row, apart = Math.min(5, row / (shown.length + 1));
  const line = (i, j, weight, colour, opacity, n) => {
    const shift = (n - (shown.length - 1) / 2) * apart, [from, to] = [y(i) + shift, y(j) + shift];
    figure.add('path', {
      d: `M${left + 4},${from}C${left + (right - left) * 0.4},${from} ${left + (right - left) * 0.6},${to} ${
          right - 4},${to}`,
      fill: 'none',
      stroke: colour,
      'stroke-opacity': opacity.toFixed(3),
      'stroke-width': (0.8 + 6 * weight).toFixed(2)
    });
  };
  const isFocus = (i, j) => focus.side === 'left' ? i === focus.token : j === focus.token;
  const background = T * T * shown.length <= 8000;
  const over = [];
  for (const [n, {layer, head, colour}] of shown.entries()) {
    const weights = attention.of(layer, head);
    for (let i = 0; i < T; ++i) {
      for (let j = 0; j < T; ++j) {
        const weight = weights[i * T + j];
        if (isFocus(i, j) && weight >= leastWeight)
          over.push([i, j, weight, colour, 0.25 + 0.75 * weight, n]);
        else if (background && weight >= Math.max(0.1, leastWeight))
          line(i, j, weight, colour, 0.14 * weight, n);
      }
    }
  }
  over.sort((a, b) => a[2] - b[2]).forEach((one) => line(...one));
  shown.slice(0, figures).forEach(({layer, head, colour}, n) => {
    const x = right + labels + (n + 0.5) * column, weights = attention.of(layer, head);
    figure.text(
        x, top - 16, `${layer + 1}.${head + 1}`,
        {'text-anchor': 'middle', 'font-size': 13, fill: colour, 'font-weight': 700, title: headName(layer, head)});
    const values = Float32Array.from(
        tokens, (_, t) => focus.side === 'left' ? weights[focus.token * T + t] : weights[t * T + focus.token]);
    figure.heat(x - column / 2 + 3, top, column - 6, T * row, T, 1, values, scales.weight);
    values.forEach((value, t) => {
      if (value >= 0.005)
        figure.text(
            x, y(t), fixed(value, 2),
            {'text-anchor': 'middle', 'font-size': Math.min(14, size), fill: scales.weight.text(value)});
    });
  });
  tokens.forEach((_, t) => {
    for (const side of ['left', 'right']) {
      const chosen = focus.side === side && focus.token === t, whole = placed(tokens, t), text = fitted(whole, size, labels - 8);
      figure.text(side === 'left' ? left - 6 : right + 6, y(t), text, {
        'text-anchor': side === 'left' ? 'end' : 'start',
        'font-size': size,
        'font-weight': chosen || t === query || t === antecedent ? 700 : 400,
        fill: chosen                      ? ink.accent :
            isMarked(t, antecedent, candidates) ? ink.mark :
                                            ink.text,
        class: `token-${side}`,
        title: text === whole ? null : whole
      });
    }
  });
  if (figures) {
    const wide = Math.min(190, figures * column + labels - 10);
    drawLegend(figure, width - wide - 4, top + T * row + 12, wide, scales.weight);
  }
}

// Returns "it → animal 0.99, ..." for a screen reader.
function looksAt({tokens, heads, attention}, i) {
  return shownHeads(heads)
      .slice(0, 8)
      .map(({layer, head}) => {
        const T = tokens.length, row = attention.of(layer, head).subarray(i * T, (i + 1) * T);
        const best = row.indexOf(Math.max(...row));
        return `${headName(layer, head)}: ${visible(tokens[i])} → ${visible(tokens[best])} ${fixed(row[best], 2)}`;
      })
      .join('; ');
}

function rowTable({tokens, heads, attention}, token) {
  const T = tokens.length;
  return table(
      [`from ${visible(tokens[token])}`, ...tokens.map((_, i) => placed(tokens, i))],
      shownHeads(heads).map(
          ({layer, head}) =>
              [headName(layer, head),
               ...Array.from(attention.of(layer, head).subarray(token * T, (token + 1) * T), (w) => fixed(w))]),
      {'aria-label': `Attention from ${visible(tokens[token])}`});
}

// Returns rows of a CSV file with the columns of `inspect export --csv`.
function attentionRows({tokens, attention}, wanted) {
  const T = tokens.length, rows = [['layer', 'head', 'from', 'to', 'query token', 'key token', 'weight']];
  attention.heads.forEach((count, l) => {
    for (let h = 0; h < count; ++h) {
      if (!wanted(l, h)) continue;
      attention.of(l, h).forEach((weight, n) => {
        const i = Math.floor(n / T), j = n % T;
        rows.push([l + 1, h + 1, i + 1, j + 1, tokens[i], tokens[j], weight.toFixed(3)]);
      });
    }
  });
  return rows;
}
