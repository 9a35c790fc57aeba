#!/usr/bin/env bash
# Checks that examples/read_model.py, with NumPy, computes the same results for a model as inspect.
#   read_model.sh BUILD
set -euo pipefail
build=$1 python=${PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || {
  echo "skipped: NumPy is missing for $python"
  exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# same RUN SENTENCE QUERY TOKEN...: compares the most probable answer and its probability, to 4 digits
same() {
  local run=$1 sentence=$2
  shift 2
  "$build/inspect" "$scratch/$run/model.safetensors" --sentence "$sentence" --json >"$scratch/said.json"
  "$python" examples/read_model.py "$scratch/$run/model.safetensors" "$@" >"$scratch/computed.txt"
  "$python" - "$scratch" <<'PYTHON'
import json, pathlib, sys
scratch = pathlib.Path(sys.argv[1])
said = json.loads((scratch / "said.json").read_text())["sentences"][0]
word, probability = (scratch / "computed.txt").read_text().split("\n")[0].rsplit("  ", 1)
if word.strip() != said["predicted"].strip() or abs(float(probability) - said["probability"]) > 1e-4:
    sys.exit(f"computed {word!r} {probability}, but inspect says {said['predicted']!r} {said['probability']}")
PYTHON
}

# refuses WORDS ARGUMENT...: the script must end with one line that contains WORDS
refuses() {
  local expected=$1 said
  shift
  if said=$("$python" examples/read_model.py "$@" 2>&1); then echo "not refused: $*"; exit 1; fi
  [[ $said == *"$expected"* && $said != *Traceback* ]] || { echo "of $*: '$said', not '$expected'"; exit 1; }
}

train() { "$build/train" --quiet --config "$1" --out "$scratch/$2" "${@:3}"; }

train toy.yaml toy --set train.steps=20
same toy "The animal didn't cross the street because it was too tired" 7 \
  The animal "didn't" cross the street because it was too tired
train toy.yaml without_norms --set train.steps=20 --set model.norm=none
same without_norms "The animal didn't cross the street because it was too tired" 7 \
  The animal "didn't" cross the street because it was too tired
train examples/mine.yaml places --set data.train=examples/mine.jsonl --set model.answer=candidate \
  --set model.positions=sinusoidal --set model.mlp=32 --set model.activation=relu2 --set probes=[] --set train.steps=20
same places "We left [the trophy] beside [the basket] because it was too large" 8 \
  We left '[the' 'trophy]' beside '[the' 'basket]' because it was too large
for letter in a b c d e f g h; do echo "the $letter of a $letter is a $letter and no other"; done >"$scratch/text"
train examples/llama.yaml llama --set data.train="$scratch/text" --set data.tokens=words --set data.context=4 \
  --set model.layers=2 --set model.d_model=32 --set model.heads=4 --set model.kv_heads=2 --set model.mlp=48 \
  --set optim.warmup=5 --set train.steps=20
same llama "the a of" 2 the ' a' ' of'

refuses "cannot be read" "$scratch/none" 0 The
refuses "cannot be read" README.md 0 The
refuses "from 0 to 0" "$scratch/toy/model.safetensors" 1 The
refuses "from 0 to 0" "$scratch/toy/model.safetensors" last The
refuses "tokens at most" "$scratch/toy/model.safetensors" 0 $(yes The | head -n 200)
refuses "not among the words" "$scratch/toy/model.safetensors" 0 xyzzy
refuses "in brackets" "$scratch/places/model.safetensors" 0 We left '[the' trophy
