#!/usr/bin/env python3
"""Converts sentences from CSV to the JSONL that train reads:  convert.py [--characters] mine.csv > mine.jsonl

The first line names the columns. `sentence` is the text; `query` is the word to ask about and `antecedent` the word that it refers
to, or their indices, counted from 0. Optional columns: `other` (the other candidate), `decider` (the cue word) and `relation` (the
kind of question). Where a candidate has several tokens, as "old dog", every line gets spans, for model.answer: candidate.
--characters makes each character a token, for Chinese without spaces (data.tokens: characters). All mistakes are listed; then
nothing is written.
"""

import csv
import io
import json
import sys
import unicodedata

REQUIRED, OPTIONAL = ("sentence", "query", "antecedent"), ("other", "decider", "relation")
JOINERS = "'’-‐‑"  # in a word: "didn't"
QUOTES = "'’‘\"“”«»"
ZWJ = "\u200d"


def hangul(c):
    """Returns the kind of a Hangul character: a leading consonant L, a vowel V, a trailing consonant T, a syllable LV or LVT."""
    for kind, first, last in (("L", 0x1100, 0x115F), ("V", 0x1160, 0x11A7), ("T", 0x11A8, 0x11FF), ("LVT", 0xAC00, 0xD7A3)):
        if first <= ord(c) <= last:
            return "LV" if kind == "LVT" and (ord(c) - first) % 28 == 0 else kind
    return ""


def extends(c):
    """Returns whether a code point belongs to the character before it: a mark, a joiner, a skin tone."""
    return (unicodedata.category(c)[0] == "M" or c in "\u200c\u200d\u0e33\u0eb3\uff9e\uff9f" or "🏻" <= c <= "🏿"
            or 0xE0020 <= ord(c) <= 0xE007F)


def is_control(c):
    return unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and not extends(c)


def is_pictograph(c):
    return c != "" and (unicodedata.category(c) == "So" or c in "↔‼⁉") and not "🇦" <= c <= "🇿"


def continues(character, c):
    """Returns whether code point c continues a character (Unicode Standard Annex 29)."""
    last = character[-1]
    if is_control(last) or is_control(c):
        return (last, c) == ("\r", "\n")
    if extends(c):
        return True
    if "🇦" <= c <= "🇿":  # two letters are a flag
        return len(character) == 1 and "🇦" <= last <= "🇿"
    if last == ZWJ:
        return is_pictograph(character[:-1].split(ZWJ)[-1][:1]) and is_pictograph(c)
    return hangul(c) in {"L": ("L", "V", "LV", "LVT"), "V": ("V", "T"), "LV": ("V", "T"), "T": ("T",), "LVT": ("T",)}.get(hangul(last), ())


def characters_of(text):
    found = []
    for c in text:
        if found and continues(found[-1], c):
            found[-1] += c
        else:
            found.append(c)
    return found


def kind_of(character):
    category = unicodedata.category(character[0])
    return "space" if category in ("Zs", "Zl", "Zp", "Cc") else "mark" if category[0] in "PS" else "letter"


def tokens_of(sentence, by_character=False):
    """Cuts as train cuts watched sentences: at spaces, with punctuation as tokens of its own; or into characters."""
    tokens, is_open = [], False  # whether the last token may grow
    characters = characters_of(sentence)
    kinds = [kind_of(character) for character in characters] + ["space"]
    for i, character in enumerate(characters):
        if by_character:
            grows = character.isascii() and character.isalnum()
        else:
            grows = kinds[i] == "letter" or (character in JOINERS and is_open and kinds[i + 1] == "letter")
        if kinds[i] != "space":
            if grows and is_open:
                tokens[-1] += character
            else:
                tokens.append(character)
        is_open = grows and kinds[i] != "space"
    return tokens


def span_of(word, tokens, column, by_character):
    """Returns the tokens [begin, end) of a word or of several, or the token whose index the cell holds."""
    parts = tokens_of(word.strip(QUOTES) or word, by_character)
    places = [i for i in range(len(tokens)) if tokens[i:i + len(parts)] == parts]
    if len(places) == 1:
        return places[0], places[0] + len(parts)
    if places:
        raise ValueError(f"{column} '{word}' occurs {len(places)} times; give its index instead: {' or '.join(map(str, places))}")
    if word.isdecimal() and int(word) < len(tokens):
        return int(word), int(word) + 1
    hint = "; --characters cuts text without spaces" if not word.isascii() and any(word in token for token in tokens) else ""
    raise ValueError(f"{column} '{word}' is not one of the tokens: {' '.join(tokens)}{hint}")


