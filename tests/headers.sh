#!/usr/bin/env bash
# headers.sh COMPILER PREFIX: checks that each header of the library that is installed in PREFIX compiles alone.
set -euo pipefail
compiler=$1 include=$2/include
headers=$(cd "$include" && find heed -name '*.h' | sort)
[ -n "$headers" ] || { echo "headers.sh: expected headers in $include/heed, found none" >&2; exit 1; }
xargs -P "$(nproc)" -I '{}' "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$include" -include '{}' -x c++ /dev/null \
  <<< "$headers" || { echo "headers.sh: a header does not compile alone" >&2; exit 1; }
echo "$(wc -l <<< "$headers") headers compile alone"
