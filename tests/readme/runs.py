"""runs.py BUILD: checks what the documents say about trained examples; trains for a few seconds."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from documents import ROOT, finish, output_of, read, wrong

BUILD = pathlib.Path(sys.argv[1]).resolve()
SEED = int(re.search(r"^seed: (\d+)", read("toy.yaml"), re.M)[1])
RIVALS = [9, 19]  # of seeds 1 to 40, those whose answers depend most on one edge after it


def check_bank(scratch):
    """docs/tutorial/self-attention.md: both sentences have the answer "shore", and a head gives "river" 0.9 or more."""
    run = scratch / "bank"
    output_of(BUILD / "train", "--config", "examples/bank.yaml", "--quiet", "--out", run)
    for sentence in ("The bank of the river", "The bank is near the river"):
        if f'--sentence "{sentence}"' not in read("docs/tutorial/self-attention.md"):
            wrong("docs/tutorial/self-attention.md", f"expected inspect runs/bank --sentence \"{sentence}\"")
        said = json.loads(output_of(BUILD / "inspect", run, "--sentence", sentence, "--json"))["sentences"][0]
        bank, river = said["tokens"].index("bank"), said["tokens"].index("river")
        most = max(head[bank][river] for head in said["layers"][0])
        if said["predicted"] != "shore" or most < 0.9:
            wrong("docs/tutorial/self-attention.md", f"'{sentence}': {said['predicted']}, {most:.2f} of the attention on river")


def check_chinese(scratch):
    """docs/tutorial/self-attention.md: in layer 2 head 4 of examples/chinese.yaml, 甜 gives 苹果 more than 0.9."""
    page, run = "docs/tutorial/self-attention.md", scratch / "chinese"
    output_of(BUILD / "train", "--config", "examples/chinese.yaml", "--quiet", "--out", run)
    if 'runs/chinese --sentence "苹果 很 甜" --layer 2 --head 4' not in read(page):
        wrong(page, "expected inspect steps runs/chinese with layer 2 head 4")
    weights = json.loads(output_of(BUILD / "inspect", run, "--sentence", "苹果 很 甜", "--json"))["sentences"][0]["layers"][1][3]
    if weights[2][0] <= 0.9:
        wrong(page, f"expected more than 0.9 of the attention of 甜 on 苹果, found {weights[2][0]:.2f}")


def check_dropout(scratch):
    """docs/tutorial/first-run.md, exercise 2: over ten seeds the best head points more clearly with dropout than without."""
    means = []
    for name, settings in (("with", ()), ("without", ("--set", "model.dropout=0"))):
        table = output_of(BUILD / "train", "--config", "toy.yaml", "--seeds", "1-10", "--out", scratch / name, *settings)
        means.append(float(re.search(r"^  mean .*?(\S+)$", table, re.M)[1]))
    if means[0] - means[1] < 0.1:
        wrong("docs/tutorial/first-run.md", f"exercise 2: mean weights on the antecedent of {means[0]} and {means[1]}")


def check_seed(scratch):
    """toy.yaml: its seed is the one whose answers depend most on a single edge."""
    seeds = [SEED, *RIVALS]
    output_of(BUILD / "train", "--config", "toy.yaml", "--quiet", "--seeds", ",".join(map(str, seeds)), "--out", scratch / "toy")
    runs = [scratch / "toy" / f"seed-{seed}" for seed in seeds]
    found = json.loads(output_of(BUILD / "inspect", "match", *runs, "--json"))["runs"]
    without = {seed: run["pointing"]["without"] for seed, run in zip(seeds, found)}
    if min(without, key=without.get) != SEED or found[0]["pointing"]["carried"] != "alone":
        wrong("toy.yaml", f"right without the edge of the head that points: {without}; seed {SEED} is not the least")


def check_profile(scratch):
    """bench/NOTES.md: how many operations a step of toy.yaml calls, forward and backward."""
    run = scratch / "profile"
    output_of(BUILD / "train", "--config", "toy.yaml", "--quiet", "--profile", "--set", "train.steps=4", "--out", run)
    events = json.loads((run / "trace.json").read_text())["traceEvents"]
    names = [event["name"] for event in sorted(events, key=lambda event: event["ts"])]
    first = names.index("(optimizer)")  # ends the first step
    second = names[first + 1:names.index("(optimizer)", first + 1)]
    calls = len([name for name in second if not name.startswith("(")])
    if f"A step of `toy.yaml` makes {calls} calls of operations" not in read("bench/NOTES.md"):
        wrong("bench/NOTES.md", f"a step of toy.yaml makes {calls} calls of operations")


def keys_of(value):
    """Returns the keys of all objects in a JSON value."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    return set(value).union(*map(keys_of, value.values())) if isinstance(value, dict) else set()


