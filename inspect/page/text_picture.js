// A text as wrapped lines. Each token lies on the colour of its value; curves run from one token to those that it attends to.

// Returns {places: [{x, y, width}], height}: the middle of each token in lines of this width.
function textLayout(tokens, width, size, arcs) {
  const gap = gapOf(tokens) ? 0.3 * size : 0, line = size * (arcs ? 2.5 : 2.1), isRight = direction(tokens) === 'rtl', places = [];
  const wide = (i) => Math.min(width, textWidth(visible(tokens[i]), size) + 0.3 * size);
  let x = 0, y = line * 0.6, first = 0, word = 0;  // first tokens of this line and of this word
  for (let i = 0; i < tokens.length; ++i) {
    if (x + wide(i) > width && i > first) {
      first = i = word > first ? word : i;  // the whole word moves to the next line
      x = 0;
      y += line;
    }
    places[i] = {x: isRight ? width - x - wide(i) / 2 : x + wide(i) / 2, y, width: wide(i)};
    x += wide(i) + gap;
    if (gap || /\s$/.test(tokens[i]) || /^\s/.test(tokens[i + 1] ?? '')) word = i + 1;
    if (!/(\n|<0x0A>)$/.test(tokens[i]) || ['\n', '<0x0A>'].includes(tokens[i + 1])) continue;
    first = word = i + 1;
    x = 0;
    y += line;
  }
  return {places, height: (places.at(-1)?.y ?? 0) + line * 0.6};
}

// Draws the tokens. colour(i) returns {rgb, text} of a scale or null; `asked` is framed.
function drawText(figure, x, y, {tokens, places, size, colour, asked = -1, marked = () => false}) {
  tokens.forEach((token, i) => {
    const place = places[i], ground = colour(i), height = size * 1.35;
    figure.add('rect', {
      x: x + place.x - place.width / 2 + 0.5, y: y + place.y - height / 2,
      width: Math.max(1, place.width - 1), height, rx: 2, fill: ground?.rgb ?? 'transparent',
      stroke: i === asked ? ink.accent : marked(i) ? ink.mark : null, 'stroke-width': 2
    });
    figure.text(x + place.x, y + place.y, fitted(visible(token), size, place.width), {
      'text-anchor': 'middle', 'font-size': size, 'font-weight': i === asked ? 700 : null, 'xml:space': 'preserve', class: 'token-text',
      fill: /^\s+$/.test(token) && !ground ? ink.muted : ground?.text ?? ink.text
    });
  });
}

// Draws a curve from token i to token j, above the line of both or between their lines.
function drawArc(figure, x, y, {places, size}, i, j, {colour, weight, label}) {
  const [from, to] = [places[i], places[j]], half = size * 0.68, [a, b] = [x + from.x, x + to.x];
  const same = from.y === to.y, rise = Math.min(size * (label ? 2.2 : 1.5), size * 0.6 + Math.abs(a - b) * 0.08);
  const [top, end] = same ? [y + from.y - half, y + to.y - half] : from.y > to.y ? [y + from.y - half, y + to.y + half] : [y + from.y + half, y + to.y - half];
  const d = same ? `M${a},${top}C${a},${top - rise} ${b},${top - rise} ${b},${top}` : `M${a},${top}C${a},${(top + end) / 2} ${b},${(top + end) / 2} ${b},${end}`;
  figure.add('path', {
    d, fill: 'none', stroke: colour, 'stroke-opacity': (0.35 + 0.65 * weight).toFixed(3),
    'stroke-width': (1 + 4 * weight).toFixed(2), 'stroke-linecap': 'round', class: 'arc'
  });
  if (!label) return;
  const wide = textWidth(label, 15.5) / 2 + 6, isShort = same && Math.abs(a - b) < wide, middle = Math.max(wide, Math.min(figure.width - wide, (a + b) / 2));
  figure.text(middle, isShort ? y + from.y + size * 1.4 : (same ? top - rise * 0.75 : (top + end) / 2) - 9, label, {'text-anchor': 'middle', 'font-size': 14, 'font-weight': 700, fill: colour});
}

// Draws a text on the colours of the weights from `token`, with the weights and curves to the largest. Sinks are muted.
function drawAttendedText(figure, x, y, text, now, token, scale, sinks = []) {
  const {tokens, attention, layer, head} = now, row = attention.row(layer, head, token);
  drawText(figure, x, y, {
    ...text,
    asked: token,
    marked: (i) => isMarked(i, now.antecedent, now.candidates),
    colour: (i) => sinks[i] || row[i] < 0.005 ? null : scale.name(row[i])
  });
  const shown = tokens.map((_, j) => j).filter((j) => !sinks[j] && row[j] >= 0.05 && j !== token).sort((a, b) => row[a] - row[b]).slice(-8);
  const arcs = now.arcs ?? shown.map((to) => ({from: token, to, colour: headColour(layer, head), weight: row[to]}));
  arcs.forEach((arc) => drawArc(figure, x, y, text, arc.from, arc.to, arc));
  if (now.arcs) return;
  const {places, size} = text, look = {'text-anchor': 'middle', 'font-size': size > 15 ? 11 : 9, fill: ink.muted, stroke: ink.ground, 'stroke-width': 3, 'paint-order': 'stroke'};
  tokens.forEach((_, i) => {  // above the curves
    if (row[i] >= (sinks[i] ? 0.005 : 0.05)) figure.text(x + places[i].x, y + places[i].y + size * 0.98, fixed(row[i], 2).replace(/^0/, ''), look);
  });
}

// Returns the token at the pointer, or -1.
function tokenAt(figure, event, y, {places, size}) {
  const box = figure.box.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top - y;
  return places?.findIndex((place) => Math.abs(py - place.y) <= size * 0.75 && Math.abs(px - place.x) <= place.width / 2) ?? -1;
}
