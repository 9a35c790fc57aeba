#!/usr/bin/env python3
"""variants.py: makes the stubs in learn/steps and the wrong solutions for the test from the tested solutions in learn/solutions.

  variants.py               writes learn/steps/*: the solutions without what lies between "// begin NAME" and "// end NAME", or "# begin NAME"
  variants.py --check       fails when a stub in the tree differs from what this program makes
  variants.py --test DIR    writes one source file per step for the test: the solution, the stub, and each wrong solution; in Python, a file each

A wrong solution in learn/wrong is a name and replaced lines:

    # mistake               a name that the judge knows
    - a line of the solution
    + the wrong line
"""

import pathlib
import re
import sys

LEARN = pathlib.Path(__file__).resolve().parent
STEPS = sorted(p.stem for p in (LEARN / "solutions").glob("*.h"))


# By the suffix of a file: what begins a comment, the exception in place of a solution, and what begins a solution and a stub.
LANGUAGES = {
    ".h": ("//", r'throw NotWritten("\2");', "// The solution of step", "// Step"),
    ".py": ("#", r'raise NotImplementedError("\2")', '"""The solution of step', '"""Step'),
}


def solution(file):
    return (LEARN / "solutions" / file).read_text(encoding="utf-8")


def stub(file):
    """Returns the solution with its marked parts replaced by an exception that names the function."""
    comment, exception, solution_title, title = LANGUAGES[pathlib.Path(file).suffix]
    text = re.sub(rf"^( *){comment} begin (\w+)\n.*?^ *{comment} end \2\n", rf"\1{exception}  {comment} your code here\n", solution(file),
                  flags=re.M | re.S)
    return text.replace(solution_title, title, 1)


def complete(file):
    """Returns the solution without its marks."""
    comment = LANGUAGES[pathlib.Path(file).suffix][0]
    return re.sub(rf"^ *{comment} (begin|end) \w+\n", "", solution(file), flags=re.M)


def wrong(step):
    """Returns (name, text) for each wrong solution of a step."""
    result, name, old, new = [], None, [], []

    def replace():
        if not old:
            return
        text, wanted = result[-1][1], re.sub(r"\s", "", "".join(old))
        places = [i for i, c in enumerate(text) if not c.isspace()]  # line breaks do not matter
        dense = "".join(text[i] for i in places)
        if dense.count(wanted) != 1:
            sys.exit(f"learn/wrong/{step}.txt: '{name}' replaces what occurs {dense.count(wanted)} times in the solution: {old}")
        first = dense.index(wanted)
        result[-1][1] = text[:places[first]] + "\n".join(new) + text[places[first + len(wanted) - 1] + 1:]
        old.clear(), new.clear()

    for line in (LEARN / f"wrong/{step}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            replace()
            name = line[1:].strip()
            result.append([name, complete(f"{step}.h")])
        elif line.startswith("-"):
            if new:
                replace()
            old.append(line[1:].strip())
        elif line.startswith("+"):
            new.append(line[1:])
    replace()
    return result


def source(step):
    """Returns a source file that registers the solution, the stub and the wrong solutions, each in a namespace of its own."""
    number = step[:2]
    texts = [["right", complete(f"{step}.h")], ["unwritten", stub(f"{step}.h")], *wrong(step)]
    includes = sorted({line for _, text in texts for line in re.findall(r"^#include .*", text, re.M)})
    parts = [f'#include "judges/{step}.h"', '#include "tests/learn/variants.h"', *includes]
    for i, (name, text) in enumerate(texts):
        space = f"s{number}_{i}"
        body = re.sub(r"^#.*\n", "", text, flags=re.M)
        body = body.replace("namespace learn {", f"namespace learn::{space} {{", 1)
        last = body.rindex("}  // namespace learn")
        parts.append(f"{body[:last]}\nstatic Variant variant{{\"{step}\", \"{name}\", [] {{ return step_{number}(LEARN_{number}); }}}};\n}}\n")
    return "\n".join(["// NOLINTBEGIN: wrong on purpose", *parts, "// NOLINTEND", ""])


IN_PYTHON = sorted(p.stem for p in (LEARN / "solutions").glob("*.py"))


def python_variants(step):
    """Returns {name: text} of the solution, the stub and each wrong solution in Python; wrong lines keep the indentation of the first replaced one."""
    right = complete(f"{step}.py")
    result = {"right": right, "unwritten": stub(f"{step}.py")}
    for part in re.split(r"^# ", (LEARN / f"wrong/{step}.py.txt").read_text(encoding="utf-8"), flags=re.M)[1:]:
        name, *lines = part.splitlines()
        text = right.splitlines()
        for old, new in re.findall(r"((?:^-.*\n)+)((?:^\+.*(?:\n|\Z))*)", "\n".join(lines) + "\n", re.M):
            wanted = [line[1:].strip() for line in old.splitlines()]
            places = [i for i in range(len(text)) if [one.strip() for one in text[i:i + len(wanted)]] == wanted]
            if len(places) != 1:
                sys.exit(f"learn/wrong/{step}.py.txt: '{name}' replaces what occurs {len(places)} times in the solution: {wanted}")
            indent = re.match(" *", text[places[0]]).group()
            text[places[0]:places[0] + len(wanted)] = [indent + line[2:] for line in new.splitlines()]
        result[name] = "\n".join(text) + "\n"
    return result


def main():
    if sys.argv[1:2] == ["--test"]:
        directory = pathlib.Path(sys.argv[2])
        directory.mkdir(parents=True, exist_ok=True)
        for step in STEPS:
            file, text = directory / f"{step}.cpp", source(step)
            if not file.is_file() or file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")
        for step in IN_PYTHON:
            (directory / step).mkdir(exist_ok=True)
            variants = python_variants(step)
            for stale in (directory / step).glob("*.py"):
                if stale.stem not in variants:
                    stale.unlink()
            for name, text in variants.items():
                (directory / step / f"{name}.py").write_text(text, encoding="utf-8")
        return
    stale = []
    for name in [f"{step}.h" for step in STEPS] + [f"{step}.py" for step in IN_PYTHON]:
        file, text = LEARN / "steps" / name, stub(name)
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            stale.append(f"learn/steps/{name}")
            if "--check" not in sys.argv:
                file.write_text(text, encoding="utf-8")
    if "--check" in sys.argv and stale:
        sys.exit(f"{', '.join(stale)}: differs from the stub that learn/variants.py makes; run it")


if __name__ == "__main__":
    main()
