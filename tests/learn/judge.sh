#!/usr/bin/env bash
# judge.sh BUILD LIBRARY COMPILER: learn/judge, on a copy of the course beside a heed::core that is built. It says what a learner needs for
# an untouched step, a mistake, a complete step, code that does not compile, and code that crashes.
set -euo pipefail
build=$(realpath "$1") library=$(realpath "$2") compiler=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r learn "$scratch/learn"
cd "$scratch"
python3 -B learn/variants.py  # the stubs, whatever a learner has written in the tree

cat > CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(course CXX)
find_package(fmt REQUIRED)
add_library(heed_core UNKNOWN IMPORTED)
set_target_properties(heed_core PROPERTIES IMPORTED_LOCATION $library INTERFACE_INCLUDE_DIRECTORIES $build/components/core
                      INTERFACE_LINK_LIBRARIES "fmt::fmt;\${CMAKE_DL_LIBS};-fopenmp")
add_library(heed::core ALIAS heed_core)
add_subdirectory(learn)
END
cmake -S . -B build -G Ninja -D CMAKE_CXX_COMPILER="$compiler" > configured 2>&1 || { cat configured; exit 1; }
! ninja -C build -n | grep -E "Building|Linking" || { echo "expected nothing to build by default"; exit 1; }

expect() {  # expect CODE TEXT ARGUMENT...: learn/judge ends with the exit code and prints the text
  local code=$1 text=$2 got=0
  shift 2
  learn/judge --build build "$@" > printed 2>&1 || got=$?
  if [ "$got" != "$code" ] || ! grep -qF -- "$text" printed; then
    printf 'learn/judge %s: expected exit code %s and "%s", got %s and:\n' "$*" "$code" "$text" "$got"
    cat printed
    exit 1
  fi
}

export LC_ALL=C.UTF-8
expect 2 "expected a step from 1 to 12, got '13'" 13
expect 2 "expected one step, got '4' and '5'" 4 5
expect 2 "expected a step from 1 to 12, got ''"
expect 2 "expected --language en or --language zh, got 'fr'" 4 --language fr
expect 2 "unknown option '--lang'" 4 --lang zh
expect 2 "expected a file after --picture" 1 --picture
expect 2 "a directory that CMake has configured after --build, got 'none'" 4 --build none
file=learn/steps/04_softmax.h
line=$(grep -n 'NotWritten("softmax")' $file | cut -d: -f1)
expect 1 "softmax() is not written yet: $file:$line." 4
expect 1 "softmax() 还没有写：$file:$line。" 4 --language zh
LC_ALL= LANG=zh_CN.UTF-8 expect 1 "还没有写" 4
cp learn/solutions/04_softmax.h learn/steps/
expect 0 "All 4 checks pass." 04
expect 2 "This step has no picture; steps 1 and 6 have one." 4 --picture tape.svg
sed -i 's/(dy(i, j) - sum)/dy(i, j)/' $file
expect 1 "The sum is missing: raising one score also lowers the shares of the" 4
sed -i 's/double sum = 0;$/double sum = 0; int* nowhere = nullptr; *nowhere = 1;/' $file
expect 1 "softmax_backward() crashed." 4
sed -i 's/double sum = 0; int.*$/double sum = dy(5, 7);/' $file
expect 1 "there is no element (5, 7) in a matrix of shape (2, 3)" 4
sed -i 's/double sum = dy(5, 7);/double sum = nothing;/' $file
expect 1 "learn/steps/04_softmax.h does not compile." 4
grep -q "error: .nothing. was not declared\|error: use of undeclared identifier" printed || { cat printed; exit 1; }
grep -qE "g\+\+|clang|-std=|FAILED|ninja" printed && { echo "expected the compiler's messages alone"; cat printed; exit 1; }
cp learn/solutions/04_softmax.h learn/steps/
sed -i 's/^  return dx;$//' $file
expect 1 "return-type" 4
if python3 -c 'import numpy' 2> /dev/null; then
  expect 1 "softmax() is not written yet: learn/steps/04_softmax.py:16." 4 --python
  cp learn/solutions/01_tape.py learn/steps/
  expect 0 "All 12 checks pass." 1 --python --picture tape.svg
  cmp tape.svg learn/tape.svg
  sed 's/^    return shape$/    return tuple(shape)/' learn/solutions/02_broadcasting.py > learn/steps/02_broadcasting.py
  grep -q tuple learn/steps/02_broadcasting.py
  expect 0 "All 6 checks pass." 2 --python
else
  expect 2 "pip install numpy" 4 --python
fi
