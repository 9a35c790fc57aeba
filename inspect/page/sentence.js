// The first view. The picture: lines between two columns of tokens, or the text wrapped. Beside it: the answers and the verdict (story.js).
const sentenceView = {
  title: 'Sentence',
  lead: () => asLines(subject()) ?
      t`Each line runs from a word at the left to a word that it attends to, at the right; its width is the weight. Point at a word for its lines alone; press it to keep it.` :
      t`Press a token to ask about it; point at it to see where it attends. The square or button of a head selects that head.`,
  make() {
    const figure = new Figure(
        t`sentence`, () => attentionRows(subject(), (l, h) => state.shown.has(key(l, h))),
        () => [...aboutNow({head: false}), [...state.shown.keys()].map((name) => t`head ${shortName(name)}`).join(' ')]);
    const choose = el('div', {class: 'controls'}), below = new TableBelow(t`As a table`), aside = new Story();
    const left = el('div', {class: 'left'}, figure.element, choose, below.element), element = el('section', {class: 'story'}, left, aside.element);
    const view = {
      followsTraining: () => true, figures: [figure, ...aside.figures], element,
      says: () => view.isSurprise ? surpriseSays(shownNow()) : saysOf(shownNow()),
      muted: true,     // first token and separators
      surprise: true,  // colour a text by its surprise
    };
    let hover = null;  // {side, token}
    let least = 0;     // index into leastWeights
    change(figure.box, {class: 'picture', tabindex: 0, role: 'group', 'aria-label': t`Arrow keys choose a token`});
    const at = (event) => {
      const {tokens} = subject(), box = figure.box.getBoundingClientRect();
      const token = view.text ? tokenAt(figure, event, view.textTop, view.text) : Math.floor((event.clientY - box.top - view.top) / view.row);
      if (token < 0 || token >= tokens.length) return null;
      return {side: view.text || event.clientX - box.left < view.middle ? 'left' : 'right', token};
    };
    const hoverOver = (next) => {
      if (hover?.side === next?.side && hover?.token === next?.token) return;
      hover = next;
      view.draw();
    };
    figure.box.addEventListener('pointermove', (event) => hoverOver(at(event)));
    figure.box.addEventListener('pointerleave', () => hoverOver(null));
    figure.box.addEventListener('click', (event) => {
      const place = at(event), now = shownNow(), {layer, head} = state;
      if (place?.side === 'right' && now.live && now.token === now.query) toggleRemoved([`${key(layer, head)}.${place.token}`]);
      if (place?.side !== 'left') return;
      const isCandidate = now.candidates?.some((span) => isIn(span, place.token));
      if (state.sentence === OWN && now.live && !now.live.engine.isNext && !isCandidate)
        return askOwn(now.live.engine, {...now, live: null, query: place.token, isChosen: true});
      update({token: place.token});
    });
    onArrows(figure.box, (rows, columns) => {
      hover = null;
      update({token: indexNear(state.token + rows + columns, subject().tokens.length)});
      announce(looksAt(subject(), state.token));
    });
    const drawControls = (now, lines, bits) => renew(
        choose,
        ...(total(now.heads) <= 16 && lines ? [headButtons(now.heads, (l, h) => state.shown.has(key(l, h)), toggleHead, t`Heads shown`, headColour)] :
                                              []),
        ...(bits ? [select(t`Colour`, [t`surprise of each token`, t`attention from ${placed(now.tokens, now.token)}`], view.surprise ? 0 : 1, (i) => {
          view.surprise = i === 0;
          update({});
        })] : []), ...(lines ? [select(t`Hide weights below`, leastWeights.map(String), least, (next) => {
          least = next;
          update({});
        })] : []), ...(hasSinks(now) ? [button(view.muted ? t`Show ${sinkNames(now)}` : t`Mute ${sinkNames(now)}`, () => {
          view.muted = !view.muted;
          update({});
        })] : []));
    view.draw = () => {
      const now = shownNow(), lines = asLines(now), token = hover?.token ?? now.token;
      if (!now.attention) return waiting(figure);
      if (state.chosen && state.chosen !== view.chosen) view.surprise = false;  // a chosen head shows its attention
      view.chosen = state.chosen;
      const bits = kindOf() === 'language' && !lines ? bitsOf(now) : null;
      view.isSurprise = Boolean(bits) && view.surprise;
      drawControls(now, lines, bits);
      const sinks = view.muted && hasSinks(now) ? sinksOf(now) : now.tokens.map(() => false);
      view.text =
          lines ? null : drawTextPicture(figure, view, now, {token: hover ? token : now.token, sinks, bits: view.surprise && !hover ? bits : null});
      if (lines) drawSentence(figure, view, now, hover ?? {side: 'left', token}, leastWeights[least], sinks);
      inTurn('story', () => aside.draw(now));
      if (training.curves.parentNode !== element) element.append(training.curves);
      training.drawCurves(pictureRoom());
      below.draw(() => rowTable(now, now.token));
    };
    return view;
  },
};