def line_of(cells, by_character):
    """Returns the keys of one line, and the spans of its candidates by column."""
    line = {"tokens": tokens_of(cells["sentence"], by_character)}
    spans = {column: span_of(cells[column], line["tokens"], column, by_character)
             for column in ("query", "antecedent", "other") if cells.get(column) or column in REQUIRED}
    line["query"] = spans.pop("query")[1] - 1
    if cells.get("decider"):
        parts = tokens_of(cells["decider"].strip(QUOTES) or cells["decider"], by_character)
        if len(parts) != 1 or parts[0] not in line["tokens"]:
            raise ValueError(f"decider '{cells['decider']}' is not one of the tokens: {' '.join(line['tokens'])}")
        line["decider"] = parts[0]
    if cells.get("relation"):
        line["relation"] = cells["relation"]
    return line, spans


def with_candidates(line, spans, as_spans):
    """Adds the candidates to a line: as spans, or as the indices of their tokens."""
    if not as_spans:
        return {**line, **{column: begin for column, (begin, _) in spans.items()}}
    if "other" not in spans:
        raise ValueError("'other' is missing; where a candidate has several tokens, each line needs both")
    candidates = sorted(spans.values())
    return {**line, "candidates": candidates, "antecedent": candidates.index(spans["antecedent"])}


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    files = [argument for argument in sys.argv[1:] if argument != "--characters"]
    if len(files) > 1 or any(file.startswith("-") for file in files):
        sys.exit(f"convert.py: expected [--characters] and one file, got: {' '.join(sys.argv[1:])}")
    try:
        convert(files[0] if files else "/dev/stdin", "--characters" in sys.argv)
    except UnicodeDecodeError as error:
        sys.exit(f"convert.py: the input is not UTF-8 (byte {error.start}); iconv -f LATIN1 -t UTF-8 converts many such files")
    except (OSError, csv.Error) as error:
        sys.exit(f"convert.py: {error}")


def convert(path, by_character):
    with open(path, encoding="utf-8-sig", newline="") as file:
        text = file.read()
    rows = csv.DictReader(io.StringIO(text, newline=""))
    names = rows.fieldnames or []
    if missing := [name for name in REQUIRED if name not in names]:
        sys.exit(f"convert.py: line 1: expected the columns {', '.join(REQUIRED)}, separated by commas; {', '.join(missing)} "
                 f"missing, got: {', '.join(names)}")
    if unknown := [name for name in names if name not in REQUIRED + OPTIONAL]:
        sys.exit(f"convert.py: line 1: unknown columns: {', '.join(unknown)}; expected {', '.join(REQUIRED)}, and perhaps "
                 f"{', '.join(OPTIONAL)}")
    lines, mistakes, count = [], [], 0
    for row in rows:
        count += 1
        try:
            if None in row:
                raise ValueError(f"has more cells than line 1; put cells that hold commas in double quotes: {','.join(row[None])}")
            cells = {name: (row[name] or "").strip() for name in names}
            lines.append((rows.line_num, *line_of(cells, by_character)))
        except ValueError as error:
            mistakes.append(f"line {rows.line_num}: {error}")
    as_spans = any(end - begin > 1 for _, _, spans in lines for begin, end in spans.values())
    written = []
    for number, line, spans in lines:
        try:
            written.append(json.dumps(with_candidates(line, spans, as_spans), ensure_ascii=False))
        except ValueError as error:
            mistakes.append(f"line {number}: {error}")
    if mistakes:
        sys.exit("convert.py: " + "\n  ".join([f"{len(mistakes)} of {count} sentences cannot be converted:", *mistakes[:20]]))
    if not lines:
        sys.exit("convert.py: the input has no sentences")
    sys.stdout.reconfigure(encoding="utf-8")
    print("\n".join(written))
    if as_spans:
        print("convert.py: some candidates have several tokens, so the lines have spans: set model.answer: candidate", file=sys.stderr)


if __name__ == "__main__":
    main()
