#include "autograd/cpu/kernels.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <fmt/ranges.h>

#include <cmath>
#include <vector>

namespace heed {
namespace {

using Statistic = Tensor (*)(const Tensor&, const std::vector<int>&, bool);

std::vector<GradientSample> statistic_samples(Statistic f) {
  std::vector<GradientSample> samples;
  for (const bool keepdim : {false, true}) {
    for (const auto& [shape, axes] :
         {std::pair<Shape, std::vector<int>>{{}, {}}, {{4}, {}}, {{2, 3}, {0}}, {{2, 3, 2}, {0, -1}}, {{0, 3}, {1}}}) {
      samples.push_back({fmt::format("{} over ({}){}", to_string(shape), fmt::join(axes, ", "), keepdim ? " kept" : ""),
                         {{shape, Argument::Values::nonzero}},
                         [f, a = axes, keepdim](auto& x) { return f(x[0], a, keepdim); }});
    }
  }
  return samples;
}

// Returns the shape of a reduction that keeps its axes with size 1.
Shape kept_shape(const char* operation, const Tensor& x, const std::vector<int>& axes) {
  const std::vector<bool> is_reduced = cpu::chosen_axes(operation, x, axes);
  Shape kept = x.shape(), reduced;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!is_reduced[static_cast<std::size_t>(axis)]) continue;
    reduced.append(x.size(axis));
    kept[axis] = 1;
  }
  reduced.numel(operation);  // throws Error when the elements are too many to count
  cpu::check_memory(operation, kept, DType::float64);
  return kept;
}

}  // namespace

Tensor var(const Tensor& x, const std::vector<int>& axes, bool keepdim, double correction) {
  const Shape kept = kept_shape("var", x, axes);
  if (!(correction >= 0 && std::isfinite(correction))) {
    fail("var: correction must be finite and at least 0, got {}", correction);
  }
  const Tensor total = sum(square(x - mean(x, axes, true)), axes, keepdim);
  const std::int64_t n = x.numel() / std::max<std::int64_t>(1, kept.numel());
  return total / std::max(0.0, static_cast<double>(n) - correction);
}

// y = sqrt(sum x^2), in double, where no square of a float overflows        dx = dy x / y, 0 where y is 0
static const Operation norm_operation("norm", [] { return statistic_samples(norm); });
Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  const Shape kept_axes = kept_shape("norm", x, axes);
  const Tensor y = sqrt(sum(square(x.to(DType::float64)), axes, keepdim)).to(x.dtype());
  return record(norm_operation, {&x}, y, [x, y, kept = kept_axes](const Tensor& dy) {
    const Tensor share = cpu::map("norm", dy, y, [](auto g, auto v) { return v == 0 ? v : g / v; });
    return std::vector{x * reshape(share, kept)};
  });
}

// y = m + log sum e^(x - m), m = max x, or 0 if that is infinite          dx = dy e^(x - y), 0 where y is -infinity
static const Operation logsumexp_operation("logsumexp", [] { return statistic_samples(logsumexp); });
Tensor logsumexp(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  const auto finite = [](auto v) { return std::isinf(v) ? decltype(v){0} : v; };
  const Shape kept = kept_shape("logsumexp", x, axes);
  const Tensor fixed = x.detach();
  const bool is_empty = x.numel() == 0 && kept.numel() > 0;
  const Tensor m = is_empty ? zeros(kept, x.dtype()) : cpu::map("logsumexp", max(fixed, axes, true), finite);
  const Tensor y = m + log(sum(exp(fixed - m), axes, true));
  const Tensor shaped = keepdim ? y : reshape(y, sum(fixed, axes).shape());
  return record(logsumexp_operation, {&x}, shaped, [x, y, kept](const Tensor& dy) {
    const Tensor of_none = cpu::map("logsumexp", y, [](auto v) { return v < 0 && std::isinf(v) ? decltype(v){0} : v; });
    return std::vector{reshape(dy, kept) * exp(x - of_none)};
  });
}

}  // namespace heed
