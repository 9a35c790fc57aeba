#!/bin/bash
# processes.sh BUILD PART...: runs train and inspect with several processes on one machine, and compares their files byte for
# byte with those of one process. The parts: bits, states, resume, death, errors, studies, example. MPIRUN is the command that starts
# processes. KILLS is the number of processes of each run in the part death, which kills one of them (default: "4 2 3").
set -u
build=$(realpath "$1")
shift
train=$build/train
read -r -a mpirun <<<"${MPIRUN:-mpirun --oversubscribe}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

check() {  # check WHAT COMMAND...
  local what=$1
  shift
  if "$@" >"$scratch/check.txt" 2>&1; then
    echo "PASS  $what"
  else
    echo "FAIL  $what"
    sed 's/^/      /' "$scratch/check.txt" | head -20
    failures=$((failures + 1))
  fi
}
same_run() { diff -r "$1" "$2"; }
fails() { ! "$@"; }

run() {  # run N OPTION...: runs train with N processes; writes out.txt and err.txt
  local n=$1
  shift
  timeout -k 10 180 "${mpirun[@]}" -n "$n" "$train" --quiet "$@" >"$scratch/out.txt" 2>"$scratch/err.txt"
}

await() {  # await CONDITION...: for 60 seconds at most
  local end=$((SECONDS + 60))
  until "$@" 2>/dev/null; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}

# Sentences with dropout, averaged weights and early stopping; a text.
cat >"$scratch/sentences.yaml" <<YAML
data: {sentences: 200, held_out: 300}
model: {d_model: 16, dropout: 0.2}
train: {steps: 30, batch_size: 24, accumulate: 6, average: 12, patience: 9, evaluate_every: 10, checkpoint_every: 10}
dump: {every: 15, sentences: 2, weights: true}
YAML
cat README.md >"$scratch/text.txt"
cat >"$scratch/text.yaml" <<YAML
data: {task: text, train: $scratch/text.txt, tokens: characters, context: 32}
model: {d_model: 16, heads: 2, layers: 2, mlp: 32}
optim: {name: adamw, clip: 0.1}
train: {steps: 6, batch_size: 8, accumulate: 8, evaluate_every: 3, checkpoint_every: 3}
YAML
# Micro-batches that differ in their number of predictions; some have none.
cat >"$scratch/masked.yaml" <<YAML
data: {task: masked_text, train: $scratch/text.txt, tokens: characters, context: 8}
model: {d_model: 16, heads: 2, layers: 2, mlp: 32, dropout: 0.1}
train: {steps: 6, batch_size: 8, accumulate: 8, evaluate_every: 3, checkpoint_every: 3}
YAML
# Gradients in several buckets, for 2 processes and for 3 that hold 1, 2 and 2 micro-batches.
sed -e 's/d_model.*/d_model: 128, heads: 2, layers: 4, mlp: 512}/' -e 's/steps: 6, batch_size: 8, accumulate: 8/steps: 3, batch_size: 5, accumulate: 5/' \
  "$scratch/text.yaml" >"$scratch/buckets.yaml"

bits() {
  local name n
  for name in sentences text masked; do
    "$train" --quiet --config "$scratch/$name.yaml" --out "$scratch/$name-alone" --threads 1 || exit 1
    for n in 2 3 4 8; do
      run $n --config "$scratch/$name.yaml" --out "$scratch/$name-$n" --threads $((n % 3 + 1))
      check "$name: $n processes write the same files" same_run "$scratch/$name-alone" "$scratch/$name-$n"
      check "$name: $n processes are silent" fails test -s "$scratch/out.txt"
    done
  done
  "$train" --quiet --config "$scratch/buckets.yaml" --out "$scratch/buckets-alone" --threads 2 || exit 1
  for n in 2 3 4 6; do
    run $n --config "$scratch/buckets.yaml" --out "$scratch/buckets-$n" --threads 1
    check "$n processes with gradients in several buckets write the same files" same_run "$scratch/buckets-alone" "$scratch/buckets-$n"
  done
  for n in 2 3; do
    run $n --config "$scratch/text.yaml" --out "$scratch/part-$n" --set train.shard_optimizer=true
    "$train" --quiet --config "$scratch/text.yaml" --out "$scratch/part-alone-$n" --set train.shard_optimizer=true
    check "$n processes with sharded moments write the same files" \
      same_run "$scratch/part-alone-$n" "$scratch/part-$n"
    check "$n processes with sharded moments train the same model as without sharding" \
      cmp "$scratch/text-alone/model.safetensors" "$scratch/part-$n/model.safetensors"
  done
  run 3 --resume "$scratch/part-2" --set train.steps=9
  "$train" --quiet --resume "$scratch/part-alone-2" --set train.steps=9
  check "3 processes resume a run of 2 with sharded moments: the same files" same_run "$scratch/part-alone-2" "$scratch/part-2"
  run 3 --config "$scratch/sentences.yaml" --out "$scratch/one" --set train.accumulate=1
  "$train" --quiet --config "$scratch/sentences.yaml" --out "$scratch/one-alone" --set train.accumulate=1
  check "more processes than micro-batches write the same files" same_run "$scratch/one-alone" "$scratch/one"
}