// Returns the subject at the token that the user selected: {..., token, live, isAfter}. `isAfter` tells whether the removed parts are
// removed, which a model of this step can do. A language model is asked about every token.
function shownNow() {
  const now = subject(), token = Math.min(state.token, now.tokens.length - 1), live = now.attention && liveReading(now);
  const isAfter = Boolean(isRemovedAny() && live);
  return {...now, token, live, isAfter, attention: isAfter ? live.reading.attention : now.attention};
}

const asLines = ({tokens}) => tokens.length <= 26 && !['language', 'induction'].includes(kindOf());
const sinkNames = (now) => sinksOf(now).lastIndexOf(true) > 0 ? t`the first token and separators` : t`the first token`;
const hasSinks = (now) => isOfText() && now.tokens.length > 2;

// Draws the wrapped text: by the surprise of each token, or by the attention of the selected head from `token`.
function drawTextPicture(figure, view, now, {token, sinks, bits}) {
  const {tokens, attention} = now, T = tokens.length, room = pictureRoom(), {layer, head} = state;
  const arcs = inductionArcs(now, room > 500), size = (arcs && T <= 60 ? Math.max(18, Math.min(40, 0.7 * room / T)) : T <= 40 ? 24 : T <= 80 ? 20 : T <= 250 ? 16 : 13) - (room < 500 ? 3 : 0);
  const {places, height} = textLayout(tokens, room - 2, size, kindOf() !== 'language'), top = view.textTop = arcs ? 40 : 12;
  const scale = bits ? scales.surprise : scales.weight.within(endOf(attention.row(layer, head, token).map((w, j) => sinks[j] ? 0 : w)));
  figure.begin(
      room, top + height + 44,
      bits ? t`Surprise of ${T} tokens in bits: ${tokens.map((one, i) => `${visible(one)} ${fixed(bits[i] ?? NaN, 1)}`).join(', ')}` :
             looksAt(now, token));
  const text = {tokens, places, size};
  bits ? drawText(figure, 1, top, {...text, asked: token, colour: (i) => Number.isFinite(bits[i]) ? scale.name(bits[i]) : null}) :
         drawAttendedText(figure, 1, top, text, {...now, layer, head, arcs}, token, scale, sinks);
  drawLegend(
      figure, 2, top + height + 8, 170, scale,
      bits ? {text: t`bits`, ends: ['0', t`${scale.high} or more`]} : {ends: ['0', String(scale.high)]});
  return text;
}

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
    announce(t`${mostShown} heads are shown at once: ${headName(...headOfKey(oldest))} was hidden`);
    shown.delete(oldest);
  }
  const used = new Set(shown.values());
  shown.set(name, Array.from({length: mostShown}, (_, i) => i).find((colour) => !used.has(colour)));
  return update({shown, layer, head, chosen: true});
}

const waiting = (figure) => {
  figure.begin(300, 40, t`Loading`);
  figure.text(0, 20, t`This part of the page is still loading …`, {fill: ink.muted});
};

// Returns the shown heads in the order of layers and heads.
function shownHeads(heads) {
  const shown = allHeads(heads).filter((at) => state.shown.has(key(...at)));
  return shown.map(([layer, head]) => ({layer, head, colour: headColour(layer, head)}));
}

function surpriseSays(now) {
  const bits = bitsOf(now).map((x) => x ?? 0), most = bits.indexOf(Math.max(...bits)), [first] = answersNow(now, now.token, 2).rows;
  return [
    atStep(now, t`each token is coloured by how much it surprised the model. `), t`${el('b', {}, placed(now.tokens, most))} surprised it most: ${fixed(bits[most], 1)} bits.`,
    first ? t` After ${el('b', {}, placed(now.tokens, now.token))} it expects ${el('b', {}, visible(first.word))} with probability ${fixed(first.probability)}.` : null
  ];
}

