#!/usr/bin/env bash
# install.sh BUILD PAGE [MORE...]: installs BUILD and builds on it as PAGE says, with its first program, CMakeLists.txt and
# commands, and by pkg-config with its other programs and those of the pages MORE; ~ is a scratch directory. operation.cpp adds
# an operation to the installed library, and the installed documents link to nothing that is not installed.
# $CXX is the compiler that BUILD was built with; the page's prefix is ~/heed.
set -euo pipefail
export CXX=${CXX:-g++}
source "$(dirname "$0")/blocks.sh"
build=$(realpath "$1")
mapfile -t pages < <(realpath "${@:2}")
page=${pages[0]}

top=$(realpath "$(dirname "$0")/../..")
operation=$(realpath "$(dirname "$0")/operation.cpp")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
ln -s "$build" build
mkdir mine

fail() {
  printf 'install.sh: %s\n' "$@" >&2
  exit 1
}

# A small model in place of the one that a program of the page opens.
model=all-MiniLM-L6-v2
cp -r "$top/tests/golden/hugging_face/bert" $model
echo '{"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "The": 1, "street": 2, ".": 3}},
  "pre_tokenizer": {"type": "BertPreTokenizer"}, "added_tokens": []}' > $model/tokenizer.json

mkdir programs
for each in "${pages[@]}"; do programs cpp "int main" "$each"; done | awk '/^----$/ { ++n; next } { print > ("programs/" n + 1 ".cpp") }'
programs cmake find_package.heed "$page" | sed '/^----$/,$d' > mine/CMakeLists.txt
[ -f programs/1.cpp ] || fail "expected a program in a cpp block of $page, found none"
[ -s mine/CMakeLists.txt ] || fail "expected find_package(heed in a cmake block of $page"

commands "$page" | cut -d: -f2- | while IFS= read -r command; do
  [ "$(kind "$command")" != install ] || echo "$command"
done > commands
for expected in "cmake --install " CMAKE_PREFIX_PATH pkg-config; do
  grep -qF -- "$expected" commands || fail "expected '$expected' in an sh block of $page"
done

# g++ is the compiler of the build. For a shared library it also gets the directory of the library, as the page says.
compiler='g++() { command "$CXX" "$@"; }'
[ ! -e build/lib/libheed-core.so ] || compiler='g++() { command "$CXX" "$@" "-Wl,-rpath,$HOME/heed/lib"; }'
for program in programs/*.cpp; do
  cp "$program" mine/mine.cpp
  { echo "$compiler"; echo 'set -x'; cat commands; } > script
  HOME=$scratch bash -eu script
  sed -i -E '/^(cmake|mine\/build)/d' commands
done
# Debian 13's sentencepiece.pc requires a package that setup.sh does not install.
! grep -i '^requires.*sentencepiece' heed/lib/pkgconfig/heed.pc || fail "heed.pc requires sentencepiece.pc"
heed/bin/heed-train --version
heed/bin/heed-inspect --version

# Links in the installed documents lead to installed files.
documents=$(dirname "$(find heed -path '*/doc/heed/README.md')")
for document in $(find "$documents" -name '*.md'); do
  for link in $(grep -oE '\]\([^) ]+\)' "$document" | sed -E 's/^\]\(//; s/[#)].*//'); do
    case $link in http*) continue ;; esac
    [ -e "$(dirname "$document")/$link" ] || fail "$document links to '$link', which is not installed"
  done
done

# A user's operation, defined and checked with the installed library.
package=$(dirname "$(find heed -name heed.pc)")
flags=$(PKG_CONFIG_PATH=$package pkg-config --cflags --libs heed)
# shellcheck disable=SC2086  # several words
"$CXX" -std=c++20 -Wall -Wextra -Werror "$operation" $flags "-Wl,-rpath,$scratch/${package%/pkgconfig}" -o own_operation
./own_operation > output
for expected in 'cube passed' 'product passed' '[[ 1.  8.]' '[7 8](2, 3)'; do
  grep -qF -- "$expected" output || fail "expected '$expected' of operation.cpp, got:" "$(cat output)"
done

# heed::core, by CMake and by pkg-config: a program of <heed/core.h> needs no other component and none of their libraries.
mkdir core
sed -e 's/heed 0.1 REQUIRED/heed 0.1 REQUIRED COMPONENTS core/; s/heed::heed/heed::core/' mine/CMakeLists.txt > core/CMakeLists.txt
sed 's|<heed/heed.h>|<heed/core.h>|' programs/1.cpp > core/mine.cpp
cmake -S core -B core/build -G Ninja -D CMAKE_PREFIX_PATH="$PWD/heed" -D CMAKE_DISABLE_FIND_PACKAGE_absl=ON > core.log &&
  cmake --build core/build >> core.log || fail "a program of heed::core does not build:" "$(tail -20 core.log)"
core/build/mine
flags=$(PKG_CONFIG_PATH=$package pkg-config --cflags --libs heed-core)
! grep -E 'sentencepiece|utf8proc|pcre2|heed-[^c]' <<< "$flags" || fail "heed-core.pc names libraries of other components"
# shellcheck disable=SC2086  # several words
"$CXX" core/mine.cpp $flags "-Wl,-rpath,$scratch/${package%/pkgconfig}" -o core/mine
core/mine

# The library leaves operator new to its user.
! nm heed/lib/*.a 2>/dev/null | grep -E " T _Zn[wa]m" || fail "the library replaces operator new"

cd heed/include/heed
internal=$(find . -path '*/cpu/*' -o -path '*/internal/*' -o -path '*/pipeline/*')
[ -z "$internal" ] || fail "installed, though internal:" "$internal"
echo "$(find "$scratch/programs" -name '*.cpp' | wc -l) programs"