def check_json(scratch):
    """docs/reference/json-output.md: it has every key that inspect prints."""
    page = "docs/reference/json-output.md"
    named = set(re.findall(r"`(\w+)`", read(page)))
    run, places, decoder = scratch / "kept", scratch / "places", scratch / "induction"
    output_of(BUILD / "train", "--config", "toy.yaml", "--quiet", "--set", "dump.weights=true", "--set", "train.steps=60", "--out", run)
    other = shutil.copytree(run, scratch / "other")
    output_of(BUILD / "train", "--config", "examples/mine.yaml", "--quiet", "--set", "model.answer=candidate", "--set", "probes=[]",
              "--set", "train.steps=100", "--out", places)
    output_of(BUILD / "train", "--config", "examples/induction.yaml", "--quiet", "--set", "train.steps=20", "--set", "optim.warmup=2",
              "--out", decoder)
    sentence = ("--sentence", "The dog didn't cross the road because it was too muddy")
    for command in ([run], ["causes", run, "--limit", "20"], ["why", run], ["history", run, "--limit", "20"],
                    ["match", run, other, "--limit", "20"], ["report", places], ["evaluate", run, run / "held_out.jsonl"], ["steps", run, *sentence], ["weights", run],
                    ["compare", run, "--step", "0", "--step", "60"], ["induction", decoder]):
        unnamed = keys_of(json.loads(output_of(BUILD / "inspect", *command, "--json"))) - named
        if unnamed:
            wrong(page, f"inspect {command[0]} prints {', '.join(sorted(unnamed))}, which it does not name")


def make_files_of_examples(scratch):
    """Makes the runs, the model and the files that the examples of inspect's help name, with few steps of training."""
    def train(name, config, *settings):
        output_of(BUILD / "train", "--config", config, "--quiet", "--out", scratch / "runs" / name,
                  *(argument for setting in ("optim.warmup=2", *settings) for argument in ("--set", setting)))
    train("toy", "toy.yaml", "dump.weights=true")
    train("kept", "toy.yaml", "dump.weights=true", "train.steps=40")
    for seed in (1, 2):
        train(f"toy-seeds/seed-{seed}", "toy.yaml", f"seed={seed}", "train.steps=40")
    train("induction", "examples/induction.yaml", "train.steps=4")
    train("shakespeare", "examples/nanogpt.yaml", "data.train=CONTRIBUTING.md", "train.steps=4")
    train("words", "examples/nanogpt.yaml", "data.train=CONTRIBUTING.md", "data.tokens=words", "train.steps=4")
    train("places", "examples/mine.yaml", "model.answer=candidate", "probes=[]", "train.steps=20")
    shutil.copy(scratch / "runs/places/held_out.jsonl", scratch / "test.jsonl")
    model = scratch / "all-MiniLM-L6-v2"
    shutil.copytree(ROOT / "tests/golden/hugging_face/bert", model)
    (model / "tokenizer.json").write_text(json.dumps({
        "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "The": 1, "soup": 2, ".": 3}},
        "pre_tokenizer": {"type": "Whitespace"}}))
    places = [["The soup", [0, 2], ["The", "soup"], True], ["the pan", [3, 5], ["the", "pan"], False]]
    tokens = "The soup burned the pan because it was hot .".split()
    (scratch / "winograd.tsv").write_text("\t".join(
        ["en", "wsc_naive.train", "?", "The soup burned the pan because it was hot.", json.dumps(tokens),
         json.dumps(["it", [6, 7], ["it"]]), json.dumps(places)]) + "\n")
    for path in ("toy.yaml", "examples"):
        (scratch / path).symlink_to(ROOT / path)
    for program in ("train", "inspect"):
        (scratch / program).symlink_to(BUILD / program)


def check_help(scratch):
    """Every example in the help of train and of inspect runs as it is written. inspect serve runs until it is ended."""
    make_files_of_examples(scratch)
    own = output_of(BUILD / "train", "--help")
    setting, seeds = re.search(r"--set .*e\.g\. (\S+);", own)[1], re.search(r"these seeds, e\.g\. (\S+)\s+or\s+(\S+),", own)
    commands = [f"train --config toy.yaml --dry-run --set {setting}"]
    commands += [f"train --config toy.yaml --set train.steps=2 --set optim.warmup=1 --seeds {some} --out runs/some-{some}"
                 for some in seeds.groups()]
    names = re.findall(r"^  ([a-z]+) ", output_of(BUILD / "inspect", "--help"), re.M)
    for help_text in [output_of(BUILD / "inspect", name, "--help") for name in ["runs/toy", *names]]:
        commands.append(re.search(r"^Example: (.*)", help_text, re.M)[1])
    for command in commands:
        line = ["timeout", "-s", "INT", "1"] if command.startswith("inspect serve") else ["timeout", "300"]
        done = subprocess.run([*line, "bash", "-c", f"exec {command}"], capture_output=True, text=True, cwd=scratch,
                              env={**os.environ, "PATH": f"{scratch}:{os.environ['PATH']}"})
        if done.returncode != (124 if "1" in line else 0) or not done.stdout:
            wrong(f"{' '.join(command.split()[:2])} --help", f"its example fails: {command}\n{done.stderr}")


with tempfile.TemporaryDirectory() as name:
    check_help(pathlib.Path(name))
    check_json(pathlib.Path(name))
    check_bank(pathlib.Path(name))
    check_chinese(pathlib.Path(name))
    check_dropout(pathlib.Path(name))
    check_seed(pathlib.Path(name))
    check_profile(pathlib.Path(name))
finish("trained examples")
