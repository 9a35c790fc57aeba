#!/usr/bin/env bash
# hardened.sh PROGRAM...: checks that each program is position independent, with read-only relocations, a non-executable
# stack, stack protection and fortified calls of the C library.
set -euo pipefail
failed=0
demand() {  # demand PROGRAM WHAT TEXT READELF...
  grep -qE -- "$3" <<< "$(readelf -W "${@:4}" "$1")" || { echo "$1: no $2"; failed=1; }
}
for program in "$@"; do
  demand "$program" "position-independent code" 'Type: +DYN' -h
  demand "$program" "read-only relocations" 'GNU_RELRO' -l
  demand "$program" "binding at the start" 'BIND_NOW|Flags:.* NOW' -d
  demand "$program" "stack without code" 'GNU_STACK.* RW ' -l
  demand "$program" "stack protector" '__stack_chk_fail' --dyn-syms
  demand "$program" "fortified functions" '__[a-z]+_chk' --dyn-syms
done
exit $failed
