"""Shared by the tests of the documents: reads files, paragraphs and code, and collects mistakes."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/NOTES.md", "bench/operations.md",
             *sorted(str(p.relative_to(ROOT)) for folder in ("docs", "learn") for p in (ROOT / folder).rglob("*.md"))]
CONFIGURATIONS = ["toy.yaml", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "examples").glob("*.yaml"))]
SOURCES = ["autograd", "files", "nn", "optim", "data", "tokenizers", "models", "formats", "distributed", "explain", "run", "views", "train", "inspect", "bench", "examples", "learn", "tests", "python"]

mistakes = []


def wrong(place, message):
    mistakes.append(f"{place}: {message}")


def finish(what):
    """Prints the mistakes and ends the program, with exit code 1 if there are any."""
    print(*mistakes, f"{what}, {len(mistakes)} mistakes", sep="\n")
    sys.exit(1 if mistakes else 0)


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def output_of(*command):
    """Returns the output of a program; ends the test with its message when it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}{done.stdout}")
    return done.stdout


def paragraphs(path):
    """Returns (line, text) for each paragraph, list item, heading and table row outside fenced blocks, on one line."""
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
    """Returns (line, text) for each line in the fenced blocks of a language, or in all blocks."""
    result, inside = [], None
    for number, line in enumerate(read(path).splitlines(), 1):
        if line.startswith("```"):
            inside = line[3:].strip() if inside is None else None
        elif inside is not None and language in (None, inside):
            result.append((number, line))
    return result


def code(path):
    """Returns (line, piece) for each piece between backticks in the paragraphs and each command in the sh blocks."""
    pieces = [(line, piece) for line, text in paragraphs(path) for piece in re.findall(r"`([^`]+)`", text)]
    return pieces + [(line, re.sub(r"\s+#.*", "", text)) for line, text in blocks(path, "sh")]


def comments(path):
    """Returns (line, text) for each comment in a configuration."""
    lines = enumerate(read(path).splitlines(), 1)
    return [(number, line[line.index("#") + 1:].strip()) for number, line in lines if "#" in line]


def plain(text):
    """Returns the text without commas in its numbers."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)
