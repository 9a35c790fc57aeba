#!/usr/bin/env bash
# reproducible.sh [CXX]: builds the programs of this commit in two directories and compares them byte for byte.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for place in one another/and-longer; do
  mkdir -p "$scratch/$place"
  git -C "$top" archive HEAD | tar -x -C "$scratch/$place"
  cmake -S "$scratch/$place" -B "$scratch/$place/build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D HEED_BUILD_TESTS=OFF \
    -D HEED_BUILD_BENCH=OFF -D HEED_BUILD_EXAMPLES=OFF ${1:+-D CMAKE_CXX_COMPILER="$1"} >"$scratch/log"
  cmake --build "$scratch/$place/build" --target heed_train heed_inspect >"$scratch/log" || { tail -20 "$scratch/log"; exit 1; }
done
for program in heed-train heed-inspect; do
  cmp "$scratch/one/build/$program" "$scratch/another/and-longer/build/$program"
  echo "$program: $(sha256sum <"$scratch/one/build/$program" | cut -c1-64)"
done
