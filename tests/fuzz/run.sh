#!/usr/bin/env bash
# run.sh BUILD [TARGET...]: runs each fuzz target of BUILD for $FUZZ_SECONDS (10) from tests/fuzz/seeds/TARGET and from what
# earlier runs kept in BUILD/corpus. What one finds is left in BUILD as TARGET-crash-... .
set -euo pipefail
build=$(realpath "$1")
shift
cd "$(dirname "$0")"
names=("$@")
[ $# -gt 0 ] || for source in *.cpp; do names+=("${source%.cpp}"); done
failed=0
for name in "${names[@]}"; do
  mkdir -p "$build/corpus/$name"
  log=$build/corpus/$name.log
  if "$build/fuzz_$name" "$build/corpus/$name" "seeds/$name" -max_total_time="${FUZZ_SECONDS:-10}" -timeout=20 -max_len=4096 \
      -rss_limit_mb=2048 -artifact_prefix="$build/$name-" -print_final_stats=1 >"$log" 2>&1; then
    printf '%-12s %s runs\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    failed=1
    printf '%-12s FAILED\n' "$name"
    tail -40 "$log"
  fi
done
exit $failed
