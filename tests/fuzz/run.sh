#!/usr/bin/env bash
# run.sh BUILD [TARGET...]: runs each fuzz target of BUILD for $FUZZ_SECONDS (10), one per processor at a time, starting from
# tests/fuzz/seeds/TARGET and the corpus of earlier runs in BUILD/corpus. With $FUZZ_SEED the inputs are the same each time.
# Inputs that crash a target are saved in BUILD as TARGET-crash-... .
set -euo pipefail
build=$(realpath "$1")
shift
cd "$(dirname "$0")"
names=("$@")
[ $# -gt 0 ] || for source in *.cpp; do [[ $source = *_test.cpp ]] || names+=("${source%.cpp}"); done

run_one() {
  local log=$build/corpus/$1.log
  mkdir -p "$build/corpus/$1"
  if "$build/fuzz_$1" "$build/corpus/$1" "seeds/$1" ${FUZZ_SEED:+-seed="$FUZZ_SEED"} \
      -max_total_time="${FUZZ_SECONDS:-10}" -timeout=20 -max_len=4096 -rss_limit_mb=2048 \
      -artifact_prefix="$build/$1-" -print_final_stats=1 >"$log" 2>&1; then
    printf '%-12s %s runs\n' "$1" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    printf '%-12s FAILED\n' "$1"
    tail -40 "$log"
    return 1
  fi
}
export -f run_one
export build
printf '%s\n' "${names[@]}" | OMP_NUM_THREADS=1 xargs -P "$(nproc)" -I NAME bash -c 'run_one NAME'
