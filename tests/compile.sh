#!/usr/bin/env bash
# compile.sh COMPILER COMPONENTS: checks user code that must compile, and mistakes that the compiler must report. COMPONENTS has a
# directory of headers for each component.
set -euo pipefail
compiler=$1
include=("$2"/*/)
include=("${include[@]/#/-I}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# The header is compiled once: each -include of all.h finds all.h.gch.
echo '#include <heed/heed.h>' > "$scratch/all.h"
"$compiler" -std=c++20 "${include[@]}" -x c++-header "$scratch/all.h" -o "$scratch/all.h.gch"
all_errors=()
"$compiler" --version | grep -q clang && all_errors=(-ferror-limit=0)
check() { "$compiler" -std=c++20 "${all_errors[@]}" -include "$scratch/all.h" -fsyntax-only "${include[@]}" "$@"; }

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
check "$scratch/names.cpp" ||
  { echo "heed.h declares a name that a user may want"; failed=1; }

# Programs of pages.
source "$(dirname "$0")/readme/blocks.sh"
check_page() {  # PAGE COUNT
  local page=docs/how-to/$1.md
  programs cpp "int main" "$(dirname "$0")/../$page" |
    awk -v place="$scratch/$1" '/^----$/ { ++n; next } { print > (place n + 1 ".cpp") }'
  [ -f "$scratch/$1$2.cpp" ] || { echo "$page has no program"; failed=1; }
  for program in "$scratch/$1"*.cpp; do
    "$compiler" -std=c++20 -fsyntax-only "${include[@]}" "$program" || { echo "$page: a program does not compile"; failed=1; }
  done
}
check_page layers 3
check_page interventions 1

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
check -Wall "$scratch/guards.cpp" 2> "$scratch/warnings"
for line in {4..10}; do
  grep -qE "guards.cpp:$line:.*nodiscard" "$scratch/warnings" ||
    { echo "no warning for$(sed -n ${line}p "$scratch/guards.cpp")"; failed=1; }
done
if grep -E 'guards.cpp:(1[1-9]|2[0-9]):.*warning' "$scratch/warnings"; then
  echo "a warning for a guard with a name"
  failed=1
fi

# Mistakes that would compile to something else than they say. The compiler shows the line that has the remedy.
cat > "$scratch/mistakes.cpp" << 'END'
#include <heed/heed.h>
using namespace heed;
void mistakes(Parameters& parameters, Linear layer, const Gradients& g, const Tensor& loss, Tensor x, const Ids& ids) {
  for (auto [name, p] : parameters) p -= 0.1 * g[p];
  for (auto [name, p] : parameters) p = p - 0.1 * g[p];
  for (const auto& [name, p] : parameters) p *= 2;
  layer.weight = variable(x);
  x[0] += 1;
  const float* values = (x + x).data<float>();
  const Tensor* gradient = backward(loss).find(x);
  const std::int32_t* first = index_select(ids, ids).data();
  slice(x, 0, 0, 1) = x;
}
void discarded(const Tensor& x, const Tensor& loss) {
  variable(x);
  masked_fill(x, x > 0, 0);
  backward(loss);
}
void allowed(Parameters& parameters, Linear& layer, Gradients g, Tensor x, const Ids& ids) {
  for (const auto& [name, p] : parameters) p.copy_from(p - 0.1 * g[p]);
  for (auto [name, gradient] : g) gradient *= 2;
  for (auto& [name, gradient] : g) gradient = 2 * gradient;
  layer.weight.copy_from(x);
  layer = Linear(Scope(parameters, 1), 2, 3);
  for (const int id : index_select(ids, ids)) x += id;
  for (const std::int64_t size : (x + x).shape()) x += static_cast<double>(size);
}
END
check "$scratch/mistakes.cpp" 2> "$scratch/errors" && failed=1
for line in {4..12}; do
  grep -qE "mistakes.cpp:$line:.*error" "$scratch/errors" ||
    { echo "no error for$(sed -n ${line}p "$scratch/mistakes.cpp")"; failed=1; }
done
for remedy in 'copy_from(x - y)' 'write its values with copy_from' 'keep the tensor in a variable'; do
  grep -qF "$remedy" "$scratch/errors" || { echo "the errors do not show '$remedy'"; failed=1; }
done
for line in {15..17}; do
  grep -qE "mistakes.cpp:$line:.*nodiscard" "$scratch/errors" ||
    { echo "no warning for$(sed -n ${line}p "$scratch/mistakes.cpp")"; failed=1; }
done
if grep -E 'mistakes.cpp:(19|2[0-9]):.*(error|warning)' "$scratch/errors"; then
  echo "an error for what is right"
  failed=1
fi

# Calls that a user of PyTorch or Eigen guesses. The compiler shows the line that says what to write.
cat > "$scratch/guesses.cpp" << 'END'
#include <heed/heed.h>
using namespace heed;
void guesses(Parameters& parameters, Random& random, const Gradients& gradients, const Tensor& x, const Ids& ids) {
  x[ids];              // index_select(x, ids)
  x[x > 0];            // index_select(x, ids)
  x(0, 1);             // x.at({0, 1})
  x.sum();             // sum(x), sum(x, 1)
  x.backward();        // backward(loss)
  reshape(x, 2, 3);    // reshape(x, {2, 3})
  zeros(2, 3);         // zeros({2, 3})
  random_normal(2, 3);               // random_normal({2, 3}, random)
  random_uniform(2, 3, random);      // random_uniform({2, 3}, random)
  gradients["W"];                    // gradients[parameters["W"]]
  Optimizer with_rate(parameters, 0.1);  // step(gradients, 3e-4)
  index_select(x, 0, ids);               // index_select(x, ids, 0)
  gather(x, 1, ids);                     // gather(x, ids, 1)
  x.topk(2);                // topk(x, 2)
  x.sin();                  // sin(x)
  x.clamp(0, 1);            // clamp(x, 0, 1)
  x.gather(1, ids);         // gather(x, ids, 1)
  x.masked_fill(x > 0, 0);  // masked_fill(x, x > 0, 0)
  x.cumsum(0);              // cumsum(x, 0)
  x.expand(2, 3);           // broadcast_to(x, {2, 3})
  x.chunk(2, 1);            // split(x, {2, 2}, 1)
  x.contiguous();           // contiguous(x)
  x.logsumexp(1);           // logsumexp(x, 1)
  x.index_add(0, ids, x);   // index_add(x, ids, y, 0)
  x.dim();                  // rank()
  x.size();                 // all sizes are shape()
  isnan(x);                 // x != x
  log2(x);                  // log(x) / std::log(2)
  tan(x);                   // sin(x) / cos(x)
  x.copy_from(x - 0.1 * x.grad);             // gradients are a value
  const Tensor dx = x.grad;                  // gradients are a value
  Optimizer named(parameters, {.lr = 1e-3}); // step(gradients, 3e-4)
  const Ids labels(x);                       // to_ids(x)
  var(x, 1, 1);                              // correction: var(x, 1, false, 1)
  norm(x, 2, 1);                             // of order 2 along axis 1: norm(x, 1)
  sum(x, 0, 1);                              // sum(x, {0, 1})
  bmm(x, x);                                 // matmul(x, y)
  cat({x, x}, 1);                            // concat({x, y}, 1)
  eye(3);                                    // one_hot(arange_ids(n), n)
  linspace(0, 1, 5);                         // arange(n) * ((end - begin) / (n - 1)) + begin
  ones_like(x);                              // ones(x.shape(), x.dtype())
  randn({2, 3});                             // random_normal({2, 3}, random)
  randn(2, 3);                               // random_normal({2, 3}, random)
  zeros_like(x);                             // zeros(x.shape(), x.dtype())
}
void allowed(Parameters& parameters, Random& random, const Gradients& gradients, const Tensor& x, const Ids& ids) {
  const Tensor y = x[0] + x[-1] + x[ids[0]] + reshape(x, {2, 3}) + reshape(x, x.shape()) + random_normal({2, 3}, random);
  const int item = x.item<int>() + static_cast<int>(x.item() + y.at({0, 1}) + log2(4.0) + tan(x.item()));
  Optimizer without_options(parameters, {}), with_options(parameters, {.weight_decay = 0.1});
  without_options.step(gradients, gradients[parameters["W"]].item() + item);
}
END
check "$scratch/guesses.cpp" 2> "$scratch/errors" && failed=1
for line in {4..47}; do
  remedy=$(sed -n "$line s,.*// ,,p" "$scratch/guesses.cpp")
  awk -v line="guesses.cpp:$line:" '/error:/ { shown = index($0, line) } shown && /delete/' "$scratch/errors" | grep -qF "$remedy" ||
    { echo "no error with its remedy for$(sed -n ${line}p "$scratch/guesses.cpp")"; failed=1; }
done
if grep -E 'guesses.cpp:(49|5[0-9]):.*error' "$scratch/errors"; then
  echo "an error for what is right"
  failed=1
fi

# A backward that captures a tensor. The compiler shows the line that has the remedy.
cat > "$scratch/captures.cpp" << 'END'
#include <heed/heed.h>
using namespace heed;
static const Operation twice("twice", "y = 2 x", "dx = 2 dy", Samples::none("never called"));
Tensor saves(const Tensor& x) {
  return record(twice, {&x}, x.detach() * 2, Saved(x), [](const Tensor& dy, const Tensor&) { return std::vector{dy * 2}; });
}
Tensor captures(const Tensor& x) {
  return record(twice, {&x}, x.detach() * 2, Saved(), [x](const Tensor& dy) { return std::vector{dy * 2}; });
}
END
check "$scratch/captures.cpp" 2> "$scratch/errors" && failed=1
if ! grep -q "captures.cpp:8:.*error" "$scratch/errors" || grep -q "captures.cpp:5:" "$scratch/errors" ||
   ! grep -qF "captures a tensor; pass that in Saved(...)" "$scratch/errors"; then
  echo "a backward that captures a tensor compiles, or its error does not show the remedy"
  failed=1
fi
exit $failed
