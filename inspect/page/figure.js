// A figure that can be saved: an SVG over a canvas in the same coordinates. The canvas draws heat maps quickly, up to a
// million cells. A saved SVG has rectangles instead, or an image of one pixel per cell if there are very many.
class Figure {
  // csv(): rows of cells, saved as a table. about(): texts that describe the subject of the picture.
  constructor(name, csv, about) {
    Object.assign(this, {name, about});
    this.canvas = el('canvas', {'aria-hidden': 'true'});
    this.svg = svg('svg', {role: 'img'});
    this.tip = el('div', {class: 'tip', hidden: true});
    this.box = el('div', {class: 'picture'}, this.canvas, this.svg, this.tip);
    const keep = [['SVG', () => this.keep('svg')], ['PNG', () => this.keep('png')], csv && ['CSV', () => save(this.fileName('csv'), csvText(csv()))]];
    this.tools =
        el('div', {class: 'keep', role: 'group', 'aria-label': t`Keep this picture: ${name}`},
           keep.filter(Boolean).map(([text, action]) => button(text, action, {'aria-label': t`Save as ${text}`, title: t`Save as ${text}`})));
    this.element = el('div', {class: 'figure'}, this.box, this.tools);
  }

  // Clears the figure for a picture of this size in CSS pixels.
  begin(width, height, label) {
    Object.assign(this, {width, height, maps: []});
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    for (const node of [this.canvas, this.svg]) {
      node.style.width = `${width}px`;
      node.style.height = `${height}px`;
    }
    this.box.style.width = `${width}px`;
    change(this.svg, {viewBox: `0 0 ${width} ${height}`, 'aria-label': label});
    this.next = this.svg.firstElementChild;
    queueMicrotask(() => this.end());
    this.painter = this.canvas.getContext('2d');
    this.painter.scale(scale, scale);
  }

  // Adds an element after those added since begin(). Reuses an element of the previous picture if possible: most elements
  // stay when the slider moves, and unchanged ones need no new layout. `title` is the tooltip.
  add(name, {title, ...attributes}, content = '') {
    let node = this.next;
    for (let ahead = 0; node && node.localName !== name && ahead < 200; ++ahead) node = node.nextElementSibling;
    if (node?.localName === name) {
      for (; this.next !== node; this.removeNext())
        ;
      this.next = node.nextElementSibling;
    } else {
      node = this.svg.insertBefore(svg(name), this.next);
    }
    change(node, attributes);
    if (node.shows?.content !== content || node.shows.title !== title) {
      node.shows = {content, title};
      node.replaceChildren(...[content, title && svg('title', {}, title)].filter(Boolean));
    }
    return node;
  }
  removeNext() {
    const {next} = this;
    this.next = next.nextElementSibling;
    next.remove();
  }
  // Removes the elements left over from the previous picture.
  end() {
    while (this.next) this.removeNext();
  }

  text(x, y, content, attributes) { return this.add('text', {x, y, dy: '0.35em', fill: ink.text, 'font-size': 14, ...attributes}, content); }

  // Draws `values` (rows x columns) in the rectangle with a scale of colour.js. A ramp has one row of rising values.
  heat(x, y, width, height, rows, columns, values, scale, ramp = false) {
    const map = {x, y, width, height, rows, columns, values, scale, ramp};
    this.maps.push(map);
    const cellWidth = width / columns, cellHeight = height / rows;
    this.painter.imageSmoothingEnabled = cellWidth < 1 || cellHeight < 1;
    this.painter.imageSmoothingQuality = 'high';
    this.painter.drawImage(bitmap(map), x, y, width, height);
    if (Math.min(cellWidth, cellHeight) < 8) return;
    for (let row = 1; row <= rows; ++row) this.painter.clearRect(x, y + row * cellHeight - 1, width, 1);
    for (let column = 1; column <= columns; ++column) this.painter.clearRect(x + column * cellWidth - 1, y, 1, height);
  }

  // Returns the cell at the pointer: {map, row, column}.
  cellAt(event) {
    const place = this.box.getBoundingClientRect();
    const x = event.clientX - place.left, y = event.clientY - place.top;
    for (const map of this.maps) {
      const column = Math.floor((x - map.x) / map.width * map.columns), row = Math.floor((y - map.y) / map.height * map.rows);
      if (column >= 0 && column < map.columns && row >= 0 && row < map.rows) return {map, row, column, x, y};
    }
    return null;
  }

