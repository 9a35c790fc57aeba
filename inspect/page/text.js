// Characters that would not be seen, or would move others: controls, direction marks, joiners of nothing, tags.
const unseen = new RegExp(
    '[\\u0080-\\u009f\\u00ad\\u034f\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f' +
        '\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff\\u{e0000}-\\u{e0fff}]',
    'u');

const spaceSigns = {
  ' ': '␣',
  '\n': '↵',
  '\r': '␍',
  '\t': '⇥'
};

// A token as it is shown: what cannot be seen gets a sign, such as ␣, ␀ or ⟨U+202E⟩.
function visible(token) {
  if (/^[\u200c\u200d\s]+$/u.test(token)) return [...token].map((c) => spaceSigns[c] ?? pointName(c)).join('');
  return [...token]
      .map((c) => {
        const point = c.codePointAt(0);
        if (point < 0x20) return String.fromCharCode(0x2400 + point);
        return point === 0x7f ? '␡' : unseen.test(c) ? pointName(c) : c;
      })
      .join('');
}

// What stands between tokens in running text: nothing where they bring their spaces with them.
const gapOf = (tokens) => tokens.some((token) => /^\s/.test(token)) ? '' : ' ';
const inText = (token) => token === ' ' ? token : visible(token);
const textOf = (tokens) => tokens.map(inText).join(gapOf(tokens));

// Which way a text runs: as its first letter does. Hebrew, Arabic, Syriac, Thaana and the like lie in these ranges.
function direction(tokens) {
  const letter = /\p{L}/u.exec(tokens.join(' '))?.[0] ?? '';
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(letter) ? 'rtl' : 'ltr';
}

function pointName(character) { return `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`; }

// With a true minus sign.
const fixed = (x, decimals = 3) => Number.isFinite(x) ? x.toFixed(decimals).replace('-', '−') : '–';
const signed = (x, decimals = 3) => {
  const zero = Number(x.toFixed(decimals)) === 0;
  return zero ? fixed(0, decimals) : (x > 0 ? '+' : '') + fixed(x, decimals);
};
// "28.0 % ± 6.3"; of no known error "28.0 %".
const percent = (x, error) => !Number.isFinite(x) ? '–' :
    `${(100 * x).toFixed(1)} %${Number.isFinite(error) ? ` ± ${(100 * error).toFixed(1)}` : ''}`;
const grouped = (n) => n.toLocaleString('en');  // 39,744
const rounded = (x) => `${(100 * x).toFixed(0)} %`;
const headName = (layer, head) => `layer ${layer + 1} head ${head + 1}`;

// The word; where it stands elsewhere too, with its place counted from 1: the₅.
function placed(tokens, i) {
  const shown = visible(tokens[i]);
  if (tokens.indexOf(tokens[i]) === tokens.lastIndexOf(tokens[i])) return shown;
  return shown + String(i + 1).replace(/\d/g, (digit) => String.fromCharCode(0x2080 + Number(digit)));
}

const segmenter = new Intl.Segmenter('und', {granularity: 'grapheme'});
const isSpace = (cluster) => /^[\p{Zs}\p{Zl}\p{Zp}\p{Cc}]/u.test(cluster);
const isMark = (cluster) => /^[\p{P}\p{S}]/u.test(cluster);
const isLetter = (cluster) => !isSpace(cluster) && !isMark(cluster);
const joinsLetters = (cluster) => ['\'', '’', '-', '‐', '‑'].includes(cluster);

// As Tokenizer::of_text() in data/tokenize.h.
function tokenizeText(text, split) {
  if (split === 'characters') return [...text];
  if (split === 'bytes') {
    return Array.from(new TextEncoder().encode(text), (byte) => byte < 128 ?
        String.fromCharCode(byte) : `<0x${byte.toString(16).toUpperCase()}>`);
  }
  const clusters = Array.from(segmenter.segment(text), (part) => part.segment), tokens = [];
  for (let begin = 0, end; begin < clusters.length; begin = end) {
    const leads = clusters[begin] === ' ' && begin + 1 < clusters.length && isLetter(clusters[begin + 1]);
    end = begin + (leads ? 2 : 1);
    const grows = () => isLetter(clusters[end]) ||
        (joinsLetters(clusters[end]) && end + 1 < clusters.length && isLetter(clusters[end + 1]));
    if (isLetter(clusters[end - 1])) {
      while (end < clusters.length && grows()) ++end;
    }
    tokens.push(clusters.slice(begin, end).join(''));
  }
  return tokens;
}

