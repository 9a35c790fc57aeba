#!/bin/bash
# kill.sh TRAIN [KILLS]: trains toy.yaml, kills it with SIGKILL at random moments, also while it saves, and resumes it each
# time with another number of threads. The final model must equal, byte for byte, that of uninterrupted runs with 1, 2, 3
# and the default number of threads.
set -u
train=$(realpath "$1") kills=${2:-20}
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
run=$scratch/killed
settings=(--config toy.yaml --set train.steps=80)
failures=0

verdict() {  # verdict DIR WHAT
  if cmp -s "$scratch/alone/model.safetensors" "$1/model.safetensors"; then
    echo "PASS  $2: same model.safetensors"
  else
    echo "FAIL  $2: another model.safetensors"
    failures=$((failures + 1))
  fi
}

start() {  # in the background; saves after each second step, so that many kills hit a half-written file
  local threads=$((1 + killed % 3))
  if [ -e "$run/config.yaml" ]; then
    "$train" --quiet --threads $threads --resume "$run" &
  else
    rm -rf "$run"
    "$train" --quiet --threads $threads "${settings[@]}" --set train.checkpoint_every=2 --out "$run" &
  fi
}

killed=0 in_saving=0 started=0
"$train" --quiet "${settings[@]}" --out "$scratch/alone" || exit 1
began=$(date +%s%N)
"$train" --quiet "${settings[@]}" --set train.checkpoint_every=2 --out "$scratch/timed" || exit 1
microseconds=$((($(date +%s%N) - began) / 1000))
verdict "$scratch/timed" "saved more often"

while [ $killed -lt "$kills" ]; do
  started=$((started + 1))
  [ $started -le $((10 * kills)) ] || { echo "FAIL  only $killed of $started runs could be killed"; exit 1; }
  start
  delay=$((RANDOM * 32768 + RANDOM))
  delay=$((delay % (microseconds * 2 / 3)))
  sleep "$((delay / 1000000)).$(printf %06d $((delay % 1000000)))"
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
  status=$?
  if [ $status -eq 137 ]; then
    killed=$((killed + 1))
    half=$(find "$run" -name '*.tmp-*' 2>/dev/null | wc -l)
    in_saving=$((in_saving + (half > 0)))
  else
    verdict "$run" "ended with exit code $status before the next kill"
    rm -rf "$run"
  fi
done
start
wait $! || failures=$((failures + 1))
verdict "$run" "after $killed kills, $in_saving of them with a file half written"
for files in "$run"/*.tmp-* "$run"/attention/*.tmp-*; do
  [ ! -e "$files" ] || { echo "FAIL  left behind: $files"; failures=$((failures + 1)); }
done
for threads in 1 2 3; do
  "$train" --quiet "${settings[@]}" --threads $threads --out "$scratch/threads-$threads"
  verdict "$scratch/threads-$threads" "--threads $threads"
done
[ $failures -eq 0 ] && echo PASS || echo "FAIL ($failures)"
exit $((failures > 0))