states() {
  for n in 1 2 3 5; do
    check "$n processes load and give the state of one, with counts of steps" \
      timeout -k 10 60 "${mpirun[@]}" -n "$n" "$build/sharded_state"
  done
}

long=(--config "$scratch/sentences.yaml" --set train.steps=20000 --set train.checkpoint_every=100 --set train.evaluate_every=1000
      --set dump.every=10000 --set train.patience=0 --set optim.schedule=constant)
train_alone() {
  [ -d "$scratch/alone" ] || "$train" --quiet "${long[@]}" --out "$scratch/alone" || exit 1
}

# Begins the run "$1" with "$2" processes in the background, and waits for a checkpoint after "$3".
begin() {
  run "$2" "${@:4}" &
  await test "$1/checkpoint.safetensors" -nt "$3"
}

# mpirun passes SIGTERM on only after a wait, so these runs would not end by themselves before it arrives.
resume() {
  local signal last arguments=("${long[@]}" --set train.steps=999999 --out "$scratch/stopped")
  for signal in TERM USR1; do
    touch "$scratch/before"
    OMPI_MCA_odls_base_sigkill_timeout=3 begin "$scratch/stopped" 4 "$scratch/before" "${arguments[@]}"
    kill -$signal "$(pgrep -x "$(basename "${mpirun[0]}")" -P "$(pgrep -P $! timeout)")"
    wait $!
    last=$(sed -n 's/^train: stopped after step \([0-9]*\) of 999999; the run is saved.*/\1/p' "$scratch/err.txt")
    check "SIG$signal to mpirun saves and stops" test -n "$last"
    [ -n "$last" ] || cat "$scratch/err.txt"
    arguments=(--resume "$scratch/stopped")
  done
  last=$((last + 50))
  run 3 "${arguments[@]}" --set train.steps=$last
  "$train" --quiet "${long[@]}" --set train.steps=$last --out "$scratch/as-one"
  check "3 processes resume a run of 4: the files of one process" same_run "$scratch/as-one" "$scratch/stopped"
}

pid_of_rank() {  # pid_of_rank RANK RUN
  local pid
  for pid in $(pgrep -f -- "$2"); do
    [ "$(readlink "/proc/$pid/exe")" = "$(realpath "$train")" ] || continue
    tr '\0' '\n' <"/proc/$pid/environ" | grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1" && echo "$pid" && return
  done
  return 1
}

death() {
  train_alone
  local n rank arguments=("${long[@]}" --out "$scratch/killed")
  for n in ${KILLS:-4 2 3}; do
    rank=$((RANDOM % n))
    touch "$scratch/before"
    begin "$scratch/killed" $n "$scratch/before" "${arguments[@]}"
    sleep "$(printf 0.%02d $((RANDOM % 40)))"
    kill -9 "$(pid_of_rank $rank "$scratch/killed")"
    local killed=$SECONDS
    wait $!
    check "rank $rank of $n killed: the exit code is not 0" test $? -ne 0
    check "rank $rank of $n killed: all end within seconds" test $((SECONDS - killed)) -le 10
    arguments=(--resume "$scratch/killed")
  done
  run 1 "${arguments[@]}"
  check "a run that was killed and resumed has the files of one process" same_run "$scratch/alone" "$scratch/killed"
}

says() {  # says TEXT [PROGRAM]
  [ "$(grep "^${2:-train}: " "$scratch/err.txt")" = "${2:-train}: $1" ]
}

errors() {
  local host each start=(--quiet --config "$scratch/sentences.yaml" --out "$scratch/wrong")
  host=$(hostname)
  two() {  # two OPTION-OF-RANK-1...
    timeout -k 10 60 "${mpirun[@]}" -n 1 "$train" "${start[@]}" : -n 1 "$train" "${start[@]}" "$@" 2>"$scratch/err.txt"
  }
  check "processes of different configurations fail" fails two --set optim.lr=0.002
  check "the message says which configuration" says "rank 1 of 2 on host $host differs from rank 0 in its configuration, \
section 'optim': expected '  lr: 0.003', got '  lr: 0.002'. Start all with the same --config and --set"
  start=(--quiet --config "$scratch/text.yaml" --out "$scratch/wrong")
  mkdir "$scratch/a" "$scratch/b"
  cp "$scratch/text.txt" "$scratch/a/text.txt"
  sed 's/attention/attentiom/' "$scratch/text.txt" >"$scratch/b/text.txt"
  for each in a b; do
    (cd "$scratch/$each" && sed "s,$scratch/text.txt,text.txt," ../text.yaml >text.yaml)
  done
  in_directories() {
    timeout -k 10 60 "${mpirun[@]}" -n 1 -wdir "$scratch/a" "$train" --quiet --config text.yaml --out "$scratch/wrong" : \
      -n 1 -wdir "$scratch/b" "$train" --quiet --config text.yaml --out "$scratch/wrong" 2>"$scratch/err.txt"
  }
  check "processes of different data fail" fails in_directories
  check "the message says which data" \
    grep -q "^train: rank 1 of 2 on host $host differs from rank 0 in its training data, by its digest" "$scratch/err.txt"
  check "an error of one process ends all processes" fails two --set model.d_model=0
  check "its message names the process" says "rank 1 of 2 on host $host: --set model.d_model=0: model.d_model must be an \
integer from 1 to 4096, got '0'"
  check "an error of all processes ends them" fails run 3 --config "$scratch/no.yaml"
  check "the message is written once" says "cannot read $scratch/no.yaml: No such file or directory"
  check "--seeds refuses several processes" fails run 2 --config "$scratch/sentences.yaml" --seeds 1-2
  check "its message says so" grep -q "^train: --seeds trains one run after another; start one process" "$scratch/err.txt"
  check "none of them wrote a run" fails test -e "$scratch/wrong"
}

