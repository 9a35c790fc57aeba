#!/usr/bin/env bash
# commands.sh BUILD FILE...: checks that this tree and BUILD accept every command in the sh blocks of these documents. Runs the
# programs in a scratch directory, with fewer steps if they would train for long.
set -euo pipefail
source "$(dirname "$0")/blocks.sh"
build=$(realpath "$1")
top=$(realpath "$(dirname "$0")/../..")
shift

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$build" "$scratch/build"
cp -r "$top/examples" "$top/toy.yaml" "$scratch"

# setup.sh finds every package installed, so it only checks its argument.
mkdir "$scratch/stub"
printf '#!/bin/sh\necho installed\n' | tee "$scratch/stub/dpkg-query" > "$scratch/stub/apt-get"
chmod +x "$scratch"/stub/*

presets() {  # presets KIND: their names
  (cd "$top" && if [ "$1" = workflow ]; then cmake --workflow --list-presets; else cmake --list-presets="$1"; fi) |
    sed -n 's/^ *"\([^"]*\)".*/\1/p'
}

has_preset() {  # has_preset KIND COMMAND
  local name=${2##*--preset }
  presets "$1" | grep -qxF -- "${name%% *}" || { echo "no $1 preset '${name%% *}' in CMakePresets.json"; return 1; }
}

has_variables() {  # every -D NAME=VALUE of the command
  local name
  for name in $(grep -oE -- '-D *[A-Za-z_]+' <<< "$1" | sed 's/-D *//'); do
    grep -q "^$name[:=]" "$build/CMakeCache.txt" || { echo "no variable $name in $build/CMakeCache.txt"; return 1; }
  done
}

run_program() {
  local command=$1
  case $command in
    *--seeds\ 1-8*) command=${command/--seeds 1-8/--seeds 1-3} ;;
    *--resume* | *--config\ toy.yaml* | *--help*) ;;
    build/train*--config*) command+=" --set train.steps=20 --set optim.warmup=5" ;;
    build/inspect*--limit* | build/inspect\ causes*--sentence*) ;;
    build/inspect\ causes* | build/inspect\ page*) command+=" --limit 20" ;;
  esac
  (cd "$scratch" && timeout 600 bash -c "$command") || { echo "the command was: $command"; return 1; }
}

check() {  # check COMMAND
  case $(kind "$1") in
    setup) (cd "$top" && PATH=$scratch/stub:$PATH bash -c "$1") ;;
    workflow) has_preset workflow "$1" ;;
    preset)
      case $1 in
        "cmake --preset "*) has_preset configure "$1" && has_variables "$1" ;;
        "cmake --build "*) has_preset build "$1" ;;
        "ctest "*) has_preset test "$1" ;;
      esac ;;
    program) run_program "$1" ;;
    script) [ -x "$top/${1%% *}" ] || { echo "the program does not exist"; return 1; } ;;
    install) ;;  # install.sh runs it
    python) ;;  # .ci/run installs the package and runs its tests
    sysroot) ;;  # needs root; names.py checks its packages
    package)
      [[ $1 != cpack* || $1 =~ ^cpack\ --config\ build-portable/CPackConfig.cmake$ ]] ||
        { echo "expected cpack --config build-portable/CPackConfig.cmake"; return 1; } ;;
    unknown) echo "tests/readme/blocks.sh does not know how to check it"; return 1 ;;
  esac
}

# The results of README's first command, and a user's own file.
(cd "$scratch" && build/train --config toy.yaml --quiet)
cp "$scratch/runs/toy/held_out.jsonl" "$scratch/mine.jsonl"

declare -A seen
checked=0 failed=0
for readme in "$@"; do
  while IFS= read -r line; do
    command=${line#*:}
    [ -z "${seen[$command]:-}" ] || continue
    seen[$command]=1 checked=$((checked + 1))
    if ! output=$(check "$command" 2>&1); then
      failed=$((failed + 1))
      printf '%s:%s: %s\n%s\n\n' "$readme" "${line%%:*}" "$command" "$output"
    fi
  done < <(commands "$readme")
done
echo "$checked commands, $failed of them fail"
[ "$checked" -gt 0 ] && [ "$failed" -eq 0 ]
