#!/usr/bin/env python3
"""Converts sentences from CSV to the JSONL that train reads:  convert.py mine.csv > mine.jsonl

The first line names the columns. `sentence` is the text; `query` is the word to ask about and `antecedent` the word that it refers
to, or their indices, counted from 0. A cell `other` names the other candidate. All mistakes are listed; then nothing is written.
"""

import csv
import io
import json
import re
import sys

REQUIRED, OPTIONAL = ("sentence", "query", "antecedent"), ("other",)


def tokens_of(sentence):
    """Cuts at spaces, with punctuation as tokens of its own, as train cuts watched sentences."""
    return re.findall(r"[\w'’-]+|[^\w\s]", sentence)


def index_of(word, tokens, column):
    """Returns the index of a word, or the index that the cell holds."""
    places = [i for i, token in enumerate(tokens) if token == word]
    if len(places) == 1:
        return places[0]
    if places:
        raise ValueError(f"{column} '{word}' occurs {len(places)} times; give its index instead: {' or '.join(map(str, places))}")
    if word.isdecimal() and int(word) < len(tokens):
        return int(word)
    raise ValueError(f"{column} '{word}' is not one of the tokens: {' '.join(tokens)}")


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    try:
        convert(sys.argv[1] if len(sys.argv) > 1 else "/dev/stdin")
    except UnicodeDecodeError as error:
        sys.exit(f"convert.py: the input is not UTF-8 (byte {error.start}); iconv -f LATIN1 -t UTF-8 converts many such files")
    except (OSError, csv.Error) as error:
        sys.exit(f"convert.py: {error}")


def convert(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        text = file.read()
    rows = csv.DictReader(io.StringIO(text, newline=""))
    names = rows.fieldnames or []
    if missing := [name for name in REQUIRED if name not in names]:
        sys.exit(f"convert.py: line 1: expected the columns {', '.join(REQUIRED)}, separated by commas; {', '.join(missing)} "
                 f"missing, got: {', '.join(names)}")
    lines, mistakes = [], []
    for row in rows:
        cells = {name: (row[name] or "").strip() for name in names if name in REQUIRED + OPTIONAL}
        tokens = tokens_of(cells.pop("sentence"))
        line = {"tokens": tokens}
        try:
            for column, word in cells.items():
                if word or column in REQUIRED:
                    line[column] = index_of(word, tokens, column)
        except ValueError as error:
            mistakes.append(f"line {rows.line_num}: {error}")
        lines.append(json.dumps(line, ensure_ascii=False))
    if mistakes:
        sys.exit("convert.py: " + "\n  ".join([f"{len(mistakes)} of {len(lines)} sentences cannot be converted:", *mistakes[:20]]))
    if not lines:
        sys.exit("convert.py: the input has no sentences")
    sys.stdout.reconfigure(encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
