#!/usr/bin/env python3
"""mutants.py [--list] [--keep DIR] [FILE...]: checks that tests detect a wrong operator or constant in a formula.

Changes one operator or constant at a time where a derivative is computed (autograd/) and in clip, schedule and optimiser
(optim/), and runs the tests of autograd, nn and optim, which must detect each mutant. Prints the survivors and the counts.
tests/mutants/equivalent.txt lists mutants that change nothing, with the reason.

All mutants of a file are compiled at once, in a copy of the tree (in DIR, which speeds up a second run), and the variable
HEED_MUTANT chooses one. Mutants of lines that cannot be switched in this way are compiled one at a time.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
FILES = ["autograd/cpu/attention.cpp", "autograd/cpu/short_attention.h", "autograd/cpu/softmax_row.h", "optim/clip.cpp",
         "optim/schedule.cpp", "optim/adam.cpp", "optim/sgd.cpp"]
# Patterns and their replacements. Spaces around an operator tell it from a sign, a pointer or a template's bracket.
CHANGES = [(r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" \+= ", " -= "), (r" -= ", " += "),
           (r" \*= ", " /= "), (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
           (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r"\bstd::min\b", "std::max"),
           (r"\bstd::max\b", "std::min"), (r"(?<=return )-(?=[\w(])", ""), (r"(?<=[{(])-(?=[a-z(])", ""),
           (r"(?<![\w.])0(?![\w.])", "1"), (r"(?<![\w.])1(?![\w.])", "2"), (r"(?<![\w.])2(?![\w.])", "3"),
           (r"(?<![\w.])0\.5(?!\d)", "0.25")]
BACKWARD = re.compile(r"\[[^\]]*\]\(const Tensor& d\w*[,)]")  # a closure that takes a gradient
# Declarations, whose names later lines need.
DECLARATION = re.compile(r"(?!return\b|delete\b|throw\b)(const |auto |[A-Za-z_][\w:]*(<.*?>)?( ?[*&]+ ?(const )?| )\w+ ?[=({\[,;])")
FORMULA = re.compile(r"// .*\bd[A-Za-z_]+ \+?= ")  # above a function that computes it
SKIPPED = re.compile(r"\s*(//|#|namespace\b|template\b|static_assert|constexpr|static const Operation|typedef|using )|.*\bfail\(")

# The beginning of a file that contains all its mutants.
CHOICE = ["#include <cstdlib>", "#ifndef HEED_MUTANT", "#define HEED_MUTANT",
          'static const int heed_mutant = std::getenv("HEED_MUTANT") ? std::atoi(std::getenv("HEED_MUTANT")) : 0;', "#endif"]


def depth_of(code):
    return code.count("{") - code.count("}")


def formula_lines(path):
    """Returns the numbers of the lines that compute a derivative; in optim/ of all lines that compute."""
    lines = statements(path.read_text())
    chosen = set(range(len(lines))) if path.parent.name == "optim" else set()
    depth = 0
    for i, line in enumerate(lines):
        begins = BACKWARD.search(line) if depth == 0 else None
        if begins or depth > 0:
            depth += depth_of(line[begins.end():] if begins else line)
            chosen.add(i)
        if FORMULA.match(line):
            j, in_samples = i + 1, False
            while j < len(lines) and lines[j] != "}":
                in_samples = in_samples or lines[j].startswith("static const Operation")
                if in_samples:
                    in_samples = not lines[j].endswith(";") or lines[j].startswith(" ")
                else:
                    chosen.add(j)
                j += 1
    for i, line in enumerate(lines):  # excludes messages
        if re.match(r".*\bfail\(", line):
            while not lines[i].endswith(";"):
                chosen.discard(i)
                i += 1
            chosen.discard(i)
    return [i for i in sorted(chosen) if not SKIPPED.match(lines[i])]


def statements(text):
    """Returns the lines of `text`. A statement of several lines is joined in the first; the others are empty."""
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        code = re.split(r"\s//", lines[i])[0].rstrip()
        end = i + 1
        if code and not re.match(r"\s*(//|#|for|if|else|template)", code) and code[-1] not in "{};:" and code[0] == " ":
            whole = code
            while end < len(lines) and end < i + 9 and not (whole.endswith(";") and pieces(whole.strip(), ";")):
                whole += " " + re.split(r"\s//", lines[end])[0].strip()
                end += 1
            if whole.endswith(";") and pieces(whole.strip(), ";"):
                lines[i:end] = [whole] + [""] * (end - i - 1)
        i = max(end, i + 1)
    return lines


def mutants(path):
    """Returns (line number, changed line) for each mutant."""
    lines = statements(path.read_text())
    for i in formula_lines(path):
        code = re.split(r"\s//", lines[i])[0]
        for found, put in CHANGES:
            for match in re.finditer(found, code):
                yield i, code[:match.start()] + put + code[match.end():]


def pieces(text, mark):
    """Splits `text` at each `mark` outside brackets. Returns None when brackets do not match."""
    depth, begin, found = 0, 0, []
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            return None
        if depth == 0 and c == mark:
            found.append(text[begin:i])
            begin = i + 1
    return found + [text[begin:]] if depth == 0 else None


def choose(code, variants):
    """Returns an expression that evaluates `code` or the selected variant."""
    for number, variant in variants:
        if variant != code:
            code = f"heed_mutant == {number} ? ({variant}) : {code if code.startswith('heed_mutant') else f'({code})'}"
    return code


def switched(code, following, variants):
    """Returns the line with all its variants, or None when they must be compiled one by one."""
    body = code.strip()
    all_bodies = [body] + [variant.strip() for _, variant in variants]
    numbers = [number for number, _ in variants]

    def joined(parts, mark, only=None):  # parts: equally many for each body; selects among those that differ
        if any(part is None or len(part) != len(parts[0]) for part in parts):
            return None
        result = []
        for column in zip(*parts):
            if len(set(column)) == 1:
                result.append(column[0])
                continue
            sides = [re.match(r"(.*?[\w\]] = )(.*)$", cell) if only is None else (0, "", cell) for cell in column]
            if None in sides or len({side[1] for side in sides}) > 1 or sides[0][2][:1] in ("[", "{"):
                return None
            result.append(sides[0][1] + choose(sides[0][2], [(n, side[2]) for n, side in zip(numbers, sides[1:])]))
        return mark.join(result)

    closures = [re.split(r"(?<=\{ return )([^;{}]*(?:\{[^{}]*\}[^;{}]*)*)(?=; \})", b) for b in all_bodies]
    if len(closures[0]) > 1 and all(len(c) == len(closures[0]) and c[::2] == closures[0][::2] for c in closures):
        return "".join(part if k % 2 == 0 else choose(part, [(n, c[k]) for n, c in zip(numbers, closures[1:])])
                       for k, part in enumerate(closures[0]))
    header = re.match(r"((?:\} else )?(?:if|while) \()(.*)(\) \{)$", body)
    if header and pieces(header[2], ";"):
        end = len(body) - len(header[3])
        whole = choose(header[2], [(n, v[len(header[1]):len(v) - len(header[3])]) for n, v in zip(numbers, all_bodies[1:])])
        return header[1] + whole + body[end:]
    loop = re.match(r"for \((.*)\)( \{)?$", body)
    if loop:
        tail = len(")" + (loop[2] or ""))
        parts = [pieces(b[len("for ("):len(b) - tail], ";") for b in all_bodies]
        if any(p is None or len(p) != 3 for p in parts):
            return None
        made = [joined([[p[k].strip()] for p in parts], "", None if k == 0 else k) for k in range(3)]
        return None if None in made else f"for ({'; '.join(made)}{body[-tail:]}"
    if not body.endswith(";") or pieces(body, ";") is None or following.strip().startswith("else"):
        return None
    if re.match(r"(else|case|default|break|continue)\b", body):
        return None
    if DECLARATION.match(body):
        if re.match(r"[^=]*=[^=]", body) is None:
            return None
        made = joined([pieces(b[:-1], ",") for b in all_bodies], ",")
        return None if made is None else made + ";"
    chain = "".join(f"if (heed_mutant == {n}) {{ {b} }} else " for n, b in zip(numbers, all_bodies[1:]))
    return f"{{ {chain}{{ {body} }} }}"


class Source:
    """A file, its mutants, and the choice of those that are compiled together."""

    def __init__(self, name, first, known):
        self.name, self.text = name, (TOP / name).read_text()
        self.lines = statements(self.text)
        every = list(mutants(TOP / name))
        self.equivalent = sum(f"{name}: {line.strip()}" in known for _, line in every)
        self.mutants = {first + i: pair
                        for i, pair in enumerate(pair for pair in every if f"{name}: {pair[1].strip()}" not in known)}
        self.alone = set()  # lines
        self.room = "nn" if name.startswith("optim/") else "autograd"

    def together(self):
        """Returns the text with all mutants that can be compiled together."""
        lines = list(self.lines)
        for i in {line for line, _ in self.mutants.values()} - self.alone:
            code = re.split(r"\s//", self.lines[i])[0]
            following = self.lines[i + 1] if i + 1 < len(self.lines) else ""
            made = switched(code, following, [(n, line) for n, (at, line) in self.mutants.items() if at == i])
            if made is None or self.lines[i - 1].startswith("#pragma omp"):
                self.alone.add(i)
            else:
                lines[i] = made
        return "\n".join(CHOICE + [line for line in lines if line != "#pragma once"]) + "\n"

    def with_one(self, number):
        lines = list(self.lines)
        lines[self.mutants[number][0]] = self.mutants[number][1]
        return "\n".join(lines) + "\n"

    def operation(self, line):
        names = re.findall(r'Operation \w+\(\s*"([^"]+)"', "\n".join(self.lines[:line + 1]))
        of_file = {"attention": "attention", "short_attention": "attention", "softmax_row": "softmax"}
        return names[-1] if names else of_file.get(pathlib.Path(self.name).stem)


def check(sources, tree, build):
    launcher = ["-D", "CMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    names = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True).stdout.decode().split("\0")

    def write(name, text):
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != text:
            path.write_bytes(text)

    switched_names = {source.name for source in sources}
    for name in names:
        if name and (TOP / name).is_file() and name not in switched_names:
            write(name, (TOP / name).read_bytes())
    for source in sources:
        write(source.name, source.together().encode())
    subprocess.run(["cmake", "-S", tree, "-B", build, "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release", "-D",
                    "HEED_JOIN_SOURCES=OFF", "-D", "CMAKE_CXX_FLAGS_RELEASE=-O1"] + launcher, check=True,
                   stdout=subprocess.DEVNULL)

    def built(keep_going=False):
        more = ["--", "-k", "0"] if keep_going else []
        return subprocess.run(["cmake", "--build", build, "-j", "2", "--target", "autograd_test", "nn_test"] + more,
                              capture_output=True, text=True)

    for _ in range(10):  # lines that do not compile in this form are compiled alone
        result = built(keep_going=True)
        if result.returncode == 0:
            break
        found = False
        for source in sources:
            for number in set(re.findall(rf"{re.escape(source.name)}:(\d+):\d+: error", result.stdout)):
                line = int(number) - 1 - len(CHOICE) + ("#pragma once" in source.lines)
                near = [i for i in {at for at, _ in source.mutants.values()} - source.alone if abs(i - line) <= 1]
                source.alone.update(near)
                found = found or bool(near)
            write(source.name, source.together().encode())
        if not found:
            sys.exit("\n".join(line for line in result.stdout.splitlines() if "error" in line))

    def fails(room, number, arguments):
        environment = os.environ | {"HEED_MUTANT": str(number)}
        try:
            return subprocess.run([build / f"{room}_test", "--abort"] + arguments, cwd=tree, env=environment, timeout=300,
                                  capture_output=True).returncode != 0
        except subprocess.TimeoutExpired:
            return True

    def caught(source, number, line):
        """Returns whether a test detects the mutant. Likely tests run first."""
        operation, stem = source.operation(line), pathlib.Path(source.name).stem
        if source.room == "nn":
            return fails("nn", number, [])
        gradients = ["The gradient of every operation*"]
        return (operation and fails("autograd", number, gradients + ["-c", "operation " + operation]) or
                fails("autograd", number, ["-#", f"[#{stem}_test]"]) or fails("autograd", number, gradients) or
                fails("autograd", number, ["~The gradient of every operation*"]) or fails("nn", number, []))

    if fails("autograd", 0, []) or fails("nn", 0, []):
        sys.exit("the tests do not pass without a mutant")
    counts = {"caught by a test": 0, "not compiled": 0, "equivalent": 0, "survived": 0}
    for source in sources:
        counts["equivalent"] += source.equivalent
        print(f"{source.name}: {len(source.mutants)} mutants", flush=True)

        def judge(number, line, text):
            if caught(source, number, line):
                counts["caught by a test"] += 1
            else:
                counts["survived"] += 1
                print(f"SURVIVED {source.name}:{line + 1}: {text.strip()}", flush=True)

        for number, (line, text) in source.mutants.items():
            if line not in source.alone:
                judge(number, line, text)
        for number, (line, text) in source.mutants.items():
            if line in source.alone:
                write(source.name, source.with_one(number).encode())
                if built().returncode != 0:
                    counts["not compiled"] += 1
                else:
                    judge(number, line, text)
        write(source.name, source.together().encode())
    print(", ".join(f"{value} {key}" for key, value in counts.items()))
    return 1 if counts["survived"] else 0


def main():
    arguments = sys.argv[1:]
    keep = None
    if "--keep" in arguments:
        at = arguments.index("--keep")
        keep = pathlib.Path(arguments[at + 1]).resolve()
        del arguments[at:at + 2]
    names = [argument for argument in arguments if not argument.startswith("--")] or sorted(
        str(path.relative_to(TOP)) for path in (TOP / "autograd").glob("*.cpp")) + FILES
    known = {entry.split("    ")[0] for entry in (TOP / "tests/mutants/equivalent.txt").read_text().splitlines()
             if entry and not entry.startswith("#")}
    if "--list" in arguments:
        for name in names:
            for number, line in mutants(TOP / name):
                print(f"{name}:{number + 1}: {line.strip()}")
        return 0
    sources, first = [], 1
    for name in names:
        source = Source(name, first, known)
        if source.mutants:
            sources.append(source)
            first += len(source.mutants)
    if keep:
        return check(sources, keep / "tree", keep / "build")
    with tempfile.TemporaryDirectory() as scratch:
        return check(sources, pathlib.Path(scratch) / "tree", pathlib.Path(scratch) / "build")


sys.exit(main())
