// The tokens twice, with lines of attention from each at the left to those at the right that it looks at.
const sentenceView = {
  title: 'Sentence',
  make() {
    const figure = new Figure('sentence', () => attentionRows(subject(), (l, h) => state.shown.has(key(l, h))));
    const choose = el('div'), below = new TableBelow('As a table');
    const view = {
      followsTraining: true,
      figures: [figure],
      element: el('section', {}, choose, figure.element, below.element)
    };
    let hover = null;  // {side, token}
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
      announce(looksAt(subject(), state.token));
    });
    view.draw = () => {
      const now = subject();
      choose.replaceChildren(headButtons(now.heads, (l, h) => state.shown.has(key(l, h)), toggleHead, 'Heads shown'));
      if (!now.attention) return waiting(figure);
      drawSentence(figure, view, now, hover ?? {side: 'left', token: Math.min(state.token, now.tokens.length - 1)});
      below.draw(() => rowTable(now, state.token));
    };
    return view;
  },
};

function toggleHead(layer, head) {
  const shown = new Set(state.shown);
  if (!shown.delete(key(layer, head))) shown.add(key(layer, head));
  update({shown, layer, head});
}

const waiting = (figure) => {
  figure.begin(300, 40, 'Loading');
  figure.text(0, 20, 'This part of the page is still loading …', {fill: ink.muted});
};

function shownHeads(heads) {
  return heads.flatMap((count, layer) => Array.from({length: count}, (_, head) => ({layer, head})))
      .filter(({layer, head}) => state.shown.has(key(layer, head)))
      .map(({layer, head}) => ({layer, head, colour: headColour(layer, head, heads)}));
}

function drawSentence(figure, view, {tokens, query, antecedent, heads, attention}, focus) {
  const T = tokens.length, shown = shownHeads(heads);
  const row = T <= 16 ? 36 : T <= 40 ? 26 : 18, size = T <= 16 ? 18 : T <= 40 ? 15 : 12;
  const room = roomFor(),
        labels = Math.min(room * 0.24, Math.max(...tokens.map((_, i) => textWidth(placed(tokens, i), size))) + 14);
  const figures = shown.length <= (room > 700 ? 6 : 2) ? shown.length : 0, column = 58;
  const width = Math.min(room, 560 + 2 * labels + figures * column), top = figures ? 34 : 12;
  const left = labels, right = width - labels - figures * column;
  Object.assign(view, {row, top, middle: (left + right) / 2});
  figure.begin(
      width, top + T * row + 44,
      `Attention in ${shown.length} heads. ${looksAt({tokens, heads, attention}, focus.token)}`);
  const y = (token) => top + (token + 0.5) * row;
  const line = (i, j, weight, colour, opacity) => figure.add('path', {
    d: `M${left + 4},${y(i)}C${left + (right - left) * 0.4},${y(i)} ${left + (right - left) * 0.6},${y(j)} ${
        right - 4},${y(j)}`,
    fill: 'none',
    stroke: colour,
    'stroke-opacity': opacity.toFixed(3),
    'stroke-width': (0.8 + 6 * weight).toFixed(2)
  });
  const isFocus = (i, j) => focus.side === 'left' ? i === focus.token : j === focus.token;
  const background = T * T * shown.length <= 8000;
  const over = [];
  for (const {layer, head, colour} of shown) {
    const weights = attention.of(layer, head);
    for (let i = 0; i < T; ++i) {
      for (let j = 0; j < T; ++j) {
        const weight = weights[i * T + j];
        if (isFocus(i, j) && weight >= 0.005)
          over.push([i, j, weight, colour, 0.25 + 0.75 * weight]);
        else if (background && weight >= 0.1)
          line(i, j, weight, colour, 0.14 * weight);
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
      const chosen = focus.side === side && focus.token === t;
      figure.text(side === 'left' ? left - 6 : right + 6, y(t), fitted(placed(tokens, t), size, labels - 8), {
        'text-anchor': side === 'left' ? 'end' : 'start',
        'font-size': size,
        'font-weight': chosen || t === query || t === antecedent ? 700 : 400,
        fill: chosen         ? ink.accent :
            t === antecedent ? ink.mark :
                               ink.text,
        class: `token-${side}`,
        title: visible(tokens[t])
      });
    }
  });
  if (figures) drawLegend(figure, Math.max(0, width - 200), top + T * row + 12, 190, scales.weight);
}

// "it looks at animal 0.99, ..." for a screen reader.
function looksAt({tokens, heads, attention}, i) {
  return shownHeads(heads)
      .slice(0, 8)
      .map(({layer, head}) => {
        const T = tokens.length, row = attention.of(layer, head).subarray(i * T, (i + 1) * T);
        const best = row.indexOf(Math.max(...row));
        return `${headName(layer, head)}: ${visible(tokens[i])} looks at ${visible(tokens[best])} ${
            fixed(row[best], 2)}`;
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

// Rows of a CSV file, with the columns of inspect --csv.
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
