// Cuts texts into subwords: the learned ones of tokenizers/subwords.h, or those of a tokenizer.json made of these parts, as
// tokenizers/pretrained_tokenizer.h does. page_tokenizer() of page_model.cpp lists the parts.
const byteName = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
const bytesIn = (text) => new TextEncoder().encode(text);

// Joins the two neighbours of the lowest rank, with all others like them, until none has a rank.
function merged(parts, rank, join = (a, b) => a + b) {
  for (;;) {
    const ranks = parts.slice(1).map((part, i) => rank(parts[i], part) ?? Infinity), first = Math.min(...ranks), next = [];
    if (!Number.isFinite(first)) return parts;
    for (let i = 0; i < parts.length; ++i) next.push(ranks[i] === first ? join(parts[i], parts[++i]) : parts[i]);
    parts = next;
  }
}

// Writes a character whose bytes are several tokens at the first of them, and the others as '', like shown_tokens() of page_facts.h.
const wholeCharacters = (tokens) => tokens.join('\u{10ffff}').replace(/<0x[C-F].>(?:\u{10ffff}?<0x[89AB].>)+/gu, (bytes) => {
  const text = new TextDecoder().decode(Uint8Array.from(bytes.match(/0x../g), Number));
  return text.includes('\ufffd') ? bytes : text + bytes.replace(/<0x..>/g, '');
}).split('\u{10ffff}');

// Equals Subwords::each(). `numbers` maps subwords to numbers, which are the ranks of merges.
const subwordsOf = (text, numbers) => text.split(/(?=[ \n\0\u2581])|(?<=[\n\0\u2581])/).flatMap((piece) =>
    merged([...piece], (a, b) => numbers.get(a + b)).flatMap((part) => numbers.has(part) ? [part] : Array.from(bytesIn(part), byteName)));

// Byte-level BPE writes a byte as the character of Latin-1 if that is visible, else as one from U+0100 on.
const isVisible = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
const hidden = Array.from({length: 256}, (_, byte) => byte).filter((byte) => !isVisible(byte));
const inByteSigns = (text) => Array.from(bytesIn(text), (byte) => String.fromCharCode(isVisible(byte) ? byte : 256 + hidden.indexOf(byte))).join('');

const exactly = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
const ofUnicode = (pattern) => pattern.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}');
const patternOf = ({String: text, Regex: pattern}) => new RegExp(pattern ? ofUnicode(pattern) : exactly(text), 'gmu');

// Returns a function that divides a text at the matches of a pattern.
const divider = (pattern, behavior, invert = false) => (text) => {
  const stretches = [];  // [text, whether it is a match]
  let at = 0;
  for (const {0: {length}, index} of text.matchAll(pattern)) {
    stretches.push([text.slice(at, index), invert], [text.slice(index, at = index + length), !invert]);
  }
  const all = [...stretches, [text.slice(at), invert]].filter(([one]) => one), joins = {
    Contiguous: (a, b) => a === b, MergedWithPrevious: (a, b) => !a && b, MergedWithNext: (a, b) => a && !b
  }[behavior];
  if (behavior === 'Removed') return all.filter(([, isMatch]) => !isMatch).map(([one]) => one);
  return all.reduce((made, [one, isMatch], i) => i > 0 && joins?.(all[i - 1][1], isMatch) ? made.with(-1, made.at(-1) + one) : [...made, one], []);
};

