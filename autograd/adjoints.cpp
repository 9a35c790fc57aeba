#include "autograd/internal/adjoints.h"

#include "autograd/cpu/kernels.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>

namespace heed {

static const Operation place_operation("place", "y = 0, y[begin : end : step] = x", "dx = dy[begin : end : step]", [] {
  const auto at = [](const Shape& shape, int axis, std::int64_t step) {
    return [=](auto& x) { return cpu::place(x[0], shape, axis, 1, step); };
  };
  return std::vector<GradientSample>{{"rows", {{{2, 3}}}, at({5, 3}, 0, 1)},
                                     {"every second column", {{{2, 2}}}, at({2, 5}, 1, 2)},
                                     {"nothing", {{{0, 2}}}, at({3, 2}, 0, 1)}};
});
Tensor cpu::place(const Tensor& x, const Shape& shape, int axis, std::int64_t first, std::int64_t step) {
  const Tensor y = zeros(shape, x.dtype());
  const std::int64_t count = x.size(axis), end = count == 0 ? first : first + (count - 1) * step + 1;
  if (x.numel() > 0) slice(y, axis, first, end, step).copy_from(x.detach());
  return record(place_operation, {&x}, y, Saved(), Recordable([axis, first, end, step](const Tensor& dy) {
                  return std::vector{slice(dy, axis, first, end, step)};
                }));
}

static std::vector<std::int64_t> sample_positions() { return {4, 0, 3, 4}; }

static const Operation pick_operation("pick", "y[i] = x[positions[i]]", "dx[positions[i]] += dy[i]", [] {
  const auto pick = [](auto& x) { return cpu::pick(x[0], sample_positions(), {2, 2}); };
  return std::vector<GradientSample>{{"(2, 3)", {{{2, 3}}}, pick}};
});
Tensor cpu::pick(const Tensor& x, const std::vector<std::int64_t>& positions, const Shape& shape) {
  const auto copy = [&](const auto* from, auto* to) {
    std::ranges::transform(positions, to, [from](std::int64_t i) { return from[i]; });
  };
  const Tensor y = cpu::computed(x, shape, copy, "pick");
  return record(pick_operation, {&x}, y, Saved(positions),
                Recordable([from = x.shape()](const Tensor& dy, const std::vector<std::int64_t>& chosen) {
                  return std::vector{spread(dy, chosen, from)};
                }));
}

static const Operation spread_operation("spread", "y = 0, y[positions[i]] += x[i]", "dx[i] = dy[positions[i]]", [] {
  const auto spread = [](auto& x) { return cpu::spread(x[0], sample_positions(), {2, 3}); };
  return std::vector<GradientSample>{{"(2, 2)", {{{2, 2}}}, spread}};
});
Tensor cpu::spread(const Tensor& x, const std::vector<std::int64_t>& positions, const Shape& shape) {
  const Tensor dense = contiguous(x.detach());
  Tensor y = zeros(shape, x.dtype());
  dispatch(x.dtype(), [&]<class T>() {
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    for (std::size_t i = 0; i < positions.size(); ++i) to[positions[i]] += from[i];
  });
  return record(spread_operation, {&x}, y, Saved(positions),
                Recordable([from = x.shape()](const Tensor& dy, const std::vector<std::int64_t>& chosen) {
                  return std::vector{pick(dy, chosen, from)};
                }));
}

}  // namespace heed
