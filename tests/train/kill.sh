#!/bin/bash
# kill.sh TRAIN [KILLS]: trains toy.yaml, kills it with SIGKILL at random moments and resumes it each time. The final
# model must equal, byte for byte, that of runs left alone with 1, 2, 3 and the default number of threads.
set -u
train=$(realpath "$1") kills=${2:-20}
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
run=$scratch/killed
failures=0

verdict() {  # verdict DIR WHAT
  if cmp -s "$scratch/alone/model.safetensors" "$1/model.safetensors"; then
    echo "PASS  $2: same model.safetensors"
  else
    echo "FAIL  $2: another model.safetensors"
    failures=$((failures + 1))
  fi
}

start() {  # in the background; more checkpoints than toy.yaml has, so that more kills meet a file half written
  if [ -e "$run/config.yaml" ]; then
    "$train" --quiet --resume "$run" &
  else
    rm -rf "$run"
    "$train" --quiet --config toy.yaml --set train.checkpoint_every=10 --out "$run" &
  fi
}

began=$(date +%s%N)
"$train" --quiet --config toy.yaml --out "$scratch/alone" || exit 1
microseconds=$((($(date +%s%N) - began) / 1000))

killed=0
while [ $killed -lt "$kills" ]; do
  start
  delay=$((RANDOM * 32768 + RANDOM))
  delay=$((delay % (microseconds * 2 / 3)))
  sleep "$((delay / 1000000)).$(printf %06d $((delay % 1000000)))"
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
  status=$?
  if [ $status -eq 137 ]; then
    killed=$((killed + 1))
    state=$(ls "$run" 2>/dev/null | tr '\n' ' ')
    printf 'kill %2d after %4d ms: %s\n' $killed $((delay / 1000)) "${state:-nothing there yet}"
  else
    verdict "$run" "came to its end with exit code $status before the next kill"
    rm -rf "$run"
  fi
done
start
wait $! || failures=$((failures + 1))
verdict "$run" "after $killed kills"
for files in "$run"/*.tmp-* "$run"/attention/*.tmp-*; do
  [ ! -e "$files" ] || { echo "FAIL  left behind: $files"; failures=$((failures + 1)); }
done
for threads in 1 2 3; do
  "$train" --quiet --config toy.yaml --threads $threads --out "$scratch/threads-$threads"
  verdict "$scratch/threads-$threads" "--threads $threads"
done
[ $failures -eq 0 ] && echo PASS || echo "FAIL ($failures)"
exit $((failures > 0))
