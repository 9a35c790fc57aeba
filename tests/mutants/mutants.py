#!/usr/bin/env python3
"""mutants.py [--list] [FILE...]: does a test notice when one operator or constant of a formula is wrong?

Changes one operator or constant at a time in the backward of every operation (autograd/*.cpp) and in clip, schedule and
optimiser (optim/*.cpp), builds the tests of that room in a copy of the tree, and runs them: each mutant must be caught.
Prints the survivors and the counts. Those in tests/mutants/equivalent.txt are known to change nothing, with the reason.
The whole takes hours; a FILE takes minutes.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
# What is found, and what is put there. Spaces around an operator tell it from a sign, a pointer or a template's bracket.
CHANGES = [(r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" \+= ", " -= "), (r" -= ", " += "),
           (r" \*= ", " /= "), (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
           (r"(?<![\w.])0(?![\w.])", "1"), (r"(?<![\w.])1(?![\w.])", "2"), (r"(?<![\w.])2(?![\w.])", "3"),
           (r"(?<![\w.])0\.5(?!\d)", "0.25")]
BACKWARD = re.compile(r"\[[^\]]*\]\(const Tensor& d\w*\)")


def formula_lines(path):
    """Numbers of the lines that compute a derivative; in optim/ of all that compute."""
    lines = path.read_text().splitlines()
    if path.parent.name == "optim":
        return [i for i, line in enumerate(lines) if not re.match(r"\s*(//|#|namespace|fail\()|.*fail\(", line)]
    numbers, depth = [], 0
    for i, line in enumerate(lines):
        begins = BACKWARD.search(line) if depth == 0 else None
        if begins:
            depth = line[begins.end():].count("{") - line[begins.end():].count("}")
            numbers.append(i)
        elif depth > 0:
            numbers.append(i)
            depth += line.count("{") - line.count("}")
    return numbers


def mutants(path):
    """(line number, changed line) for each."""
    lines = path.read_text().splitlines()
    for i in formula_lines(path):
        code = re.split(r"\s//", lines[i])[0]
        for found, put in CHANGES:
            for match in re.finditer(found, code):
                yield i, code[:match.start()] + put + code[match.end():]


def main():
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    files = [TOP / name for name in names] if names else (
        sorted((TOP / "autograd").glob("*.cpp")) + [TOP / "optim" / f"{name}.cpp" for name in ("clip", "schedule", "update")])
    if "--list" in sys.argv:
        for path in files:
            for number, line in mutants(path):
                print(f"{path.relative_to(TOP)}:{number + 1}: {line.strip()}")
        return 0
    known = set()
    for entry in (TOP / "tests/mutants/equivalent.txt").read_text().splitlines():
        if entry and not entry.startswith("#"):
            known.add(entry.split("    ")[0])
    scratch = pathlib.Path(tempfile.mkdtemp())
    try:
        return check(files, known, scratch)
    finally:
        shutil.rmtree(scratch)


def check(files, known, scratch):
    tree, build = scratch / "tree", scratch / "build"
    archive = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True).stdout
    for name in archive.decode().split("\0"):
        if name and (TOP / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, tree / name)
    subprocess.run(["cmake", "-S", tree, "-B", build, "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release", "-D",
                    "HEED_JOIN_SOURCES=OFF", "-D", "CMAKE_CXX_FLAGS_RELEASE=-O1"], check=True, stdout=subprocess.DEVNULL)

    def caught(room):
        """By what: the compiler, a test, or nothing (None)."""
        built = subprocess.run(["cmake", "--build", build, "--target", f"{room}_test"], capture_output=True)
        if built.returncode != 0:
            return "compiler"
        try:
            run = subprocess.run([build / f"{room}_test", "--abort"], cwd=tree, capture_output=True, timeout=300)
        except subprocess.TimeoutExpired:
            return "test"
        return "test" if run.returncode != 0 else None

    counts = {"test": 0, "compiler": 0, "equivalent": 0, "survived": 0}
    for path in files:
        name = path.relative_to(TOP)
        room = "nn" if path.parent.name == "optim" else "autograd"
        if caught(room) is not None:
            print(f"{name}: the tests do not pass without a mutant")
            return 1
        whole = path.read_text()
        for number, line in mutants(path):
            lines = whole.splitlines()
            lines[number] = line
            entry = f"{name}: {line.strip()}"
            if entry in known:
                counts["equivalent"] += 1
                continue
            (tree / name).write_text("\n".join(lines) + "\n")
            by = caught(room)
            counts[by or "survived"] += 1
            if by is None:
                print(f"SURVIVED {name}:{number + 1}: {line.strip()}", flush=True)
        (tree / name).write_text(whole)
    print(", ".join(f"{value} {key}" for key, value in counts.items()))
    return 1 if counts["survived"] else 0


sys.exit(main())
