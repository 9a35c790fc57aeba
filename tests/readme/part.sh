#!/usr/bin/env bash
# part.sh PAGE [build]: the project on the page that contains heed by add_subdirectory() is configured, and built and run
# when "build" is given. It must get the library alone: no program, no test, no option, no package that only those need.
set -euo pipefail
source "$(dirname "$0")/blocks.sh"
page=$(realpath "$1")
top=$(realpath "$(dirname "$0")/../..")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
ln -s "$top" heed

fail() {
  printf 'part.sh: %s\n' "$@" >&2
  exit 1
}

programs cmake add_subdirectory.heed "$page" | sed '/^----$/,$d' > CMakeLists.txt
grep -q HEED_MARCH CMakeLists.txt || fail "expected add_subdirectory(heed) and HEED_MARCH in a cmake block of $page"
programs cpp "int main" "$page" | sed '/^----$/,$d' > mine.cpp

configure() {  # configure DIRECTORY [OPTION...]
  cmake -S . -B "$@" -G Ninja -D CMAKE_EXPORT_COMPILE_COMMANDS=ON -D CMAKE_DISABLE_FIND_PACKAGE_yaml-cpp=ON \
    -D CMAKE_DISABLE_FIND_PACKAGE_cxxopts=ON -D CMAKE_DISABLE_FIND_PACKAGE_Catch2=ON > "$1.log" 2>&1 ||
    fail "not configured:" "$(cat "$1.log")"
}

check() {  # check DIRECTORY MARCH: the options of heed's sources, and of mine.cpp
  grep '"command"' "$1/compile_commands.json" | grep -v mine.cpp > library
  grep '"command"' "$1/compile_commands.json" | grep mine.cpp > mine
  grep -q -- -fno-math-errno library || fail "heed is without its own options"
  [ "$(grep -oE -- '-march=[^ ]*' library | sort -u)" = "$2" ] || fail "expected heed compiled with '$2', got:" "$(head -1 library)"
  ! grep -qE -- '-Werror|-Wconversion' library || fail "heed's warnings are on:" "$(head -1 library)"
  ! grep -qE -- '-march|-fno-|-W|-O|-I *[^ ]*heed( |$)' mine || fail "heed's options reach mine.cpp:" "$(cat mine)"
  targets=$(ninja -C "$1" -t targets all | grep -oE '^(train|inspect|bench|[a-z_]*_test|example_[a-z_]*|heed_(train|inspect|views|programs|tests|bench)[a-z_]*):' || true)
  [ -z "$targets" ] || fail "expected the library alone, found targets:" "$targets"
}

configure part
check part -march=native
sed '/HEED_MARCH/d' CMakeLists.txt > plain && mv CMakeLists.txt with_march && mv plain CMakeLists.txt
configure plain -D CMAKE_COMPILE_WARNING_AS_ERROR=OFF
check plain ""
cat > CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(mine CXX)
include(FetchContent)
FetchContent_Declare(heed SOURCE_DIR $top)
FetchContent_MakeAvailable(heed)
add_executable(mine mine.cpp)
target_link_libraries(mine heed::heed)
END
configure fetched
check fetched ""
sed -i 's/^target_link_libraries.*/target_link_libraries(mine heed::core)/' CMakeLists.txt
configure core -D HEED_CORE_ONLY=ON -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON -D UTF8PROC_INCLUDE_DIR=UTF8PROC_INCLUDE_DIR-NOTFOUND
check core ""
! grep -qE 'tokenizers|formats|models' library || fail "heed::core compiles other components"
echo "configured the library alone"
if [ "${2:-}" = build ]; then
  mv with_march CMakeLists.txt
  configure part
  cmake --build part && part/mine
fi
