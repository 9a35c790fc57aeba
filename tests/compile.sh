#!/usr/bin/env bash
# compile.sh COMPILER INCLUDE: checks user code that must compile, and mistakes that the compiler must report. INCLUDE is the
# directory of heed/heed.h.
set -euo pipefail
compiler=$1 include=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# A user's own types may have these names together with `using namespace heed`.
{
  echo '#include <heed/heed.h>'
  echo 'using namespace heed;'
  for name in Batch Example Sample Span Split Task Vocabulary; do
    echo "namespace mine { struct $name {}; }"
    echo "using mine::$name;"
    echo "$name make_$name() { return {}; }"
  done
} > "$scratch/names.cpp"
"$compiler" -std=c++20 -fsyntax-only -I "$include" "$scratch/names.cpp" ||
  { echo "heed.h declares a name that a user may want"; failed=1; }

# A guard without a variable name ends immediately.
cat > "$scratch/guards.cpp" << 'END'
#include <heed/heed.h>
using namespace heed;
void unnamed(const std::string& name, WeightAverage& average) {
  Recording();
  NoRecording();
  FiniteCheck();
  Profile();
  LayerScope(std::cref(name));
  Hook([](const std::string&, Tensor&) {});
  WeightAverage::Shown(std::ref(average));
}
void named(const std::string& name, WeightAverage& average) {
  const Recording recording;
  const NoRecording constants;
  const FiniteCheck check;
  const Profile profile;
  const LayerScope scope(name);
  const Hook hook([](const std::string&, Tensor&) {});
  const WeightAverage::Shown shown(average);
}
END
"$compiler" -std=c++20 -fsyntax-only -Wall -I "$include" "$scratch/guards.cpp" 2> "$scratch/warnings"
for line in {4..10}; do
  grep -qE "guards.cpp:$line:.*nodiscard" "$scratch/warnings" ||
    { echo "no warning for$(sed -n ${line}p "$scratch/guards.cpp")"; failed=1; }
done
if grep -E 'guards.cpp:(1[1-9]|2[0-9]):.*warning' "$scratch/warnings"; then
  echo "a warning for a guard with a name"
  failed=1
fi
exit $failed
