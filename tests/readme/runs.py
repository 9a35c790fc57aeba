"""runs.py BUILD: checks what the documents say about trained examples; trains for a few seconds."""

import json
import pathlib
import re
import sys
import tempfile

from documents import finish, output_of, read, wrong

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


def check_seed(scratch):
    """toy.yaml: its seed is the one whose answers depend most on a single edge."""
    seeds = [SEED, *RIVALS]
    output_of(BUILD / "train", "--config", "toy.yaml", "--quiet", "--seeds", ",".join(map(str, seeds)), "--out", scratch / "toy")
    runs = [scratch / "toy" / f"seed-{seed}" for seed in seeds]
    found = json.loads(output_of(BUILD / "inspect", "match", *runs, "--json"))["runs"]
    without = {seed: run["pointing"]["without"] for seed, run in zip(seeds, found)}
    if min(without, key=without.get) != SEED or found[0]["pointing"]["cause"] != "alone":
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
    output_of(BUILD / "train", "--config", "examples/mine.yaml", "--quiet", "--set", "model.answer=candidate", "--set", "probes=[]",
              "--set", "train.steps=100", "--out", places)
    output_of(BUILD / "train", "--config", "examples/induction.yaml", "--quiet", "--set", "train.steps=20", "--set", "optim.warmup=2",
              "--out", decoder)
    sentence = ("--sentence", "The dog didn't cross the road because it was too muddy")
    for command in ([run], ["causes", run, "--limit", "20"], ["why", run], ["history", run, "--limit", "20"],
                    ["match", run, run, "--limit", "20"], ["report", places], ["steps", run, *sentence], ["weights", run],
                    ["compare", run, "--step", "0", "--step", "60"], ["induction", decoder]):
        unnamed = keys_of(json.loads(output_of(BUILD / "inspect", *command, "--json"))) - named
        if unnamed:
            wrong(page, f"inspect {command[0]} prints {', '.join(sorted(unnamed))}, which it does not name")


with tempfile.TemporaryDirectory() as name:
    check_json(pathlib.Path(name))
    check_bank(pathlib.Path(name))
    check_seed(pathlib.Path(name))
    check_profile(pathlib.Path(name))
finish("trained examples")
