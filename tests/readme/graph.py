"""graph.py BUILD [--sizes]: compares the graph of components in docs/explanation/architecture.md with the includes of the
sources, prints it with the number of includes for each edge, and fails for an edge that the document does not have, for a component that it
has and no source uses, and for a cycle. --sizes prints the lines of each directory and what the files at the waist include."""

import collections
import pathlib
import re
import sys

from documents import ROOT, finish, read, wrong

PAGE = "docs/explanation/architecture.md"
BESIDE = {"bench", "examples", "learn", "tests", "docs", "cmake", "python"}  # may include everything


def components():
    """Returns the directories and the direct links of each component, as the document's graph has them."""
    graph = re.search(r"^```\n(component .*?)^```$", read(PAGE), re.M | re.S)[1].splitlines()[1:]
    rows = [re.split(r"\s{2,}", line.strip()) for line in graph]
    return {row[0]: (row[1].split(), row[2].split() if len(row) > 2 else []) for row in rows}


GRAPH = components()
LIBRARY = list(GRAPH)[:list(GRAPH).index("run") + 1]  # heed::heed
OWNER = {directory: name for name, (directories, _) in GRAPH.items() for directory in directories}
FILES = sorted(p.relative_to(ROOT).as_posix() for p in ROOT.glob("*/**/*") if p.suffix in (".h", ".cpp"))
FILES = [path for path in FILES if path.split("/")[0] not in BESIDE and not path.startswith("build")]


def included(path):
    """Returns the files of the tree that a file includes."""
    names = [a or b for a, b in re.findall(r'^#include (?:<heed/([^>]+)>|"([^"]+)")', read(path), re.M)]
    return [name for name in names if (ROOT / name).is_file()]


def seen(name):
    """Returns the components whose headers a component sees."""
    links = GRAPH[name][1]
    links = LIBRARY if links == ["heed"] else [link for link in links if link in GRAPH]
    return {name, *links, *(other for link in links for other in seen(link))}


def closure(path):
    """Returns the headers that a file includes, directly or not, and the sources of the same names."""
    found, open_files = set(), [path]
    while open_files:
        file = open_files.pop()
        if file in found:
            continue
        found.add(file)
        source = re.sub(r"\.h$", ".cpp", file)
        open_files += included(file) + ([source] if (ROOT / source).is_file() else [])
    return found


def lines(paths):
    return sum(read(path).count("\n") for path in paths)


edges, inside = collections.Counter(), collections.defaultdict(set)
for path in FILES:
    owner = OWNER.get(path.split("/")[0])
    if owner is None:
        wrong(path, f"its directory belongs to no component in {PAGE}")
        continue
    for name in included(path):
        other = OWNER.get(name.split("/")[0]) if "/" in name else owner
        if other not in seen(owner):
            wrong(path, f"includes {name} of {other}, which {owner} does not link")
        elif other != owner:
            edges[owner, other] += 1
        if "/" in name and path.split("/")[0] != name.split("/")[0]:
            inside[path.split("/")[0]].add(name.split("/")[0])

# CMake links what the document says.
cmake = read("cmake/components.cmake") + read("cmake/programs.cmake")
for name, (directories, links) in GRAPH.items():
    call = re.search(rf"heed_(?:component|program_library)\({name}\s(.*?)\)$", cmake, re.M | re.S)
    if not call:
        wrong(PAGE, f"CMake has no component '{name}'")
        continue
    words = re.sub(r"\$\{\w+\}|\$<[^>]*>", "", call[1])
    fields = {key: value.split() for key, value in re.findall(r"([A-Z]{4,}) ([^A-Z]+)", words)}
    if sorted({d.split("/")[0] for d in fields["DIRECTORIES"]}) != sorted(directories):
        wrong(PAGE, f"CMake compiles {' '.join(fields['DIRECTORIES'])} as '{name}'")
    linked = [re.sub("^heed_|_library$", "", link) for link in fields.get("LINKS", [])]
    linked = [link for link in linked if link in GRAPH or link == "heed"]
    if sorted(linked) != sorted(links):
        wrong(PAGE, f"CMake links {' '.join(linked) or 'nothing'} to '{name}', not {' '.join(links) or 'nothing'}")

for name, (directories, _) in GRAPH.items():
    for owner, other in sorted(edges):
        if owner == name:
            print(f"{owner} -> {other}: {edges[owner, other]} includes")


hour = re.search(r"^## A first hour\n(.*?)^## ", read(PAGE), re.M | re.S)[1]
first = [path for row in re.findall(r"^\| (`.*?) \|", hour, re.M) for path in re.findall(r"`([\w/.]+)`", row)]
print(f"a first hour: {lines(first)} lines in {len(first)} files")
if lines(first) > 3000:
    wrong(PAGE, f"the first hour has {lines(first)} lines, more than 3000")


def circle(start):
    """Returns the directories of a cycle through `start`, or nothing."""
    paths, done = [[start]], set()
    while paths:
        path = paths.pop()
        for there in inside[path[-1]]:
            if there == start:
                return path + [start]
            if there not in done:
                done.add(there)
                paths.append(path + [there])
    return []


for found in {frozenset(c): c for directory in sorted(inside) if (c := circle(directory))}.values():
    if len({OWNER[directory] for directory in found}) > 1:
        wrong(" -> ".join(found), "a cycle of includes")

if "--sizes" in sys.argv:
    by_component = {name: lines(f for f in FILES if f.split("/")[0] in directories) for name, (directories, _) in GRAPH.items()}
    beside = {d: lines(p.relative_to(ROOT).as_posix() for p in (ROOT / d).rglob("*") if p.suffix in (".h", ".cpp")) for d in ("bench", "examples", "tests")}
    script = lines(p.relative_to(ROOT).as_posix() for p in (ROOT / "inspect/page").iterdir() if p.suffix in (".js", ".css", ".html"))
    for name, count in [*by_component.items(), ("JavaScript", script), *beside.items()]:
        print(f"{name:12} {count:6} lines")
    print(f"{'all':12} {sum(by_component.values()) + script + beside['bench']:6} lines without examples and tests")
    for path in ("train/train.cpp", "train/training.cpp", "nn/attention.h"):
        reached = closure(path)
        print(f"{path} reaches {lines(reached)} lines in {len(reached)} files")

finish(f"{len(edges)} edges between {len(GRAPH)} components")
