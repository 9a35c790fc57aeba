#!/usr/bin/env python3
"""texts.py: checks that each text of the page has Chinese.

A text of the page is t`...` or the title of a view; chinese.js and chinese_views.js hold each of them, and no other. chinese_program.js holds the sentences that the
program writes into the page. A translation uses each value of its text.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "inspect/page"
# Where the program writes sentences for the page: a file, and the beginning of a function, or "" for all of it.
PROGRAM = [("views/causes_verdict.cpp", ""), ("views/verdict_text.cpp", ""), ("views/history_view.cpp", "std::vector<std::string> history_verdict("),
           ("views/report_view.cpp", "std::vector<std::string> report_verdict("), ("explain/studies/causes.cpp", "  void say_what_is_left_out("),
           ("inspect/page/page_model.cpp", "std::string why_left_out("), ("inspect/page/page_run.cpp", "PageRun page_sentence("),
           ("inspect/page/page_causes.cpp", "void add_causes("), ("inspect/page/page_circuit.cpp", "void add_circuit("),
           ("views/circuit_view.cpp", "std::string choosers("), ("views/circuit_view.cpp", "std::vector<std::string> circuit_verdict(")]


def tagged(source):
    """Yields the name of each t`...` in JavaScript: its text with {} for values, in which others may be nested."""
    for begin in re.finditer(r"(?<![\w$.])t`", source):
        name, at, depth = "", begin.end(), 0
        while depth > 0 or source[at] != "`":
            if depth == 0 and source.startswith("${", at):
                name, depth, at = name + "{}", 1, at + 2
                continue
            if depth > 0 and source[at] == "`":  # a template in a value
                at = end_of_template(source, at + 1)
                continue
            if depth > 0:
                depth += {"{": 1, "}": -1}.get(source[at], 0)
            else:
                name += source[at]
            at += 1
        yield name


def end_of_template(source, at):
    """Returns the place after the template that begins before `at`."""
    depth = 0
    while depth > 0 or source[at] != "`":
        if depth == 0 and source.startswith("${", at):
            depth, at = 1, at + 2
        elif depth > 0 and source[at] == "`":
            at = end_of_template(source, at + 1)
        else:
            if depth > 0:
                depth += {"{": 1, "}": -1}.get(source[at], 0)
            at += 1
    return at + 1


def entries(source):
    """Returns {text: translation} of an object of JavaScript, one entry a line."""
    pairs = re.findall(r"^  '((?:[^'\\]|\\.)*)': ?\n? *'((?:[^'\\]|\\.)*)',?$", source, re.MULTILINE)
    return {key.replace("\\'", "'"): value for key, value in pairs}


def sentences(path, function):
    """Yields the literals with a space in a C++ function, adjacent ones joined, with {} for values."""
    source = re.sub(r"^\s*//.*$", "", (ROOT / path).read_text(), flags=re.MULTILINE)
    if function:
        begin = source.index("\n" + function)
        indent = re.match(" *", function).group()
        source = source[begin:source.index(f"\n{indent}}}\n", begin)]
    for joined in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', source):
        text = re.sub(r'"\s*"', "", joined)[1:-1].replace("\\'", "'")
        if " " in text.strip():
            yield re.sub(r"\{[^{}]*\}", "{}", text)


def main():
    scripts = {path.name: path.read_text() for path in sorted(PAGE.glob("*.js"))}
    table, of_program = {**entries(scripts["chinese.js"]), **entries(scripts["chinese_views.js"])}, entries(scripts["chinese_program.js"])
    used = {}
    for name, source in scripts.items():
        if name.startswith("chinese") or name == "language.js":
            continue
        for text in [*tagged(source), *re.findall(r"^  title: '([^']*)',$", source, re.MULTILINE)]:
            used.setdefault(text, name)
    faults = [f"{used[text]}: '{text}' has no Chinese in chinese.js" for text in used if text not in table and text not in of_program]
    faults += [f"chinese.js: the page has no text '{text}'" for text in table if text not in used]
    faults += [f"chinese.js: '{text}' is in chinese_program.js, too" for text in table if text in of_program]
    for text, translation in [*table.items(), *of_program.items()]:
        values = {int(number) for number in re.findall(r"\{(\d)\}", translation)}
        if values != set(range(text.count("{}"))):
            faults.append(f"chinese.js: '{text}' has {text.count('{}')} values, its translation uses {sorted(values)}")
    formats = "\n".join(of_program).lower()
    count = 0
    for path, function in PROGRAM:
        for text in sentences(path, function):
            count += 1
            for part in text.split("{}"):  # a format of the table joins several of the program
                part = part.strip(" ;:.,()")
                if re.search("[A-Za-z]{2}", part) and part.lower() not in formats:
                    faults.append(f"{path}: '{part}' has no Chinese in chinese_program.js")
    if count < 60:
        sys.exit(f"texts.py: only {count} sentences of the program were found; has a function moved?")
    print(*faults, sep="\n", file=sys.stderr)
    if len(used) < 250:
        sys.exit(f"texts.py: only {len(used)} texts were found; is the pattern out of date?")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
