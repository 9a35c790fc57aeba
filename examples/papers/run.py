#!/usr/bin/env python3
"""Trains what a paper trained, on a small scale, and compares the figures with those that README.md expects.

    examples/papers/run.py NAME... [--build DIR] [--out DIR] [--text FILE] [--short]

NAME is induction, grokking, sinks, stability, circuits, agreement, or all. Exits with 1 when a figure lies outside of the expected interval, and
with 2 when a program fails. Python's standard library suffices. --short takes seconds instead of minutes and checks directions
alone.
"""

import argparse
import array
import json
import math
import operator
import pathlib
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

top = pathlib.Path(__file__).resolve().parent.parent.parent
t_975 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]  # Student's t, by degrees of freedom from 1


class Papers:
    def __init__(self, options, out):
        self.build, self.text, self.short, self.out = options.build, options.text, options.short, out
        self.missed = 0

    def call(self, program, *arguments):
        command = [str(self.build / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}", file=sys.stderr)
            sys.exit(2)
        return done.stdout

    def check(self, what, values, low, high):
        """Prints the mean of the values of all seeds with its 95 % interval, and whether it lies between low and high."""
        n, mean = len(values), sum(values) / len(values)
        is_expected = low <= mean <= high
        self.missed += not is_expected
        interval = ""
        if n > 1:
            half = t_975[n - 2] * math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)
            interval = f" +- {half:.3f}"
        print(f"  {what:58} {mean:9.3f}{interval:10}  expected {low:g} to {high:g}: {'yes' if is_expected else 'NO'}", flush=True)

    def induction(self):
        """Induction heads form in a phase change, and need two layers (Olsson et al. 2022, arXiv:2209.11895)"""
        seeds, steps = (1, 450) if self.short else (6, 1000)
        found = {}
        for layers in (1, 2):
            runs = self.out / f"induction-{layers}"
            self.call("train", "--config", top / "examples/induction.yaml", "--seeds", f"1-{seeds}", "--out", runs, "--quiet",
                      *[f"--set={pair}" for pair in (f"model.layers={layers}", f"train.steps={steps}", "dump.every=50",
                                                     "train.evaluate_every=50")])
            found[layers] = [self.induction_of(runs / f"seed-{seed}") for seed in range(1, seeds + 1)]
        self.check("two layers: induction score of the best head", [score for score, *_ in found[2]], 0.6, 0.95)
        self.check("one layer: the same", [score for score, *_ in found[1]], 0, 0.2)
        self.check("two layers: steps between the fall of the loss and its rise", [abs(rise - fall) for *_, fall, rise in found[2]],
                   0, 50)
        self.check("two layers: loss at the end", [loss for _, loss, *_ in found[2]], 0, 0.2)
        self.check("one layer: loss at the end", [loss for _, loss, *_ in found[1]], 2.9, 3.6)

    def induction_of(self, run):
        """Returns the score and the loss at the end, and the steps at which the loss fell and the score rose most."""
        steps = json.loads(self.call("inspect", "induction", run, "--json"))["steps"]
        scores = [max(head["induction"] for head in step["heads"]) for step in steps]
        losses = [step["loss"] for step in steps]
        later = range(1, len(steps))
        fall, rise = max(later, key=lambda i: losses[i - 1] - losses[i]), max(later, key=lambda i: scores[i] - scores[i - 1])
        return scores[-1], losses[-1], steps[fall]["step"], steps[rise]["step"]

    def grokking(self):
        """Modular addition is memorised first, and understood later (Nanda et al. 2023, arXiv:2301.05217)"""
        seeds = 1 if self.short else 3
        size = (500, 31, 0.75) if self.short else (1800, 59, 0.6)
        runs = {decay: [self.numbers("examples/example_grokking", seed, decay, *size) for seed in range(1, seeds + 1)]
                for decay in (1, 0)}
        if not self.short:
            self.check("step at which the trained sums are known", [run["memorised at step"] for run in runs[1]], 100, 500)
            self.check("step at which the others are, too", [run["generalised at step"] for run in runs[1]], 400, 1700)
        self.check("held-out accuracy at the end", [run["held-out accuracy"] for run in runs[1]], 0.9 if self.short else 0.99, 1)
        self.check("variance of the embeddings in six frequencies", [run["six frequencies"] for run in runs[1]],
                   0.7 if self.short else 0.85, 1)
        self.check("without weight decay: held-out accuracy", [run["held-out accuracy"] for run in runs[0]], 0, 0.1)
        if not self.short:
            self.check("without weight decay: six frequencies", [run["six frequencies"] for run in runs[0]], 0, 0.5)

    def numbers(self, program, *arguments):
        """Returns the numbers of the last paragraph that an example prints, by the words before them."""
        last = self.call(program, *arguments).strip().split("\n\n")[-1]
        return {what: float(number) for what, number in re.findall(r"([a-z][a-z_ -]*?) (-?\d[\d.]*)", last)}

    def sinks(self):
        """Attention rests on the first token where a head has nothing to do (Gu et al. 2024, arXiv:2410.10781)"""
        seeds, steps = (1, 300) if self.short else (8, 600)
        runs = [self.numbers("examples/example_sinks", seed, steps) for seed in range(1, seeds + 1)]
        self.check("weight on the first token (uniform: 0.028)", [run["weight on the first token"] for run in runs],
                   0.15 if self.short else 0.5, 1)
        self.check("the same after triggers, where the head copies", [run["at triggers"] for run in runs], 0, 0.05)
        self.check("there, weight on the token to copy", [run["at triggers instead"] for run in runs], 0.6, 1)

    def stability(self):
        """Heads differ between seeds, less so with weight decay (Bali et al. 2026, arXiv:2602.16740)"""
        text, seeds, smaller = self.text, 3, ("train.steps=1000",)
        if self.short:
            text, seeds, smaller = self.out / "text.txt", 2, ("train.steps=300", "model.layers=2", "model.d_model=64", "model.mlp=0")
            text.write_text("".join(page.read_text() for page in sorted((top / "docs/explanation").glob("*.md"))))
        if not text:
            sys.exit("stability needs --text FILE: a text of a megabyte, such as nanoGPT's input.txt")
        cosines = {}
        for decay in (0, 1):
            runs = self.out / f"stability-{decay}"
            self.call("train", "--config", top / "examples/nanogpt.yaml", "--seeds", f"1-{seeds}", "--out", runs, "--quiet",
                      "--set", f"data.train={text}", "--set", f"optim.weight_decay={decay}",
                      *[f"--set={pair}" for pair in ("dump.sentences=16", "dump.every=100000", "train.evaluate_every=100000",
                                                     "data.seed=1", *smaller)])
            heads = [heads_of(runs / f"seed-{seed}") for seed in range(1, seeds + 1)]
            # For each layer, one value for each seed: the mean over its heads of the cosine to the most similar head of another.
            cosines[decay] = [[mean_of([max(cosine(head, other) for other in rest[layer])
                                        for rest in heads if rest is not own for head in own[layer]]) for own in heads]
                              for layer in range(len(heads[0]))]
        each = {decay: [mean_of(values) for values in zip(*layers)] for decay, layers in cosines.items()}
        self.check("cosine to the most similar head of another seed", each[0], 0.3, 0.85 if self.short else 0.75)
        self.check("with a weight decay of 1: how much greater", [b - a for a, b in zip(each[0], each[1])], 0.05, 0.5)
        if not self.short:
            self.check("first layer: how much greater than in the last", [a - b for a, b in zip(cosines[0][0], cosines[0][-1])],
                       0.1, 0.4)
            self.check("middle layers: how much less than in the last (not reproduced)",
                       [c - (a + b) / 2 for a, b, c in zip(*cosines[0][1:4])], -0.3, 0)

    def circuits(self):
        """Methods find the circuits that models were trained to have (Gupta et al. 2024, arXiv:2407.14494)"""
        names, seeds, steps = ("induction", "majority", "larger", "sorting", "coreference"), 2, 2000
        if self.short:
            names, seeds, steps = ("majority",), 1, 400
        auroc = {method: [] for method in ("exact", "deeplift", "eap_ig", "eap")}
        shares, found, others = {"of mixtures": [], "of the circuit alone": []}, [], []
        for name in names:
            runs = [self.known_circuit(name, seed, steps) for seed in range(1, seeds + 1)]
            means = [f"{what} {mean_of([run[what] for run in runs]):.3f}" for what in (*auroc, *shares)]
            print(f"  {name:12}", ", ".join(means), flush=True)
            for all_of in (auroc, shares):
                for what, values in all_of.items():
                    values.extend(run[what] for run in runs)
            found.extend(run["found"] for run in runs)
            others.extend(run["others"] for run in runs)
        for method, values in auroc.items():
            self.check(f"AUROC of edges by {method}", values, 0.81, 1)
        self.check("share of the true edges that inspect circuit finds", found, 0.8, 1)
        self.check("other edges that it takes into the circuit", others, 0, 6 if self.short else 2)
        for what, values in shares.items():
            self.check(f"accuracy {what}", values, 0.8 if self.short else 0.9, 1)
        if not self.short:
            plain = [self.known_circuit(name, 1, steps // 2, 0) for name in names]
            self.check("trained without exchanges: the same", [run["of the circuit alone"] for run in plain], 0, 0.6)

    def known_circuit(self, name, seed, steps, exchanges=1):
        """Returns the figures of example_known_circuits, and how many of the true edges and of others inspect circuit finds."""
        directory = self.out / f"circuits-{name}-{seed}-{exchanges}"
        arguments = (name, seed, steps, exchanges, directory)
        figures = self.numbers("examples/example_known_circuits", *arguments)
        true = {(edge["from"], edge["to"]) for edge in json.loads((directory / "edges.json").read_text())}
        study = json.loads(self.call("inspect", "circuit", directory / "model.safetensors", directory / "pairs.jsonl", "--json"))
        chosen = {(node_name(edge["from"]), node_name(edge["to"])) for edge in study["edges"] if edge["in_circuit"]}
        return {**figures, "found": len(true & chosen) / len(true), "others": len(chosen - true)}

    def agreement(self):
        """One head writes the number of the subject, as a direction (Ferrando and Costa-jussa 2024, arXiv:2410.06496)"""
        seeds, steps = (1, 300) if self.short else (8, 800)
        runs = [self.numbers("examples/example_agreement", seed, steps) for seed in range(1, seeds + 1)]
        for what, key, low, high in (("accuracy with a noun of the other number between", "accuracy", 0.95, 1),
                                     ("share of the best head in the effect of the subject", "share of the best head", 0.6, 1.1),
                                     ("its weight from the token before the verb on the subject", "its weight on the subject", 0.3, 1),
                                     ("its weight on the noun between", "on the distractor", 0, 0.2),
                                     ("its share of the effect in relative clauses", "its share in clauses", 0.4, 1.1),
                                     ("right answers in clauses that its direction flips", "answers in clauses that its direction flips", 0.5, 1),
                                     ("neurons of 512 with half of the effect", "neurons with half of the effect", 10, 60)):
            if not self.short or key in ("accuracy", "share of the best head"):
                self.check(what, [run[key] for run in runs], low, high)


def node_name(node):
    """Returns the name that inspect prints for a node or an input of JSON."""
    kind = {"mlp": "MLP"}.get(node["kind"], node["kind"])
    if node["layer"] is None:
        return kind
    layer = f"layer {node['layer'] + 1}"
    if node["head"] is None:
        return f"{layer} {kind}"
    head = f"{layer} head {node['head'] + 1}"
    return head if kind == "head" else f"{head} {kind}"


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def mean_of(values):
    return sum(values) / len(values)


def cosine(a, b):
    return sum(map(operator.mul, a, b)) / math.sqrt(sum(map(operator.mul, a, a)) * sum(map(operator.mul, b, b)))


def heads_of(run):
    """Returns for each layer and head the weights in all watched sentences of the last snapshot, [layer][head][weight]."""
    with open(max((run / "attention").iterdir()), "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    heads = []
    for name, tensor in sorted(header.items()):
        if name == "__metadata__":
            continue
        layer, (count, rows, columns) = int(name.split(".")[3]), tensor["shape"]
        weights = array.array("f", data[slice(*tensor["data_offsets"])])
        heads.extend([[] for _ in range(count)] for _ in range(layer + 1 - len(heads)))
        for head in range(count):
            heads[layer][head].extend(weights[head * rows * columns:(head + 1) * rows * columns])
    return heads


def main():
    names = ["induction", "grokking", "sinks", "stability", "circuits", "agreement"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=[*names, "all"], metavar="NAME")
    parser.add_argument("--build", type=pathlib.Path, default=top / "build", help="where train and inspect are (default: build)")
    parser.add_argument("--out", type=pathlib.Path, help="keep the runs here (default: remove them)")
    parser.add_argument("--text", type=pathlib.Path, help="for stability: a text of a megabyte, such as nanoGPT's input.txt")
    parser.add_argument("--short", action="store_true", help="take seconds, and check directions alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        papers = Papers(options, options.out or pathlib.Path(scratch))
        for name in names if "all" in options.names else options.names:
            begin, computed = time.time(), processor_time()
            print(f"{name}: {getattr(papers, name).__doc__}", flush=True)
            getattr(papers, name)()
            print(f"  {time.time() - begin:.0f} seconds, {processor_time() - computed:.0f} of processor time\n", flush=True)
    sys.exit(1 if papers.missed else 0)


if __name__ == "__main__":
    main()
