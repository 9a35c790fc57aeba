"""jsonl_schema.py BUILD: checks docs/reference/jsonl.schema.json: the examples fit it, and it accepts the lines that train accepts.

Exits with 77 (skipped) when the Python package jsonschema (Debian: python3-jsonschema) is missing.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("left out: the Python package jsonschema is missing (Debian: python3-jsonschema)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/reference/jsonl.schema.json").read_text(encoding="utf-8"))
GOOD = {"tokens": ["The", "dog", "barked", "at", "it"], "query": 4, "antecedent": 1}
CHOICE = {"tokens": ["A", "dog", "saw", "it"], "query": 3, "candidates": [[0, 2], [2, 3]], "antecedent": 1}
VARIANTS = [
    GOOD, CHOICE, {**GOOD, "other": 2}, {**GOOD, "answer": "cat"}, {**GOOD, "decider": "at", "relation": "pronoun"},
    {"tokens": ["go"], "query": 0, "answer": "on"}, {**GOOD, "sentences": [0, 0, 0, 0, 0]}, {**CHOICE, "antecedent": None},
    [], {**GOOD, "extra": 1}, {**GOOD, "query": -1}, {**GOOD, "query": "it"}, {**GOOD, "query": 1.5}, {**GOOD, "tokens": "The dog"},
    {**GOOD, "tokens": ["", "dog", "barked", "at", "it"]}, {**GOOD, "tokens": ["A", "dog", "barked at", "Bo", "it"]}, {**GOOD, "antecedent": None}, {"tokens": ["a", "b"], "query": 1},
    {"query": 1, "antecedent": 0}, {"tokens": ["a", "b"], "antecedent": 0}, {**GOOD, "answer": ""}, {**GOOD, "twin": "0"},
    {**CHOICE, "answer": "dog"}, {**CHOICE, "other": 1}, {**CHOICE, "candidates": []}, {**CHOICE, "candidates": [[0, 2, 3]]},
    {**CHOICE, "candidates": [[0, 2], [0, 2]], "antecedent": 0}, {key: CHOICE[key] for key in ("tokens", "query", "candidates")},
]


def is_read(train, place, line):
    """Returns whether train reads a file of such lines."""
    file = place / "lines.jsonl"
    file.write_text(10 * (json.dumps(line) + "\n"), encoding="utf-8")
    answer = "candidate_or_none" if "candidates" in line else "word"
    done = subprocess.run([train, "--dry-run", "--config", place / "empty.yaml", "--set", "data.task=jsonl",
                           "--set", f"data.train={file}", "--set", f"model.answer={answer}"], capture_output=True, text=True)
    if "has only one sentence or minimal pair" in done.stderr:
        return True  # of ten equal lines
    if done.returncode and ".jsonl:1:" not in done.stderr:
        sys.exit(f"{line}: {done.stderr}")
    return done.returncode == 0


def main():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    fits = jsonschema.Draft202012Validator(SCHEMA).is_valid
    wrong = []
    for file in sorted(ROOT.glob("examples/*.jsonl")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if not fits(json.loads(line)):
                wrong.append(f"{file}:{number}: does not fit the schema")
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        (place / "empty.yaml").write_text("name: lines\n", encoding="utf-8")
        for line in VARIANTS:
            if is_read(pathlib.Path(sys.argv[1]) / "train", place, line) != fits(line):
                wrong.append(f"{line}: train and the schema disagree; the schema {'accepts' if fits(line) else 'refuses'} it")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