const atStep = ({step}, text) => runNow().steps.length > 1 ? t`At step ${step}, ${text}` : text[0].toUpperCase() + text.slice(1);

// Describes the view in words.
function saysOf(now) {
  const {tokens, query, antecedent, candidates, heads, attention} = now;
  if (!attention) return [];
  const shown = shownHeads(heads), T = tokens.length;
  if (shown.length === 0) return [t`No head is chosen: choose one of the numbers.`];
  const {layer, head} = shown.find((one) => one.layer === state.layer && one.head === state.head) ?? shown[0];
  if (now.isAfter && isRemoved(layer, head)) return [t`${atStep(now, headName(layer, head))} is removed.`];
  const from = Math.min(state.token, T - 1), row = attention.row(layer, head, from);
  const sinks = hasSinks(now) ? sinksOf(now) : [], loud = row.map((w, j) => sinks[j] ? 0 : w),
        sunk = total(row) - total(loud);
  const best = loud.indexOf(Math.max(...loud));
  const that = best === antecedent && from === query ? sourceName() === t`antecedent` ? t`, its ${sourceName()}` : t`, the ${sourceName()}` : '';
  const on = from !== query || !candidates ?
      t`${rounded(row[best])} of its attention on ${el('b', {}, placed(tokens, best))}${that}` :
      candidates.flatMap((span, i) => {
        const share = rounded(weightOnSpan(row, span)), name = el('b', {}, spanText({tokens}, span)), sign = isIn(span, antecedent) ? t`, the correct candidate` : '';
        return i === 0 ? t`${share} of its attention on ${name}${sign}` : t`, ${share} on ${name}${sign}`;
      });
  const one = measuredHeads(attention)?.[layer][head], named = one && shown.length === 1 ? ` (${patternText(one)})` : '';
  return [
    atStep(now, t`in ${headName(layer, head)}${antecedent < 0 ? named : ''}, `), el('b', {}, placed(tokens, from)), t` puts `, ...on,
    sunk > 0.1 ? t`; ${rounded(sunk)} go to ${sinkNames(now)}` : '', now.isAfter ? t`, after the removal.` : t`.`,
    shown.length > 1 ? t` ${shown.length} heads are shown, each in the colour of its button.` : ''
  ];
}

// Returns the weight on a span: the sum over its tokens.
const weightOnSpan = (row, span) => total(row.subarray(...span));
const antecedentSpan = ({antecedent, candidates}) => candidates?.find((span) => isIn(span, antecedent)) ?? [antecedent, antecedent + 1];

// Returns whether a token is the antecedent or belongs to a candidate.
const isMarked = (token, antecedent, candidates) => token === antecedent || Boolean(candidates?.some((span) => isIn(span, token)));

