// Creates an element with attributes and children. An attribute `on...` is a listener; false and null omit an attribute.
// Strings become text nodes, never markup.
const el = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) => filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);

function filled(node, attributes, children) {
  change(node, attributes ?? {});
  node.append(...given(children));
  return node;
}

// Returns the children that are not null. In texts "%" and "±" stay on the line of their numbers.
const given = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined)
    .map((child) => typeof child === 'string' ? child.replace(/ (?=[%±])|(?<=±) /g, '\u00a0') : child);

// Sets attributes and listeners of a node, and removes those set by an earlier call.
function change(node, attributes) {
  const before = node.given ?? {};
  for (const key in before)
    if (!(key in attributes)) set(node, key, null);
  for (const key in attributes)
    if (before[key] !== attributes[key]) set(node, key, attributes[key]);
  node.given = attributes;
}
function set(node, key, value) {
  if (typeof value === 'function' || key.startsWith('on')) {
    node[key] = value;
  } else if (value === null || value === undefined || value === false) {
    node.removeAttribute(key);
  } else {
    node.setAttribute(key, value === true ? '' : value);
  }
}

// Sets the children of an element to `children`, freshly made by el(). Reuses existing nodes of the same kind: this saves
// layout and keeps focus and scroll position. Do not use it for nodes that a view stores.
function renew(place, ...children) {
  const made = given(children);
  made.forEach((child, i) => {
    const old = place.childNodes[i], text = typeof child === 'string' ? child : child.data;
    if (old?.nodeType === Node.TEXT_NODE && text !== undefined) {
      if (old.data !== text) old.data = text;
    } else if (!old || text !== undefined || old.localName !== child.localName) {
      old ? old.replaceWith(child) : place.append(child);
    } else {
      change(old, child.given);
      if (old.style.cssText !== child.style.cssText) old.style.cssText = child.style.cssText;
      const {value} = child;
      renew(old, ...child.childNodes);
      if (child.localName === 'select' && old.value !== value) old.value = value;
    }
  });
  while (place.childNodes.length > made.length) place.lastChild.remove();
}

// Calls move(rows, columns) when an arrow key is pressed on the node.
const onArrows = (node, move) => node.addEventListener('keydown', (event) => {
  const by = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
  if (!by) return;
  event.preventDefault();
  move(...by);
});
const indexNear = (i, count) => Math.max(0, Math.min(count - 1, i));

// Returns a token for running text, isolated so that it does not change the direction of adjacent text.
const word = (token, attributes) => el('bdi', attributes, visible(token));

function select(label, options, chosen, choose, name = label) {
  const list = el('select', {'aria-label': name, onchange: ({currentTarget}) => choose(Number(currentTarget.value))},
      options.map((text, i) => el('option', {value: i, selected: i === chosen}, text)));
  return el('label', {class: 'field'}, el('span', {}, label), list);
}

const button = (text, action, attributes) => el('button', {type: 'button', onclick: action, ...attributes}, text);

// Returns a table. `head` and `rows` are lists of cells, each a text or an element.
function table(head, rows, attributes) {
  const cell = (tag, scope) => (value) => el(tag, {scope}, value);
  const title = (value) => value === '' ? el('td') : cell('th', 'col')(value);
  return el(
      'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': attributes?.['aria-label'] ?? t`Table`},
      el('table', attributes, el('thead', {}, el('tr', {}, head.map(title))),
         el('tbody', {}, rows.map((row) => el('tr', {}, row.map((value, i) => cell(i === 0 ? 'th' : 'td', i === 0 ? 'row' : null)(value)))))));
}

// Returns a bar of length |x| in [0, 1] with its value, or "not known" without a bar. The width is set through the CSSOM, as
// the Content-Security-Policy requires.
function bar(x, text, kind = '') {
  if (!Number.isFinite(x)) return el('span', {class: 'muted'}, t`not known`);
  const inner = el('span', {class: `bar ${kind}`});
  inner.style.width = `${Math.min(1, Math.abs(x)) * 100}%`;
  return el('span', {class: 'bar-cell'}, el('span', {class: 'bar-track'}, inner), el('span', {class: 'figure-text'}, text));
}

function announce(text) {
  const place = document.getElementById('announcements');
  if (place.textContent !== text) place.textContent = text;
}

// Returns a button per head, a row per layer. pressed(layer, head) selects the pressed ones, colour(layer, head) their colour.
function headButtons(heads, pressed, press, label, colour = () => null) {
  const one = (layer, head) => {
    const down = pressed(layer, head);
    const node = button(
        String(head + 1), () => press(layer, head),
        {'aria-pressed': String(down), 'aria-label': headName(layer, head), title: headName(layer, head)});
    if (down && colour(layer, head)) node.style.background = node.style.borderColor = colour(layer, head);
    return node;
  };
  return el(
      'div', {class: 'head-buttons', role: 'group', 'aria-label': label},
      heads.map(
          (count, layer) =>
              el('div', {}, el('span', {class: 'muted'}, t`layer ${layer + 1} head`), Array.from({length: count}, (_, head) => one(layer, head)))));
}
