// Shared parts of heat maps: words on both axes, a legend, values at the pointer, and a table for screen readers.

// Draws a heat map of `values` (rows, columns) with its words. Each cell takes `cell` pixels, and (x, y) is the top left
// label. Returns the origin of the cells and the total size: {left, top, width, height}.
function drawMatrix(
    figure, x, y, cell, {rows, columns = rows, values, scale = scales.weight, markRow = -1, markColumn = -1, candidates, decimals = 2}) {
  const {left, top, right, size, every} = axisSizes(rows, columns, cell);
  const x0 = x + left, y0 = y + top, width = cell * columns.length, height = cell * rows.length;
  figure.heat(x0, y0, width, height, rows.length, columns.length, values, scale);
  const label = (text, marked, fill) => ({'font-size': size, 'font-weight': marked ? 700 : null, fill, title: text});
  // Of labels that would overlap, the first of each `every` is shown, and the marked one.
  const isLabelled = (i, marked) => marked < 0 || Math.abs(i - marked) >= every ? i % every === 0 : i === marked;
  rows.forEach((text, i) => isLabelled(i, markRow) && figure.text(x0 - 6, y0 + (i + 0.5) * cell, fitted(text, size, left - 8), {
    'text-anchor': 'end', ...label(text, i === markRow, i === markRow ? ink.accent : ink.text)
  }));
  columns.forEach((text, j) => {
    const at = x0 + (j + 0.5) * cell;
    if (isLabelled(j, markColumn)) figure.text(at, y0 - 6, fitted(text, size, 1.3 * top - 12), {
      transform: `rotate(-45 ${at} ${y0 - 6})`, ...label(text, j === markColumn, isMarked(j, markColumn, candidates) ? ink.mark : ink.text)
    });
  });
  if (values.length <= 2500) drawFigures(figure, {x: x0, y: y0, cell, columns: columns.length, values, scale, decimals});
  if (markRow >= 0)
    figure.add(
        'rect', {x: x0 - 1, y: y0 + markRow * cell - 1, width: width + 1, height: cell + 1, fill: 'none', stroke: ink.accent, 'stroke-width': 2});
  return {left, top, width: left + width + right, height: top + height};
}

// Draws each value in its cell, at the largest size that fits all. Narrow cells omit the zero before the decimal point. Omits
// the values if they would be too small to read.
function drawFigures(figure, {x, y, cell, columns, values, scale, decimals}) {
  const least = 0.5 * 10 ** -decimals, largest = values.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  const negative = values.some((v) => v <= -least);
  const sizeOf = (text) => Math.min(14, (cell - 3) / textWidth(text, 100) * 100);
  const widest = `${negative ? '−' : ''}${fixed(Math.max(largest, least), decimals)}`;
  const short = sizeOf(widest) < 10;
  const shortened = (text) => short ? text.replace(/^(−?)0\./, '$1.').replace(/^1\.00$/, '1.0') : text;
  const size = sizeOf(shortened(widest));
  if (size < 8 || cell < size * 1.3) return;
  values.forEach((value, n) => {
    if (Math.abs(value) < least) return;
    const i = Math.floor(n / columns), j = n % columns;
    figure.text(
        x + (j + 0.5) * cell - 0.5, y + (i + 0.5) * cell, shortened(fixed(value, decimals)),
        {'text-anchor': 'middle', 'font-size': size, fill: scale.text(value)});
  });
}

// Returns the space for the labels, their font size, and the distance of two labels in cells: {left, top, right, size, every}.
function axisSizes(rows, columns, cell) {
  const size = cell >= 26 ? 15 : cell >= 17 ? 13 : 10, every = Math.ceil(14 / cell);
  const widths = (texts) => texts.map((text) => Math.min(150, textWidth(text, size)));
  const slanted = widths(columns).map((width) => 0.72 * width);
  const right = Math.max(4, ...slanted.map((width, j) => width + 8 - (columns.length - j - 0.5) * cell));
  return {left: Math.max(...widths(rows)) + 12, top: Math.max(...slanted) + 16, right, size, every};
}

// Returns the cell size that fits rows x columns into `width`, at most `most` pixels.
function cellFor(rows, columns, width, most) {
  let cell = most;
  const takes = () => {
    const {left, right} = axisSizes(rows, columns, cell);
    return left + cell * columns.length + right;
  };
  while (cell > 0.25 && takes() > width) cell -= cell > 12 ? 1 : 0.25;
  return cell;
}

function drawLegend(figure, x, y, width, scale, label) {
  const count = 128;
  const values = Float32Array.from({length: count}, (_, i) => scale.low + (scale.high - scale.low) * i / (count - 1));
  figure.heat(x, y, width, 10, 1, count, values, scale, true);
  const [low, high] = label?.ends ?? [String(scale.low), String(scale.high)];
  figure.text(x, y + 20, low.replace('-', '−'), {'font-size': 11, fill: ink.muted});
  figure.text(x + width, y + 20, high, {'font-size': 11, fill: ink.muted, 'text-anchor': 'end'});
  figure.text(x + width / 2, y + 20, label?.text ?? t`weight`, {'font-size': 11, fill: ink.muted, 'text-anchor': 'middle'});
}

// Shows describe(row, column, map) at the pointer and moves over the first map with the arrow keys. A click or Enter selects.
function explore(figure, describe, choose = () => {}) {
  let at = null;
  const show = (row, column, map, x, y) => {
    const text = describe(row, column, map);
    if (text === null) return figure.hideTip();
    figure.showTip(x, y, ...[text].flat());
    return text;
  };
  change(figure.box, {class: 'picture', tabindex: 0, role: 'group', 'aria-label': t`${figure.name}: arrow keys read its squares`});
  figure.box.addEventListener('pointermove', (event) => {
    const cell = figure.cellAt(event);
    return cell ? show(cell.row, cell.column, cell.map, cell.x, cell.y) : figure.hideTip();
  });
  figure.box.addEventListener('pointerleave', () => figure.hideTip());
  figure.box.addEventListener('blur', () => figure.hideTip());
  figure.box.addEventListener('click', (event) => {
    const cell = figure.cellAt(event);
    if (cell) choose(cell.row, cell.column, cell.map);
  });
  figure.box.addEventListener('keydown', (event) => {
    const [map] = figure.maps;
    if (!['Enter', ' '].includes(event.key) || event.target !== figure.box || !at || !map) return;
    event.preventDefault();
    choose(...at, map);
  });
  onArrows(figure.box, (rows, columns) => {
    const [map] = figure.maps;
    if (!map) return;
    at = at ? [indexNear(at[0] + rows, map.rows), indexNear(at[1] + columns, map.columns)] : [0, 0];
    show(at[0], at[1], map, map.x + (at[1] + 0.5) * map.width / map.columns, map.y + (at[0] + 0.5) * map.height / map.rows);
    announce(figure.tip.textContent);
  });
}

// A <details> element that fills its table when opened.
class TableBelow {
  constructor(summary) {
    this.place = el('div');
    this.element = el('details', {class: 'as-table', ontoggle: () => this.fill()}, el('summary', {}, summary), this.place);
  }
  draw(make) {
    this.make = make;
    this.fill();
  }
  fill() {
    if (this.element.open && this.make) renew(this.place, this.make());
  }
}
