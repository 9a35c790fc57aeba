#!/usr/bin/env python3
"""coverage.py BUILD: which lines and branches the tests execute, by directory of ROOMS, and which places none does.
tests/uncovered.txt lists places with the reason why. Ends with 1 for a place that is not listed, for one listed that is run
or gone, and where a room has less than 95 % of its lines or 85 % of its branches."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
ROOMS = ["autograd", "nn", "optim", "files", "data", "models", "explain", "run"]
TESTS = ["autograd_test", "nn_test", "data_test", "train_test", "inspect_test"]
PROGRAMS = ["heed-train", "heed-inspect"]  # which the tests start
# Its file may not grow, so that the counters cannot be written either, which they say.
LEFT_OUT = "~A loss that is not finite*"
LEAST = {"lines": 95, "branches": 85}
OF_PROCESSOR = "processor: "  # begins the reason of what is run on some processors, and not on others


def tool(name):
    """Of clang's own version: the profile's form changes."""
    version = re.search(r"version (\d+)", subprocess.run(["clang++", "--version"], capture_output=True, text=True).stdout)[1]
    found = shutil.which(f"{name}-{version}") or shutil.which(name)
    return found or sys.exit(f"coverage: there is no {name}; ./setup.sh coverage")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    for old in build.glob("coverage-*.profraw"):
        old.unlink()
    environment = os.environ | {"LLVM_PROFILE_FILE": str(build / "coverage-%m.profraw")}  # one of each program
    for test in TESTS:
        result = subprocess.run([build / test, LEFT_OUT], cwd=TOP, env=environment, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"coverage: {test} fails:\n{result.stdout[-3000:]}")
    merged = build / "coverage.profdata"
    profiles = sorted(build.glob("coverage-*.profraw"))
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", "-o", merged, *profiles], check=True)
    objects = [word for program in TESTS[1:] + PROGRAMS for word in ("-object", build / program)]
    exported = subprocess.run([tool("llvm-cov"), "export", "-format=text", f"-instr-profile={merged}", build / TESTS[0],
                               *objects], check=True, capture_output=True, text=True)
    files = json.loads(exported.stdout)["data"][0]["files"]
    sums = {room: {what: [0, 0] for what in LEAST} for room in ROOMS}
    known, unrun, is_right = listed(), set(), True
    for file in files:
        name = source(file["filename"], build)
        if name.parts[0] not in ROOMS:
            continue
        for what in LEAST:
            sums[name.parts[0]][what][0] += file["summary"][what]["covered"]
            sums[name.parts[0]][what][1] += file["summary"][what]["count"]
        for line, text in unrun_lines(file, (TOP / name).read_text().splitlines()):
            unrun.add(f"{name}: {text}")
            if f"{name}: {text}" not in known:
                is_right = False
                print(f"{name}:{line}: {text}")
    for place, reason in known.items():
        if place not in unrun and not reason.startswith(OF_PROCESSOR):
            is_right = False
            print(f"tests/uncovered.txt: run by a test, or gone: {place}")
    print(f"{len(unrun & known.keys())} places that no test runs are in tests/uncovered.txt, with the reason")
    print(f"{'room':10} {'lines':>8} {'branches':>9}")
    for room, counts in sums.items():
        shares = {what: 100 * covered / max(count, 1) for what, (covered, count) in counts.items()}
        is_right = is_right and all(shares[what] >= least for what, least in LEAST.items())
        print(f"{room:10} {shares['lines']:6.1f} % {shares['branches']:7.1f} %")
    return 0 if is_right else 1


def source(name, build):
    """Below TOP; the compiler was told to write "." for it, after the directory in which it is started."""
    name = name.rpartition("/./")[2].removeprefix("build/")
    path = ((build if name.startswith("../") else TOP) / name).resolve()
    return path.relative_to(TOP) if path.is_relative_to(TOP) else path


def listed():
    """The reason of each place, FILE: LINE'S TEXT."""
    lines = (TOP / "tests/uncovered.txt").read_text().splitlines()
    return dict(line.split("    ", 1) for line in lines if not line.startswith("#"))


def unrun_lines(file, lines):
    """(number, text) of the first line of each part that never ran; what `if constexpr` leaves out is no branch."""
    numbers = sorted({segment[0] for segment in file["segments"] if segment[3] and segment[4] and segment[2] == 0})
    every = [(number, lines[number - 1].strip()) for number in numbers]
    return [(number, text) for number, text in every if "if constexpr" not in text]


sys.exit(main())
