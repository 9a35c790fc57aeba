#include "autograd/cpu/kernels.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <cmath>

// Functions of steps. A backward of zeros lets a loss depend on them, as PyTorch's do. A recorded backward computes with dy, so
// masked_fill() makes its zeros.
namespace heed {
namespace {

Tensor stepped(const Operation& operation, const Tensor& x, auto f) {
  return record(
      operation, {&x}, cpu::map(operation.name(), x, f), Saved(),
      [](const Tensor& dy) { return std::vector{zeros(dy.shape(), dy.dtype())}; },
      Recordable([](const Tensor& dy) { return std::vector{masked_fill(dy, Booleans({}, {1}), 0)}; }));
}

// The samples multiply by 0.2, to keep all differences between two steps.
std::vector<GradientSample> step_samples(Tensor (*f)(const Tensor&)) {
  std::vector<GradientSample> samples = unary_samples(f, Argument::Values::nonzero);
  for (GradientSample& sample : samples) sample.gradient_is_zero = true;
  return samples;
}

}  // namespace

static const Operation round_operation("round", "y = the nearest integer, of halves the even one", "dx = 0",
                                       [] { return step_samples([](const Tensor& x) { return round(x * 0.2); }); });
Tensor round(const Tensor& x) {
  return stepped(round_operation, x, [](auto v) { return std::nearbyint(v); });
}

static const Operation floor_operation("floor", "y = the greatest integer up to x", "dx = 0",
                                       [] { return step_samples([](const Tensor& x) { return floor(x * 0.2); }); });
Tensor floor(const Tensor& x) {
  return stepped(floor_operation, x, [](auto v) { return std::floor(v); });
}

static const Operation ceil_operation("ceil", "y = the least integer from x on", "dx = 0",
                                      [] { return step_samples([](const Tensor& x) { return ceil(x * 0.2); }); });
Tensor ceil(const Tensor& x) {
  return stepped(ceil_operation, x, [](auto v) { return std::ceil(v); });
}

static const Operation sign_operation("sign", "y = 1 where x > 0, -1 where x < 0, else 0", "dx = 0",
                                      [] { return step_samples(sign); });
Tensor sign(const Tensor& x) {
  return stepped(sign_operation, x, [](auto v) { return static_cast<decltype(v)>((v > 0) - (v < 0)); });
}

}  // namespace heed