studies() {
  local n command same_answers="$scratch/sentences-alone"
  "$train" --quiet --config "$scratch/sentences.yaml" --out "$same_answers" --threads 2 || exit 1
  "$train" --quiet --config "$scratch/sentences.yaml" --out "$scratch/seed-2" --set seed=2 --threads 2 || exit 1
  local i
  for i in {0..139}; do  # 140 sentences with two candidates, in several batches
    echo "{\"tokens\": [\"the\", \"cup$((i % 7))\", \"hid\", \"the\", \"jam\", \"when\", \"it\", \"was\", \"w$((i % 20))\"]," \
      "\"query\": 6, \"candidates\": [[0, 2], [3, 5]], \"antecedent\": $((i % 2))}"
  done >"$scratch/candidates.jsonl"
  head -n 100 "$scratch/candidates.jsonl" >"$scratch/fewer.jsonl"
  "$train" --quiet --config "$scratch/sentences.yaml" --out "$scratch/chooser" --threads 2 --set data.task=candidates \
    --set data.train="$scratch/fewer.jsonl" --set data.tokens=words --set model.answer=candidate || exit 1
  share() {  # share N WORD...: runs inspect with N processes; writes out.txt and err.txt
    local n=$1
    shift
    timeout -k 10 120 "${mpirun[@]}" -n "$n" "$build/inspect" "$@" >"$scratch/out.txt" 2>"$scratch/err.txt"
  }
  for command in "causes $same_answers --json" "history $same_answers" "match $same_answers $scratch/seed-2 --json" \
    "report $scratch/chooser $scratch/candidates.jsonl $scratch/fewer.jsonl" "report $scratch/chooser --json" \
    "heads $scratch/chooser $scratch/candidates.jsonl" "heads $scratch/chooser --json"; do
    # shellcheck disable=SC2086
    "$build/inspect" $command >"$scratch/one.txt" || exit 1
    for n in 2 3 8; do
      # shellcheck disable=SC2086
      share $n $command
      check "${command%% *}: $n processes print what one prints" cmp "$scratch/one.txt" "$scratch/out.txt"
    done
  done
  check "inspect RUN refuses several processes" fails share 2 "$same_answers"
  check "its message says so" grep -qx "inspect: expected one process, got 2; only inspect causes, \
history, match, report and heads run with several (see .*inspect --help)" "$scratch/err.txt"
  differently() {  # differently COMMAND RUN OTHER: one process each
    timeout -k 10 60 "${mpirun[@]}" -n 1 "$build/inspect" "$1" "$2" : -n 1 "$build/inspect" "$1" "$3" 2>"$scratch/err.txt"
  }
  cp -r "$scratch/chooser" "$scratch/chooser-2"
  "$train" --quiet --resume "$scratch/chooser-2" --set train.steps=31 || exit 1
  for command in "causes $same_answers $scratch/seed-2" "report $scratch/chooser $scratch/chooser-2" \
    "heads $scratch/chooser $scratch/chooser-2"; do
    # shellcheck disable=SC2086
    check "${command%% *}: processes of different models fail" fails differently $command
    check "the message names the process" says "rank 1 of 2 on host $(hostname) gives other answers than rank 0; start all \
with the same model, sentences, options and build of heed" inspect
  done
  check "report: an error of one process ends all processes" fails differently report "$scratch/chooser" "$scratch/none"
  check "its message names the process" grep -q "^inspect: rank 1 of 2 on host $(hostname): $scratch/none: there is no such run" \
    "$scratch/err.txt"
}
example() {
  local one=$("$build/examples/example_data_parallel")
  check "the example learns" grep -q "step 200  loss 0.2" <<<"$one"
  for n in 2 3 8; do
    local several=$(timeout -k 10 60 "${mpirun[@]}" -n $n "$build/examples/example_data_parallel")
    check "the example prints the same with $n processes" test "$one" = "$several"
  done
}

for part in "$@"; do "$part"; done
[ $failures -eq 0 ] && echo PASS || echo "FAIL ($failures)"
exit $((failures > 0))