function drawSentence(figure, view, {tokens, query, antecedent, candidates, heads, attention, isAfter}, focus, leastWeight, sinks) {
  const T = tokens.length, shown = shownHeads(heads);
  const row = T <= 16 ? 32 : 26, size = T <= 16 ? 18 : 15;
  const room = pictureRoom(), column = room > 520 ? 58 : 40, narrowest = 120;  // minimum width of the lines, in pixels
  const labels = Math.min(room * 0.24, Math.max(...tokens.map((_, i) => textWidth(placed(tokens, i), 1.08 * size))) + 14);
  const columns = Math.floor((room - 2 * labels - narrowest) / column);
  const figures = shown.length <= Math.min(6, columns) ? shown.length : 0;
  const width = Math.min(room, 560 + 2 * labels + figures * column), top = figures ? 34 : 12;
  const left = labels, right = width - labels - figures * column;
  Object.assign(view, {row, top, middle: (left + right) / 2});
  figure.begin(width, top + T * row + 44, t`Attention in ${counted(shown.length, 'head')}. ${looksAt({tokens, heads, attention}, focus.token)}`);
  const y = (token) => top + (token + 0.5) * row, apart = Math.min(5, row / (shown.length + 1));
  const line = (i, j, weight, colour, opacity, n, dashes) => {
    const shift = (n - (shown.length - 1) / 2) * apart, [from, to] = [y(i) + shift, y(j) + shift];
    figure.add('path', {
      d: `M${left + 4},${from}C${left + (right - left) * 0.4},${from} ${left + (right - left) * 0.6},${to} ${right - 4},${to}`, fill: 'none', stroke: colour,
      'stroke-opacity': opacity.toFixed(3), 'stroke-width': (0.8 + 6 * weight).toFixed(2), 'stroke-dasharray': dashes
    });
  };
  const isFocus = (i, j) => focus.side === 'left' ? i === focus.token : j === focus.token;
  const over = [];
  for (const [n, {layer, head, colour}] of shown.entries()) {
    const weights = attention.of(layer, head);
    for (let i = 0; i < T; ++i) {
      for (let j = 0; j < T; ++j) {
        const weight = weights[i * T + j];
        if (isFocus(i, j) && weight >= leastWeight)
          over.push([i, j, weight, ...(sinks[j] ? [ink.muted, 0.2] : [colour, 0.25 + 0.75 * weight]), n]);
        else if (weight >= Math.max(0.1, leastWeight))
          line(i, j, weight, sinks[j] ? ink.muted : colour, (sinks[j] ? 0.06 : 0.14) * weight, n);
      }
    }
  }
  over.sort((a, b) => a[2] - b[2]).forEach((one) => line(...one));
  shown.slice(0, figures).forEach(({layer, head, colour}, n) => {
    const x = right + labels + (n + 0.5) * column, weights = attention.of(layer, head);
    figure.text(
        x, top - 16, `${layer + 1}.${head + 1}`,
        {'text-anchor': 'middle', 'font-size': 13, fill: colour, 'font-weight': 700, title: headName(layer, head)});
    const values = Float32Array.from(tokens, (_, t) => focus.side === 'left' ? weights[focus.token * T + t] : weights[t * T + focus.token]);
    figure.heat(x - column / 2 + 3, top, column - 6, T * row, T, 1, values, scales.weight);
    values.forEach((value, t) => {
      if (value >= 0.005)
        figure.text(x, y(t), fixed(value, 2), {'text-anchor': 'middle', 'font-size': Math.min(14, size), fill: scales.weight.text(value)});
    });
  });
  for (const [n, {layer, head}] of shown.entries()) {
    tokens.forEach((_, j) => isAfter && isRemoved(layer, head, j) && line(query, j, 0.2, ink.mark, 0.9, n, '4 5'));
  }
  tokens.forEach((_, t) => {
    for (const side of ['left', 'right']) {
      const chosen = focus.side === side && focus.token === t, whole = placed(tokens, t), text = fitted(whole, size, labels - 8);
      figure.text(side === 'left' ? left - 6 : right + 6, y(t), text, {
        'text-anchor': side === 'left' ? 'end' : 'start', 'font-size': size,
        'font-weight': chosen || t === query || t === antecedent ? 700 : 400,
        fill: chosen ? ink.accent : isMarked(t, antecedent, candidates) ? ink.mark : ink.text,
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
  const one = ({layer, head}) => `${headName(layer, head)}: ${looksAtIn({tokens, attention}, layer, head, i)}`;
  return shownHeads(heads).slice(0, 8).map(one).join('; ');
}

function rowTable({tokens, heads, attention}, token) {
  return table(
      [t`from ${visible(tokens[token])}`, ...tokens.map((_, i) => placed(tokens, i))],
      shownHeads(heads).map(({layer, head}) => [headName(layer, head), ...Array.from(attention.row(layer, head, token), (w) => fixed(w))]),
      {'aria-label': t`Attention from ${visible(tokens[token])}`});
}

// Returns rows of a CSV file with the columns of `inspect export --csv`.
function attentionRows({tokens, attention}, wanted) {
  const T = tokens.length, rows = [['layer', 'head', 'from', 'to', 'query token', 'key token', 'weight']];
  attention.heads.forEach((count, l) => {
    for (let h = 0; h < count; ++h) {
      if (!wanted(l, h)) continue;
      attention.of(l, h).forEach((weight, n) => {
        const i = Math.floor(n / T), j = n % T;
        rows.push([l + 1, h + 1, i + 1, j + 1, tokens[i], tokens[j], digitsOf(weight, 3)]);
      });
    }
  });
  return rows;
}
