// Characters that are invisible or reorder others: controls, direction marks, joiners without effect, tags.
const unseen =
    /[\u0080-\u009f\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/u;

const spaceSigns = {'': '…', ' ': '␣', '\n': '↵', '\r': '␍', '\t': '⇥', '<0x0A>': '↵'};  // '': a later part of a character; the last: a subword's byte

// Returns a token for display. Replaces invisible characters by signs such as ␣, ␀ or ⟨U+202E⟩.
function visible(token) {
  if (Object.hasOwn(spaceSigns, token)) return spaceSigns[token];
  if (/^[\u200c\u200d\s]+$/u.test(token)) return [...token].map((c) => spaceSigns[c] ?? pointName(c)).join('');
  return [...token].map((c) => {
    if (c < ' ') return String.fromCharCode(0x2400 + c.charCodeAt(0));
    return c === '\x7f' ? '␡' : unseen.test(c) ? pointName(c) : c;
  }).join('');
}

// Returns the separator of tokens in running text: empty if the tokens contain their spaces.
const gapOf = (tokens) => tokens.some((token) => /^\s/.test(token)) ? '' : ' ';
const inText = (token) => ['', ' '].includes(token) ? token : visible(token);
const textOf = (tokens, gap = gapOf(tokens)) => tokens.map(inText).join(gap);

// Returns the direction of a text, from its first letter. Hebrew, Arabic, Syriac, Thaana and similar scripts are in these ranges.
function direction(tokens) {
  const letter = /\p{L}/u.exec(tokens.join(' '))?.[0] ?? '';
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(letter) ? 'rtl' : 'ltr';
}

function pointName(character) { return `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`; }

// Formats a number with a minus sign (U+2212). Rounds a number in the middle of two to the even digit, as the program does.
const fixed = (x, decimals = 3) => Number.isFinite(x) ? digitsOf(x, decimals).replace('-', '−') : '–';
function digitsOf(x, decimals) {
  const text = x.toFixed(decimals), isMiddle = Math.abs(x * 2 ** (decimals + 1) % 2) === 1;  // toFixed() rounds these up
  const digits = isMiddle && '13579'.includes(text.at(-1)) ? (x * (1 - Number.EPSILON)).toFixed(decimals) : text;
  return Number(digits) === 0 ? digits.replace('-', '') : digits;
}
const signed = (x, decimals = 3) => {
  const zero = Number(x.toFixed(decimals)) === 0;
  return zero ? fixed(0, decimals) : (x > 0 ? '+' : '') + fixed(x, decimals);
};
const percent = (x) => Number.isFinite(x) ? `${fixed(100 * x, 1)} %` : '–';

// Returns the accuracy of {accuracy, accuracy_low, accuracy_high} as percent() of views/terminal.h does: "28.0 % ± 6.3", or
// "28.0 % (22.0 to 34.9)" where ± would misplace an end.
function accuracyText({accuracy, accuracy_low: low, accuracy_high: high}) {
  const error = (high - low) / 2;
  if (!Number.isFinite(accuracy) || !(error < 1)) return percent(accuracy);
  const fits = accuracy - error >= -0.0005 && accuracy + error <= 1.0005 && Math.abs(accuracy - error - low) <= 0.0025;
  return percent(accuracy) +
      (fits ? ` ± ${fixed(100 * error, 1)}` : t` (${fixed(100 * Math.max(low, 0), 1)} to ${fixed(100 * Math.min(high, 1), 1)})`);
}
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');  // 39,744; toLocaleString() first loads its data for 15 ms
const rounded = (x) => `${fixed(100 * x, 0)} %`;
const headName = (layer, head) => t`layer ${layer + 1} head ${head + 1}`;

// Returns the word, with its position (from 1) as a subscript if it occurs more than once: the₅.
function placed(tokens, i) {
  const shown = visible(tokens[i]);
  if (tokens.indexOf(tokens[i]) === tokens.lastIndexOf(tokens[i])) return shown;
  return shown + String(i + 1).replace(/\d/g, (digit) => String.fromCharCode(0x2080 + Number(digit)));
}

let segmenter = null;  // made when used
const clustersOf = (text) => Array.from((segmenter ??= new Intl.Segmenter('und', {granularity: 'grapheme'})).segment(text), (part) => part.segment);
const isSpace = (cluster) => /^[\p{Zs}\p{Zl}\p{Zp}\p{Cc}]/u.test(cluster);
const isMark = (cluster) => /^[\p{P}\p{S}]/u.test(cluster);
const isLetter = (cluster) => !isSpace(cluster) && !isMark(cluster);
const joinsLetters = (cluster) => ['\'', '’', '-', '‐', '‑'].includes(cluster);

// Equals Tokenizer::of_text() in tokenizers/tokenize.h.
function tokenizeText(text, split, numbers) {
  if (split === 'subwords') return subwordsOf(text, numbers);
  if (split === 'characters') return [...text];
  if (split === 'bytes') return Array.from(bytesIn(text), (byte) => byte < 128 ? String.fromCharCode(byte) : byteName(byte));
  const clusters = clustersOf(text), tokens = [];
  for (let begin = 0, end; begin < clusters.length; begin = end) {
    const leads = clusters[begin] === ' ' && begin + 1 < clusters.length && isLetter(clusters[begin + 1]);
    end = begin + (leads ? 2 : 1);
    const grows = () => isLetter(clusters[end]) || (joinsLetters(clusters[end]) && end + 1 < clusters.length && isLetter(clusters[end + 1]));
    if (isLetter(clusters[end - 1])) {
      while (end < clusters.length && grows()) ++end;
    }
    tokens.push(clusters.slice(begin, end).join(''));
  }
  return tokens;
}

// Equals tokenize() in tokenizers/tokenize.h. split: 'words' or 'characters'. With `ofText`, calls tokenizeText().
function tokenize(text, split, ofText = false, numbers = null) {
  if (ofText) return tokenizeText(text, split, numbers);
  const clusters = clustersOf(text), tokens = [];
  let open = false;  // further characters extend the last token
  clusters.forEach((cluster, i) => {
    const inside = open && i + 1 < clusters.length && isLetter(clusters[i + 1]);
    const grows =
        !isSpace(cluster) && (split === 'characters' ? /^[0-9A-Za-z]$/.test(cluster) : isLetter(cluster) || (inside && joinsLetters(cluster)));
    if (grows && open) {
      tokens[tokens.length - 1] += cluster;
    } else if (!isSpace(cluster)) {
      tokens.push(cluster);
    }
    open = grows;
  });
  return tokens;
}

// Parses brackets in a text, like without_brackets() in tokenizers/marked_text.h: {text, places: [[begin, end]], problem}.
function withoutBrackets(marked) {
  const places = [];
  let text = '', open = false, problem = null;
  for (const part of marked.split(/([[\]])/)) {
    if (part !== '[' && part !== ']') {
      text += part;
      continue;
    }
    const other = part === '[' ? ']' : '[';
    if (open === (part === '[')) problem ??= t`“${part}” without “${other}” before it.`;
    if (part === '[') {
      places.push([text.length, text.length]);
    } else if (open) {
      places.at(-1)[1] = text.length;
      if (places.at(-1)[0] === text.length) problem ??= t`These brackets are empty.`;
    }
    open = part === '[';
  }
  if (open) problem ??= t`“[” without “]” after it.`;
  return {text, places, problem};
}

// Returns the span of tokens that each place in a text touches: [[begin, end]], undefined and NaN if it touches none.
function spansOf(places, tokens, text) {
  let at = 0;
  const lies = tokens.map((token) => {
    const begin = text.indexOf(token, at);
    return [begin, at = begin + token.length];
  });
  return places.map(([from, to]) => {
    const touched = [...tokens.keys()].filter((i) => lies[i][0] < to && lies[i][1] > from);
    return [touched[0], touched.at(-1) + 1];
  });
}

// Returns the tokens as a text with brackets around these spans: the inverse of withoutBrackets().
function withBrackets(tokens, spans, gap) {
  const begins = (i) => spans.some(([begin]) => begin === i), ends = (i) => spans.some(([, end]) => end === i + 1);
  return tokens.map((token, i) => (begins(i) ? token.replace(/^\s*/, '$&[') : token) + (ends(i) ? ']' : '')).join(gap);
}

// Returns the index of token i after an edit, if it and all tokens before it, or it and all after it, are unchanged. Otherwise returns -1.
function afterEdit(before, after, i) {
  const first = before.findIndex((token, n) => token !== after[n]);
  if (first < 0 || i < first) return i < after.length ? i : -1;
  const shift = after.length - before.length;
  return before.slice(i).every((token, n) => token === after[i + shift + n]) ? i + shift : -1;
}

// Returns the sentence number of each token, counted back from the last sentence.
function sentenceNumbers(tokens) {
  let number = 0;
  return tokens.reduceRight((numbers, token, i) => {
    numbers[i] = (token === '.' || token === '。') && i + 1 < tokens.length ? ++number : number;
    return numbers;
  }, new Array(tokens.length));
}

// Returns the number of insertions, deletions, substitutions and transpositions that turn a into b.
function editDistance(a, b) {
  const d = Array.from({length: a.length + 1}, (_, i) => [i]);
  for (let j = 0; j <= b.length; ++j) d[0][j] = j;
  for (let i = 1; i <= a.length; ++i) {
    for (let j = 1; j <= b.length; ++j) {
      d[i][j] = Math.min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] !== b[j - 1] ? 1 : 0));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.length][b.length];
}

// Returns up to three of `words`, the nearest first. Every word of one or two characters is near every other: these must differ in case
// alone, or be a swap of two characters.
function nearest(word, words) {
  const characters = [...word], swapped = characters.toReversed().join('');
  const isNear = (candidate, distance) => characters.length > 2 ? distance <= Math.max(1, characters.length / 3) :
      candidate.toLowerCase() === word.toLowerCase() || candidate === swapped;
  return words.map((candidate) => ({candidate, distance: editDistance(characters, [...candidate])}))
      .filter(({candidate, distance}) => isNear(candidate, distance))
      .sort((a, b) => a.distance - b.distance)
      .slice(0, 3).map(({candidate}) => candidate);
}