  showTip(x, y, ...content) {
    this.tip.replaceChildren(...content);
    this.tip.hidden = false;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, this.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${y + 18}px`;
  }
  hideTip() { this.tip.hidden = true; }

  caption() { return [this.name, ...this.about(), runNow().seed && t`seed ${runNow().seed}`, `heed ${content.version}`].filter(Boolean).join(' · '); }

  // Returns the picture as a self-contained file. A line at the top describes its subject.
  svgText() {
    this.end();
    const copy = this.svg.cloneNode(true), {width, height} = this.keptSize(), top = this.height - height;
    copy.removeAttribute('style');
    copy.setAttribute('width', width);
    copy.setAttribute('height', height);
    copy.setAttribute('viewBox', `0 ${top} ${width} ${height}`);
    copy.setAttribute('font-family', 'system-ui, sans-serif');
    copy.querySelectorAll('[tabindex]').forEach((node) => node.removeAttribute('tabindex'));
    const below = [
      svg('rect', {y: top, width, height, fill: ink.ground}),
      svg('text', {x: 2, y: top + 18, fill: ink.text, 'font-size': captionSize}, this.caption())
    ];
    const many = total(this.maps.map(({rows, columns}) => rows * columns)) > 40000;
    for (const [n, map] of this.maps.entries()) {
      if (map.ramp) {
        const {x, y, width, height, columns, values, scale} = map;
        below.push(
            svg('linearGradient', {id: `ramp-${n}`},
                Array.from(
                    {length: 17}, (_, i) => svg('stop', {offset: i / 16, 'stop-color': scale.colour(values[Math.round(i / 16 * (columns - 1))])}))),
            svg('rect', {x, y, width, height, fill: `url(#ramp-${n})`}));
      } else if (many) {
        below.push(svg('image', {
          x: map.x, y: map.y, width: map.width, height: map.height, preserveAspectRatio: 'none',
          'image-rendering': 'pixelated', href: bitmap(map).toDataURL()
        }));
      } else {
        below.push(...cells(map));
      }
    }
    copy.prepend(...below);
    return new XMLSerializer().serializeToString(copy);
  }

  keptSize() { return {width: Math.max(this.width, textWidth(this.caption(), captionSize) + 8), height: this.height + 32}; }

  async pngBlob(text = this.svgText()) {
    const image = new Image(), {width, height} = this.keptSize();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const scale = Math.min(3, Math.sqrt(64e6 / (width * height)));  // browsers limit the size of a canvas
    const canvas = el('canvas', {width: Math.round(width * scale), height: Math.round(height * scale)});
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, 'image/png'));
  }

  // Always uses the light theme, for papers.
  async keep(kind) {
    const text = inLight(() => this.svgText());
    save(this.fileName(kind), kind === 'svg' ? new Blob([text], {type: 'image/svg+xml'}) : await this.pngBlob(text));
  }

  // Returns a name such as toy-step-300-layer-2-head-1-the-animal-didn-t-matrix.svg.
  fileName(kind) {
    const words = [...this.about(), this.name].map((text) => fileName(text).slice(0, 60).replace(/-$/, ''));
    return `${words.filter(Boolean).join('-')}.${kind}`;
  }
}

const captionSize = 13;

function cells({x, y, width, height, rows, columns, values, scale}) {
  const w = width / columns, h = height / rows, gap = Math.min(w, h) >= 8 ? 1 : 0;
  const one = (value, n) =>
      ({x: x + n % columns * w, y: y + Math.floor(n / columns) * h, width: w - gap, height: h - gap, fill: scale.colour(value)});
  return Array.from(values, (value, n) => svg('rect', one(value, n)));
}

// Returns a canvas with one pixel per cell. The next bitmap of the same size reuses it.
const bitmaps = new Map();
function bitmap({rows, columns, values, scale}) {
  const name = `${rows} ${columns}`;
  if (!bitmaps.has(name)) {
    if (bitmaps.size > 20) bitmaps.clear();
    const canvas = el('canvas', {width: columns, height: rows});
    const painter = canvas.getContext('2d', {willReadFrequently: true}), image = painter.createImageData(columns, rows);
    bitmaps.set(name, {canvas, painter, image, pixels: new Uint32Array(image.data.buffer)});
  }
  const {canvas, painter, image, pixels} = bitmaps.get(name);
  scale.pixels(values, pixels);
  painter.putImageData(image, 0, 0);
  return canvas;
}

const fileName = (name) => name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '');

// Formats rows as CSV (RFC 4180).
const csvText = (rows) =>
    rows.map((row) => row.map((cell) => /[",\r\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell)).join(',') + '\r\n')
        .join('');

function save(name, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type: 'text/csv'}));
  el('a', {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const ruler = el('canvas').getContext('2d');
const widths = new Map();  // measured text widths at size 100
function textWidth(text, size) {
  let width = widths.get(text);
  if (width === undefined) {
    ruler.font = '100px system-ui, sans-serif';
    width = ruler.measureText(text).width;
    if (widths.size > 20000) widths.clear();
    widths.set(text, width);
  }
  return width * size / 100;
}

// Cuts a text to `width` pixels and marks the omission with ….
function fitted(text, size, width) {
  if (textWidth(text, size) <= width) return text;
  const characters = [...text];
  while (characters.length > 1 && textWidth(`${characters.join('')}…`, size) > width) characters.pop();
  return `${characters.join('')}…`;
}
