"""measured.py: measured figures in the documents are those of bench/results, and name their processor and date."""

import json
import re

from documents import DOCUMENTS, ROOT, blocks, finish, paragraphs, plain, read, wrong

RUNS = [json.loads(file.read_text()) for file in sorted((ROOT / "bench/results").glob("*.json"))]
SPEED = re.compile(r"(?<!for )(?<![\d.])\d[\d.]* (?:ms|us|ns|microseconds|微秒|毫秒)\b|\d GFLOP/s|\d GB/s|\d times as (?:fast|long)|"
                   r"takes? \d[\d.]*(?: to \d+)? s\b|\d 秒|\d min \d|\d of its time\b")
PROCESSOR = re.compile(r"Zen \d|Xeon|Rapids|Ice Lake")
DATE = re.compile(r"\d{4}-\d\d-\d\d")


def short(run):
    return re.search(r"\((.*)\)", run["processor"])[1]


def row(run, name):
    return next(r for r in run["rows"] if r["row"] == name)


def says(path, text):
    """Checks that the document contains the text, with its lines joined and without commas in numbers."""
    if text not in plain(" ".join(text for _, text in paragraphs(path))):
        wrong(path, f"expected '{text}', as bench/results has it")


# Each table of bench/NOTES.md is a run, row for row.
tables = re.findall(r"^\| row \|.*\n\|[-|]+\n((?:\|.*\n)+)", read("bench/NOTES.md"), re.M)
shown = []
for table in tables:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    run = next((r for r in RUNS if f"{row(r, 'toy')['ms']:.4g}" == rows[0][1]), None)
    if not run:
        wrong("bench/NOTES.md", f"expected a run in bench/results whose toy takes {rows[0][1]} ms, found none")
        continue
    shown.append(run)
    if [cells[0] for cells in rows] != [r["row"] for r in run["rows"]]:
        wrong("bench/NOTES.md", f"the table of {short(run)} has not all rows of its run, in its order")
    for cells in rows:
        result = row(run, cells[0])
        peers = [result["peers"].get(name) for name in run["peers"]]
        times = [result["ms"], *(peer and peer["ms"] for peer in peers)]
        expected = ["" if ms is None else f"{ms:.4g}" for ms in times]
        expected.append("{:.2f} ({:.2f} to {:.2f})".format(result["ratio"], *result["ratio_quartiles"]))
        if cells[1:len(expected) + 1] != expected:
            wrong("bench/NOTES.md", f"{short(run)}, {cells[0]}: expected {expected}, found {cells[1:]}")
PAGE = "docs/explanation/performance.md"
says(PAGE, "every row of {} of these runs".format({1: "one", 2: "two", 3: "three", 4: "four"}[len(shown)]))
for name in [short(run) for run in RUNS if run not in shown]:
    says(PAGE, f"those of {name} are in `bench/results`")

# The table of all runs on that page, the date of each, and the figures of its findings.
cells_of = {}
for _, text in paragraphs(PAGE):
    cells = [cell.strip() for cell in text.strip("|").split("|")]
    cells_of[cells[0]] = cells[1:]
if cells_of["row"] != [cell for run in RUNS for cell in (f"{short(run)}: ms", "times as fast")]:
    wrong(PAGE, f"expected a column for each run in bench/results, found {cells_of['row']}")
for name, cells in cells_of.items():
    expected = []
    for run in RUNS:
        found = next((r for r in run["rows"] if r["row"] == name), None)
        expected += [f"{found['ms']:.4g}", f"{found['ratio']:.2f}"] if found else ["", ""]
    if any(expected) and cells != expected:
        wrong(PAGE, f"{name}: expected {expected}, found {cells}")
for run in RUNS:
    if not any(short(run) in text and run["date"] in text for _, text in paragraphs(PAGE)):
        wrong(PAGE, f"expected the date of {short(run)}, {run['date']}")
small = [r for run in RUNS for r in run["rows"] if r["row"].endswith(", 1 KB")]
slowest = [r["peers"]["PyTorch"]["ms"] * 1000 for r in small]
ours = [r["ms"] * 1000 for r in small]
by_name = {short(run): run for run in RUNS}
intel = [by_name["Emerald Rapids"], by_name["Sapphire Rapids"]]
long_rows = ["attention, T 2048", "attention, T 8192"]
of_intel = [row(run, name)["ratio"] for run in intel for name in long_rows]
of_zen = [row(by_name["Zen 5"], name)["ratio"] for name in long_rows]
step = row(by_name["Zen 5"], "gpt2")
of_gpt2 = [f"{row(run, 'gpt2')['ratio']:.2f}" for run in intel]
of_torch = step["peers"]["PyTorch"]["ms"] / step["ms"]
says(PAGE, f"takes PyTorch {min(slowest):.0f} to {max(slowest):.0f} microseconds in these four runs, and "
           f"heed {min(ours):.1f} to {max(ours):.1f}.")
says(PAGE, f"({of_gpt2[0]} and {of_gpt2[1]} times as fast); on Zen 5 heed is {step['ratio']:.1f} times as fast as "
           f"{step['peer']} and {of_torch:.1f} times as fast as PyTorch.")
says(PAGE, f"is {min(of_intel):.2f} to {max(of_intel):.2f} times as fast as PyTorch's on the Intel processors and "
           f"{min(of_zen):.1f} to {max(of_zen):.1f} times as fast on Zen 5.")

# A section with a speed names a processor and a date. An item of a list with a speed on a processor dates it itself, or a
# paragraph of its section does.
for path in DOCUMENTS:
    sections = [[]]
    for line, text in paragraphs(path) if path != "CHANGELOG.md" else []:  # a version dates its entries
        if text.startswith("## "):
            sections.append([])
        sections[-1].append((line, text))
    for section in sections:
        speeds = [(line, text) for line, text in section if SPEED.search(text)]
        whole = " ".join(text for _, text in section)
        if speeds and not (PROCESSOR.search(whole) and DATE.search(whole)):
            wrong(f"{path}:{speeds[0][0]}", f"a speed in a section that names no processor and date: {speeds[0][1][:60]}")
        leads = [text for _, text in section if not text.startswith("- ") and DATE.search(text)]
        dated = set(PROCESSOR.findall(" ".join(leads)))
        for line, text in speeds:
            if not DATE.search(text) and not text.startswith("|") and not set(PROCESSOR.findall(text)) <= dated:
                wrong(f"{path}:{line}", f"a speed on a processor, without a date: {text[:60]}")

finish(f"{len(RUNS)} runs")