const normalizers = {  // by type: the function of a text that a part of the file makes
  ...Object.fromEntries(['NFC', 'NFD', 'NFKC', 'NFKD'].map((form) => [form, () => (text) => text.normalize(form)])),
  Lowercase: () => (text) => text.toLowerCase(),
  StripAccents: () => (text) => text.replace(/\p{M}/gu, ''),
  Prepend: ({prepend}) => (text) => text && prepend + text,
  Replace: ({pattern, content}) => (text) => text.replace(patternOf(pattern), () => content),
  BertNormalizer: ({clean_text, handle_chinese_chars, strip_accents, lowercase}) => (text) => {
    if (clean_text) text = text.replace(/(?![\t\n\r])[\0\ufffd\p{Cc}\p{Cf}\p{Co}]/gu, '').replace(/\p{White_Space}/gu, ' ');
    if (handle_chinese_chars) text = text.replace(/[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu, ' $& ');
    if (strip_accents ?? lowercase) text = text.normalize('NFD').replace(/\p{Mn}/gu, '');
    return lowercase ? text.toLowerCase() : text;
  }
};
const atSpaces = divider(/\p{White_Space}/gu, 'Removed'), atMarks = (behavior) => divider(/[\p{P}!-/:-@[-`{-~]/gu, behavior ?? 'Isolated');
const wordsOfBytes = divider(patternOf({Regex: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"}), 'Isolated');
const preTokenizers = {  // by type: the function of a text, and of whether it begins the input, that returns its pieces
  ByteLevel: ({add_prefix_space: adds, use_regex}) => (text) =>
      (use_regex === false ? (one) => [one] : wordsOfBytes)((adds && text[0] !== ' ' ? ' ' : '') + text).map(inByteSigns),
  Metaspace: ({replacement, prepend_scheme: scheme = 'always', add_prefix_space, split}) => (text, isFirst) => {
    const adds = add_prefix_space !== false && (scheme === 'always' || (scheme === 'first' && isFirst)) && ![' ', replacement].includes(text[0]);
    const signs = (adds ? replacement : '') + text.replaceAll(' ', replacement);
    return split === false ? [signs] : divider(new RegExp(exactly(replacement), 'gu'), 'MergedWithNext')(signs);
  },
  Split: ({pattern, behavior, invert}) => divider(patternOf(pattern), behavior, invert),
  Digits: ({individual_digits}) => divider(/\p{N}/gu, individual_digits ? 'Isolated' : 'Contiguous'),
  Punctuation: ({behavior}) => atMarks(behavior),
  WhitespaceSplit: () => atSpaces,
  BertPreTokenizer: () => (text) => atSpaces(text).flatMap(atMarks())
};

const cutters = {  // by type: the function of a piece that returns its tokens
  WordPiece: ({unk_token, continuing_subword_prefix: prefix, max_input_chars_per_word: most}, has) => (piece) => {
    const tokens = [];
    for (let begin = 0, end = piece.length; begin < piece.length; begin = end, end = piece.length) {
      const token = () => (begin > 0 ? prefix ?? '##' : '') + piece.slice(begin, end);
      while (end > begin && !has(token())) --end;
      if (end === begin || [...piece].length > (most ?? 100)) return [unk_token ?? '[UNK]'];
      tokens.push(token());
    }
    return tokens;
  },
  BPE: ({merges, unk_token, continuing_subword_prefix, end_of_word_suffix, fuse_unk, byte_fallback, ignore_merges}, has) => {
    const prefix = continuing_subword_prefix ?? '', isUnknown = (one) => one === unk_token;
    const ranks = new Map(merges.map((pair, rank) => [typeof pair === 'string' ? pair : pair.join(' '), rank]));
    const symbols = (c, i, all) => {
      const name = (i > 0 ? prefix : '') + c + (i + 1 === all.length ? end_of_word_suffix ?? '' : ''), bytes = Array.from(bytesIn(name), byteName);
      return has(name) ? [name] : byte_fallback && bytes.every(has) ? bytes : unk_token ? [unk_token] : [];
    };
    return (piece) => ignore_merges && has(piece) ? [piece] : merged(
        [...piece].flatMap(symbols).filter((one, i, all) => !(fuse_unk && i > 0 && isUnknown(one) && isUnknown(all[i - 1]))),
        (a, b) => ranks.get(`${a} ${b}`), (a, b) => a + b.slice(prefix.length));
  }
};

// Returns the function of a text that returns the names of its tokens. `has` tells whether a name is a token.
function pretrainedTokenizer({normalizer, pre_tokenizer, model, added_tokens, before, behind}, has) {
  const parts = (part, made) => !part ? [] : (part.normalizers ?? part.pretokenizers)?.flatMap((one) => parts(one, made)) ?? [made[part.type](part)];
  const normalize = parts(normalizer, normalizers), divide = parts(pre_tokenizer, preTokenizers), cut = cutters[model.type](model, has);
  const added = added_tokens.sort((a, b) => b.content.length - a.content.length)
      .map(({content, lstrip, rstrip}) => `${lstrip ? '\\s*' : ''}(${exactly(content)})${rstrip ? '\\s*' : ''}`).join('|') || '(?!)';
  const read = (text, isFirst) => divide.reduce((all, one) => all.flatMap((piece, i) => one(piece, isFirst && i === 0)),
      [normalize.reduce((now, one) => one(now), text)].filter(Boolean)).flatMap(cut);
  return (text) => {
    const tokens = [];
    let at = 0;
    for (const match of text.matchAll(new RegExp(added, 'gu'))) {
      tokens.push(...read(text.slice(at, match.index), at === 0), match.slice(1).find(Boolean));
      at = match.index + match[0].length;
    }
    return [...before, ...tokens, ...read(text.slice(at), at === 0), ...behind];
  };
}
