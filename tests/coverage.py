#!/usr/bin/env python3
"""coverage.py BUILD: prints the places that no test executes, and the share of lines and branches that the tests execute, for each
of DIRECTORIES. Ends with 1 for a directory with less than 95 % of its lines or 85 % of its branches."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
DIRECTORIES = ["autograd", "nn", "optim", "files", "data", "models", "explain", "run"]
TESTS = ["autograd_test", "nn_test", "data_test", "train_test", "inspect_test"]
PROGRAMS = ["heed-train", "heed-inspect"]  # started by the tests
# This test limits the size of files, so the coverage counters cannot be written either.
LEFT_OUT = "~A loss that is not finite*"
LEAST = {"lines": 95, "branches": 85}


def tool(name):
    """Returns the tool of clang's version, since the profile format changes between versions."""
    version = re.search(r"version (\d+)", subprocess.run(["clang++", "--version"], capture_output=True, text=True).stdout)[1]
    found = shutil.which(f"{name}-{version}") or shutil.which(name)
    return found or sys.exit(f"coverage: {name} is missing; run ./setup.sh coverage")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    for old in build.glob("coverage-*.profraw"):
        old.unlink()
    environment = os.environ | {"LLVM_PROFILE_FILE": str(build / "coverage-%m.profraw")}  # one per program
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
    sums = {directory: {what: [0, 0] for what in LEAST} for directory in DIRECTORIES}
    is_right = True
    for file in files:
        name = source(file["filename"], build)
        if name.parts[0] not in DIRECTORIES:
            continue
        for what in LEAST:
            sums[name.parts[0]][what][0] += file["summary"][what]["covered"]
            sums[name.parts[0]][what][1] += file["summary"][what]["count"]
        for line, text in unrun_lines(file, (TOP / name).read_text().splitlines()):
            print(f"{name}:{line}: {text}")
    print(f"{'directory':10} {'lines':>8} {'branches':>9}")
    for directory, counts in sums.items():
        shares = {what: 100 * covered / max(count, 1) for what, (covered, count) in counts.items()}
        is_right = is_right and all(shares[what] >= least for what, least in LEAST.items())
        print(f"{directory:10} {shares['lines']:6.1f} % {shares['branches']:7.1f} %")
    return 0 if is_right else 1


def source(name, build):
    """Returns the path below TOP. The compiler writes "." for TOP, after its working directory."""
    name = name.rpartition("/./")[2].removeprefix("build/")
    path = ((build if name.startswith("../") else TOP) / name).resolve()
    return path.relative_to(TOP) if path.is_relative_to(TOP) else path


def unrun_lines(file, lines):
    """Returns (number, text) of the first line of each part that never ran, except discarded `if constexpr` branches."""
    numbers = sorted({segment[0] for segment in file["segments"] if segment[3] and segment[4] and segment[2] == 0})
    every = [(number, lines[number - 1].strip()) for number in numbers]
    return [(number, text) for number, text in every if "if constexpr" not in text]


sys.exit(main())
