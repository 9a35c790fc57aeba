"""What the tests of the documents share: their files, paragraphs, code, and a list of mistakes."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
             *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
CONFIGURATIONS = ["toy.yaml", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "examples").glob("*.yaml"))]
SOURCES = ["autograd", "files", "nn", "optim", "data", "run", "train", "inspect", "bench", "examples", "tests"]

mistakes = []


def wrong(place, message):
    mistakes.append(f"{place}: {message}")


def finish(what):
    """Prints the mistakes and ends the program: with 1 where there are any."""
    print(*mistakes, f"{what}, {len(mistakes)} mistakes", sep="\n")
    sys.exit(1 if mistakes else 0)


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def output_of(*command):
    """What a program prints; the test ends with its message where it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}{done.stdout}")
    return done.stdout


def paragraphs(path):
    """(line, text) of each paragraph, item of a list, heading and row of a table outside of fenced blocks, on one line."""
    result, held, first, fenced = [], "", 0, False
    for number, line in enumerate(read(path).splitlines() + [""], 1):
        begins = re.match(r"#|\||[-*] |\d+\. ", line)
        if line.startswith("```") or fenced or not line.strip() or begins:
            if held:
                result.append((first, held))
            held = ""
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and line.strip():
            first, held = (number, line.strip()) if not held else (first, f"{held} {line.strip()}")
    return result


def blocks(path, language=None):
    """(line, text) of each line in the fenced blocks of a language, or in all."""
    result, inside = [], None
    for number, line in enumerate(read(path).splitlines(), 1):
        if line.startswith("```"):
            inside = line[3:].strip() if inside is None else None
        elif inside is not None and language in (None, inside):
            result.append((number, line))
    return result


def code(path):
    """(line, piece) of each piece between backticks in the paragraphs, and of each command in the sh blocks."""
    pieces = [(line, piece) for line, text in paragraphs(path) for piece in re.findall(r"`([^`]+)`", text)]
    return pieces + [(line, re.sub(r"\s+#.*", "", text)) for line, text in blocks(path, "sh")]


def comments(path):
    """(line, text) of the comments in a configuration."""
    lines = enumerate(read(path).splitlines(), 1)
    return [(number, line[line.index("#") + 1:].strip()) for number, line in lines if "#" in line]


def plain(text):
    """The text without commas in its numbers."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)
