#!/usr/bin/env bash
# Trains toy.yaml with each seed and prints how far a single head points: accuracy on held-out sentences, the head's weight
# from "it" to the antecedent, and the share of answers that turn with the twin's output in that head alone.
#   examples/seeds.sh [BUILD [SEEDS]]     the build directory (build) and how many seeds (40), in the tree's root
set -euo pipefail
build=${1:-build} seeds=${2:-40}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

echo "seed  accuracy  weight  turned"
for seed in $(seq "$seeds"); do
  "$build/train" --config toy.yaml --set seed="$seed" --quiet --out "$scratch/$seed" >"$scratch/log"
  accuracy=$(tail -n 1 "$scratch/$seed/metrics.jsonl" | sed 's/.*"held_out_accuracy":\([0-9.]*\).*/\1/')
  "$build/inspect" "$scratch/$seed" --causes | tr '\n' ' ' |
    sed -E "s/.* points: weight ([0-9.]+) .*twin's output in that head, ([0-9.]+) %.*/\1 \2/" |
    awk -v seed="$seed" -v accuracy="$accuracy" \
      '{ printf "%4d  %7.1f %%  %6.2f  %4.0f %%\n", seed, 100 * accuracy, $1, $2 }'
done | tee "$scratch/table"

for column in "2 accuracy" "4 weight" "5 turned"; do
  set -- $column
  awk -v c="$1" '{ print $c }' "$scratch/table" | sort -g |
    awk -v name="$2" '{ v[NR] = $1 }
      END { print name ": " v[1] " to " v[NR] ", " (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 " in the median" }'
done
