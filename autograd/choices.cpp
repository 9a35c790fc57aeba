#include "autograd/cpu/kernels.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <cmath>

namespace heed {
namespace {

// Samples with elements at least 0.05 apart, so that no difference crosses a = b; and one sample without the offset.
std::vector<GradientSample> choice_samples(Tensor (*f)(const Tensor&, const Tensor&)) {
  std::vector<GradientSample> samples = broadcast_samples([f](auto& a, auto& b) { return f(a, b + 0.05); },
                                                          Argument::Values::distinct, Argument::Values::distinct);
  samples.push_back(
      {"as they are", {{{2}, Argument::Values::distinct}, {{2}, Argument::Values::positive}}, [f](auto& x) {
         return concat({f(x[0], x[1]), f(x[1], x[0])}, 0);
       }});
  return samples;
}

// y = a if wins(a, b), b if wins(b, a), NaN if one is NaN      da, db = dy, 0, or dy / 2 each if a and b are equal
Tensor choice(const Operation& operation, const Tensor& a, const Tensor& b, auto wins) {
  const Tensor y =
      cpu::map(operation.name(), a, b, [wins](auto u, auto v) { return wins(u, v) || std::isnan(u) ? u : v; });
  return record(operation, {&a, &b}, y, Saved(a, b),
                Recordable([wins](const Tensor& dy, const Tensor& A, const Tensor& B) {
                  const Tensor share = cpu::map("backward", A, B, [wins](auto u, auto v) {
                    using T = decltype(u);
                    return wins(u, v) ? T{1} : wins(v, u) ? T{0} : T{0.5};
                  });
                  return std::vector{dy * share, dy * (1 - share)};
                }));
}

}  // namespace

static const Operation maximum_operation("maximum", "y = max(a, b), NaN if one is NaN",
                                         "da = dy where a > b, dy / 2 where a = b, else 0; db = dy - da",
                                         [] { return choice_samples(maximum); }, {.broadcasts = true});
Tensor maximum(const Tensor& a, const Tensor& b) {
  return choice(maximum_operation, a, b, [](auto u, auto v) { return u > v; });
}

static const Operation minimum_operation("minimum", "y = min(a, b), NaN if one is NaN",
                                         "da = dy where a < b, dy / 2 where a = b, else 0; db = dy - da",
                                         [] { return choice_samples(minimum); }, {.broadcasts = true});
Tensor minimum(const Tensor& a, const Tensor& b) {
  return choice(minimum_operation, a, b, [](auto u, auto v) { return u < v; });
}

Tensor maximum(const Tensor& a, double b) { return maximum(a, full({}, b, a.dtype())); }
Tensor minimum(const Tensor& a, double b) { return minimum(a, full({}, b, a.dtype())); }

}  // namespace heed
