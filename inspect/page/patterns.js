// Patterns of attention in one text, by measurement (Olsson et al. 2022; Clark et al. 2019; Xiao et al. 2023). Copies of tokens name a
// head only if the text has at least `fewest` of them, and only for this text: inspect induction measures random sequences.
const patterns = {
  previous: {name: t`previous token`, title: t`previous token`, of: (i) => i - 1},
  next: {name: t`next token`, title: t`next token`, of: (i, tokens) => i + 1 < tokens.length ? i + 1 : -1},
  same: {name: t`same token`, title: t`same token`, of: (i) => i},
  first: {name: t`first token`, title: t`first-token sink`, of: () => 0},
  induction: {name: t`after an earlier copy`, title: t`the token after an earlier copy`, of: (i, tokens, last) => last[i] < 0 ? -1 : last[i] + 1, isOfCopies: true},
  duplicate: {name: t`earlier copy`, title: t`earlier copy of the token`, of: (i, tokens, last) => last[i], isOfCopies: true},
  mark: {name: t`separators`, title: t`the nearest separator or full stop`, of: (i, tokens, last, marks) => marks[i]},
};
const isSeparator = (token) => [...content.separators, '.', ',', '。', '，', ';'].includes(token.trim());
const fewest = 8;
const thumbSide = 24;  // cells per side of a thumbnail, at most

// Returns {scores, entropy, name, share, thumb, side, most} of a head. A score is the mean weight from each token (but the first) to
// the token that the pattern names. A thumbnail holds the largest weight of each of its cells.
function measureHead(weights, tokens, places) {
  const T = tokens.length, scores = {}, counts = {}, side = Math.min(T, thumbSide), thumb = new Float32Array(side * side);
  for (const [kind, to] of Object.entries(places)) {
    let sum = 0, count = 0;
    for (let i = 1; i < T; ++i) {
      if (to[i] < 0) continue;
      sum += weights[i * T + to[i]];
      ++count;
    }
    scores[kind] = count > 0 ? sum / count : NaN;
    counts[kind] = count;
  }
  let entropy = 0, most = 0;
  const causal = T > 1 && weights[1] <= 0.0001;
  for (let i = 0; i < T; ++i) {
    const row = Math.floor(i * side / T) * side;
    let sum = 0;
    for (let j = 0; j < T; ++j) {
      const w = weights[i * T + j], n = row + Math.floor(j * side / T);
      if (w > thumb[n]) thumb[n] = w;
      if (w > 0.0001) sum -= w * Math.log(w);
      if (w > most) most = w;
    }
    const keys = causal ? i + 1 : T;
    if (keys > 1) entropy += sum / Math.log(keys) / (T - (causal ? 1 : 0));
  }
  scores.entropy = Math.min(1, entropy);
  const naming = Object.keys(places).filter((kind) => !patterns[kind].isOfCopies || counts[kind] >= fewest);
  const best = naming.reduce((a, b) => scores[b] > (scores[a] || 0) ? b : a, 'previous');
  const name = T < 3 || !(scores[best] >= 0.4) ? entropy > 0.85 ? t`broad` : t`mixed` : patterns[best].name;
  return {scores, name, share: scores[best], thumb, side, most};
}

// Returns the key that each pattern names for each token; -1: none.
function patternPlaces(tokens) {
  const seen = new Map(), last = tokens.map((token, i) => {
    const before = seen.get(token) ?? -1;
    seen.set(token, i);
    return before;
  });
  let mark = -1;
  const marks = tokens.map((token, i) => {
    const before = mark;
    if (isSeparator(token)) mark = i;
    return before >= 0 ? before : tokens.findIndex((other, n) => n > i && isSeparator(other));
  });
  return Object.fromEntries(Object.entries(patterns).map(([kind, {of}]) => [kind, tokens.map((_, i) => of(i, tokens, last, marks))]));
}

// Returns [layer][head] of measureHead() for an Attention, or null while it is measured in slices.
function measuredHeads(attention) {
  if (attention.measured || attention.pending) return attention.measured ?? null;
  const {heads, tokens, T} = attention, places = patternPlaces(tokens), found = heads.map(() => []);
  const work = function*() {
    for (const [layer, head] of allHeads(heads)) {
      found[layer][head] = measureHead(attention.of(layer, head), tokens, places);
      yield;
    }
  };
  const done = () => { attention.measured = found; };
  if (total(heads) * T * T < 150000) {
    finished(work());
    done();
  } else {
    attention.pending = true;
    attention.partly = found;
    inSlices(work(), () => {
      done();
      update({});
    });
  }
  return attention.measured ?? null;
}

// Names a head: "previous token, 0.92".
const patternText = ({name, share}) => [t`mixed`, t`broad`].includes(name) ? t`${name} attention` : `${name} ${fixed(share, 2)}`;

// Tokens that take attention without a meaning of their own: the first one, and the separators of a model that has them. They are muted
// where they take much of it.
function sinksOf({tokens}) { return tokens.map((token, i) => i === 0 || content.separators.includes(token)); }
