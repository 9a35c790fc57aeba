#!/usr/bin/env bash
# same_bits.sh OLD NEW [DIRECTORY]: builds two commits and compares what their programs write, byte for byte: the models and metrics of
# toy.yaml (seeds 1 to 5, 1 and 2 threads, resumed in the middle, with MPI on 2 processes) and of each example (50 steps), a run
# of OLD opened by NEW, the differences of all golden families in float64, --json of each command, and the data and the program
# of the page.
# Keeps builds and runs in DIRECTORY (default: a temporary one), so that a second call does not build again. Prints a line for each
# comparison and ends with 1 if any differs.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
old=$(git -C "$top" rev-parse "$1") new=$(git -C "$top" rev-parse "$2")
place=${3:-$(mktemp -d)}
mkdir -p "$place"
place=$(realpath "$place")
[ $# -ge 3 ] || trap 'rm -rf "$place"' EXIT
mpi=OFF
! command -v mpirun >/dev/null || mpi=ON

for commit in "$old" "$new"; do
  tree=$place/$commit
  [ -d "$tree" ] || { mkdir "$tree" && git -C "$top" archive "$commit" | tar -x -C "$tree"; }
  cmake -S "$tree" -B "$tree/build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D HEED_BUILD_TESTS=OFF -D HEED_BUILD_BENCH=OFF \
    -D HEED_BUILD_EXAMPLES=OFF -D HEED_MPI=$mpi >"$place/log"
  cmake --build "$tree/build" --target heed_train heed_inspect >"$place/log" || { tail -20 "$place/log"; exit 1; }
done

failed=0
compare() {  # compare NAME FILE: the file of this name in both trees
  if [ ! -e "$place/$old/$2" ] && [ ! -e "$place/$new/$2" ]; then
    echo "left out: $1 ($(head -1 "$place/$new/output"))"
  elif cmp -s "$place/$old/$2" "$place/$new/$2"; then
    echo "same: $1"
  else
    echo "DIFFERENT: $1 ($2)"
    failed=1
  fi
}
both() {  # both COMMAND...: runs the command in each tree; its output goes to the file "output" there, and its exit code
  local commit
  for commit in "$old" "$new"; do
    (cd "$place/$commit" && { "$@" >output 2>&1; echo "exit $?" >>output; }) || true
  done
}
trained() {  # trained NAME COMMAND...: trains into runs/NAME and compares
  both rm -rf "runs/$1"
  both "${@:2}"
  compare "$1, model" "runs/$1/model.safetensors"
  compare "$1, metrics" "runs/$1/metrics.jsonl"
}

for seed in 1 2 3 4 5; do trained "toy-$seed" build/train --config toy.yaml --set "seed=$seed" --out "runs/toy-$seed" --quiet; done
trained toy-2-threads build/train --config toy.yaml --threads 2 --out runs/toy-2-threads --quiet
resume() {
  build/train --config toy.yaml --set train.steps=150 --out runs/resumed --quiet &&
    build/train --resume runs/resumed --set train.steps=300 --quiet
}
trained resumed resume
if [ $mpi = ON ]; then
  trained toy-2-processes mpirun --allow-run-as-root --oversubscribe -n 2 build/train --config toy.yaml --threads 1 \
    --out runs/toy-2-processes --quiet
fi
for commit in "$old" "$new"; do  # a text for the examples that read one
  cat "$top"/docs/*/*.md "$top"/README.md "$top"/CHANGELOG.md >"$place/$commit/input.txt"
done
for example in "$top"/examples/*.yaml; do
  name=$(basename "$example" .yaml)
  trained "$name" build/train --config "examples/$name.yaml" --set train.steps=50 --set optim.warmup=5 --set train.evaluate_every=50 --out "runs/$name" \
    --quiet
done

# A run of the old commit.
rm -rf "$place/$new/runs/old" && cp -r "$place/$old/runs/toy-1" "$place/$new/runs/old"
rm -rf "$place/$old/runs/old" && cp -r "$place/$old/runs/toy-1" "$place/$old/runs/old"
sentence="The dog didn't cross the road because it was too muddy"
shown() {  # shown NAME ARGUMENT...: compares what inspect prints
  both build/inspect "${@:2}"
  compare "inspect $1" output
}
shown "RUN" runs/old --json
shown "RUN --sentence" runs/old --sentence "$sentence" --json
for command in causes weights steps why report history compare heads induction; do
  shown "$command" "$command" runs/old --json
done
shown generate generate runs/nanogpt --prompt "T" --tokens 40 --seed 3
for model in "$top"/tests/golden/hugging_face/*/; do
  name=$(basename "$model")
  [ ! -f "$model/golden.safetensors" ] ||
    shown "verify $name" verify "tests/golden/hugging_face/$name" --against "tests/golden/hugging_face/$name/golden.safetensors" --json
done
both build/inspect page runs/old --out page.html
for commit in "$old" "$new"; do
  grep -o '<script type="application/json".*' "$place/$commit/page.html" >"$place/$commit/page.data"
  sed 's/<script type="application\/json".*//; s/sha256-[^'"'"']*//g' "$place/$commit/page.html" >"$place/$commit/page.program"
done
compare "page, its data" page.data
compare "page, its program" page.program
exit $failed