// As tokenize() in data/tokenize.h. split: 'words' or 'characters'; or, with `ofText`, as tokenizeText().
function tokenize(text, split, ofText = false) {
  if (ofText) return tokenizeText(text, split);
  const clusters = Array.from(segmenter.segment(text), (part) => part.segment);
  const tokens = [];
  let open = false;  // the last token may grow
  clusters.forEach((cluster, i) => {
    const inside = open && i + 1 < clusters.length && isLetter(clusters[i + 1]);
    const grows = !isSpace(cluster) &&
        (split === 'characters' ? /^[0-9A-Za-z]$/.test(cluster) :
                                  isLetter(cluster) || (inside && joinsLetters(cluster)));
    if (grows && open) {
      tokens[tokens.length - 1] += cluster;
    } else if (!isSpace(cluster)) {
      tokens.push(cluster);
    }
    open = grows;
  });
  return tokens;
}

// A text in which brackets mark places, as without_brackets() in data/marked_text.h: {text, places: [[begin, end]], problem}.
function withoutBrackets(marked) {
  const places = [];
  let text = '', open = false, problem = null;
  for (const part of marked.split(/([[\]])/)) {
    if (part !== '[' && part !== ']') {
      text += part;
      continue;
    }
    const other = part === '[' ? ']' : '[';
    if (open === (part === '[')) problem ??= `“${part}” without “${other}” before it.`;
    if (part === '[') {
      places.push([text.length, text.length]);
    } else if (open) {
      places.at(-1)[1] = text.length;
      if (places.at(-1)[0] === text.length) problem ??= 'Brackets mark nothing.';
    }
    open = part === '[';
  }
  if (open) problem ??= '“[” without “]” after it.';
  return {text, places, problem};
}

// Of each place in a text all tokens that it touches: [[begin, end]], undefined and NaN where it touches none.
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

// The other way round: the tokens as a text, with brackets around these spans.
function withBrackets(tokens, spans, gap) {
  const begins = (i) => spans.some(([begin]) => begin === i), ends = (i) => spans.some(([, end]) => end === i + 1);
  return tokens.map((token, i) => (begins(i) ? token.replace(/^\s*/, '$&[') : token) + (ends(i) ? ']' : '')).join(gap);
}

// Where token i is after an edit, as far as the tokens before it or those behind it stayed; else -1.
function afterEdit(before, after, i) {
  const first = before.findIndex((token, n) => token !== after[n]);
  if (first < 0 || i < first) return i < after.length ? i : -1;
  const shift = after.length - before.length;
  return before.slice(i).every((token, n) => token === after[i + shift + n]) ? i + shift : -1;
}

// Numbers of the sentences of `tokens`, counted back from the last.
function sentenceNumbers(tokens) {
  let number = 0;
  return tokens.map((token, i) => [token, i])
      .reverse()
      .map(([token, i]) => {
        if ((token === '.' || token === '。') && i + 1 < tokens.length) ++number;
        return number;
      })
      .reverse();
}

// Insertions, deletions, substitutions and swaps of neighbours that turn a into b.
function editDistance(a, b) {
  const d = Array.from({length: a.length + 1}, (_, i) => [i]);
  for (let j = 0; j <= b.length; ++j) d[0][j] = j;
  for (let i = 1; i <= a.length; ++i) {
    for (let j = 1; j <= b.length; ++j) {
      d[i][j] = Math.min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] !== b[j - 1] ? 1 : 0));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.length][b.length];
}

// Up to three of `words`, the nearest first.
function nearest(word, words) {
  const characters = [...word];
  return words.map((candidate) => ({candidate, distance: editDistance(characters, [...candidate])}))
      .filter(({distance}) => distance < Math.min(characters.length, Math.max(3, characters.length / 2 + 1)))
      .sort((a, b) => a.distance - b.distance)
      .slice(0, 3)
      .map(({candidate}) => candidate);
}
