#!/bin/sh
# screenshots.sh BUILD: trains runs and takes pictures of every view of their pages in BUILD/screenshots. Takes some minutes.
# Existing runs are kept.
set -eu
build=$1
out=$build/screenshots
mkdir -p "$out/runs"

run() {  # NAME CONFIG [OPTION...]
  name=$1 config=$2
  shift 2
  [ -f "$out/runs/$name/model.safetensors" ] || "$build/train" --quiet --config "$config" --out "$out/runs/$name" "$@"
}

# A minimal pair of sentences per iteration, 100 tokens each.
awk 'BEGIN {
  srand(3)
  split("animal dog cat horse fox rabbit", a); split("street road river bridge field park", p)
  split("tired scared hungry sleepy", t); split("wide narrow long muddy", w)
  n = split("yesterday the weather was fine and many people walked slowly while others talked about old books", f)
  for (i = 0; i < 300; ++i) {
    text = ""
    for (j = 0; j < 30; ++j) text = text "\"" f[1 + int(rand() * n)] "\", "
    text = text "\"The\", \"" a[1 + int(rand() * 6)] "\", \"did not\", \"cross\", \"the\", \"" p[1 + int(rand() * 6)] "\", "
    for (j = 0; j < 58; ++j) text = text "\"" f[1 + int(rand() * n)] "\", "
    text = text "\"because\", \"it\", \"was\", \"too\", \"so\", "
    printf "{\"tokens\": [%s\"%s\"], \"query\": 95, \"antecedent\": 31, \"other\": 35}\n", text, t[1 + int(rand() * 4)]
    printf "{\"tokens\": [%s\"%s\"], \"query\": 95, \"antecedent\": 35, \"other\": 31}\n", text, w[1 + int(rand() * 4)]
  }
}' >"$out/long.jsonl"

run toy toy.yaml --set dump.every=10 --set train.evaluate_every=10 --set dump.weights=true
run four toy.yaml --set model.heads=4
run bank examples/bank.yaml
run chinese examples/chinese.yaml
run deep toy.yaml --set model.layers=6 --set model.heads=8 --set model.dropout=0.2
run large toy.yaml --set data.task=jsonl --set "data.train=$out/long.jsonl" --set 'probes=[]' --set model.layers=6 \
  --set model.heads=8 --set train.steps=30 --set train.batch_size=16 --set dump.every=10 --set dump.weights=true
run places examples/mine.yaml --set model.answer=candidate --set 'probes=[]' --set dump.weights=true
run text examples/nanogpt.yaml --set data.train=/usr/share/common-licenses/GPL-3 --set model.d_model=64 --set model.mlp=256 \
  --set train.steps=150 --set train.evaluate_every=50 --set dump.every=50 --set dump.weights=true

page() {  # NAME LIMIT
  "$build/inspect" page "$out/runs/$1" --limit "$2" --out "$out/$1.html"
}
for name in toy bank chinese deep places text; do
  page "$name" 40
done
page large 4
"$build/inspect" page "$out/runs/toy" "$out/runs/four" --limit 40 --out "$out/two-runs.html"
HEED_PAGES=$out exec "$build/page_test" "[.screenshots]"
