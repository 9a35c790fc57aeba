#include "autograd/internal/adjoints.h"

#include "autograd/cpu/kernels.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>

namespace heed {

Tensor cpu::add_to_slice(Tensor y, const Tensor& x, int axis, std::int64_t first, std::int64_t step) {
  if (x.numel() == 0) return y;
  const Tensor source = contiguous(x.detach());
  const std::int64_t inner = y.strides()[axis], size = y.size(axis), outer = y.numel() / (size * inner),
                     count = x.numel() / (outer * inner);
  const std::int64_t runs = step == 1 || inner == 1 ? 1 : count,
                     n = count / runs * inner;  // per outer index; of n elements
  dispatch(x.dtype(), [&]<class T>() {
    const T* const from = source.data<T>();
    T* const to = y.mutable_data<T>() + first * inner;
    const auto add = [=](auto apart) {
      constexpr std::int64_t few = 8;
      if (runs == 1 && n < few) {  // such as x[..., 0]: the elements of all rows, one by one
        return cpu::parallel_for(outer, cpu::row_grain(outer, n), [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t o = begin; o < end; ++o) to[o * size * inner + i * apart] += from[o * n + i];
          }
        });
      }
      cpu::for_rows(outer * runs, n, [=](std::int64_t run) {
        T* const sum = to + (run / runs * size + run % runs * step) * inner;
        for (std::int64_t i = 0; i < n; ++i) sum[i * apart] += from[run * n + i];
      });
    };
    inner == 1 && step != 1 ? add(step) : add(std::integral_constant<std::int64_t, 1>());
  });
  return y;
}

// Returns the memory of a total that no other handle sees, so that the caller adds to it in place.
static Tensor total_or_zeros(const Tensor& total, const Shape& shape, DType dtype) {
  return total.defined() ? total.detach() : zeros(shape, dtype);
}

static const Operation place_operation(
    "place", "y = total, y[begin : end : step] += x", "dx = dy[begin : end : step], dtotal = dy", [] {
      const auto at = [](const Shape& shape, int axis, std::int64_t step) {
        return [=](auto& x) { return cpu::place(x[0], x.size() > 1 ? x[1].clone() : Tensor(), shape, axis, 1, step); };
      };
      return std::vector<GradientSample>{{"rows", {{{2, 3}}}, at({5, 3}, 0, 1)},
                                         {"every second column", {{{2, 2}}}, at({2, 5}, 1, 2)},
                                         {"nothing", {{{0, 2}}}, at({3, 2}, 0, 1)},
                                         {"rows of a total", {{{2, 3}}, {{5, 3}}}, at({5, 3}, 0, 1)}};
    });
Tensor cpu::place(const Tensor& x, const Tensor& total, const Shape& shape, int axis, std::int64_t first,
                  std::int64_t step) {
  const std::int64_t count = x.size(axis), end = count == 0 ? first : first + (count - 1) * step + 1;
  const Tensor y = add_to_slice(total_or_zeros(total, shape, x.dtype()), x, axis, first, step);
  return record(place_operation, {&x, &total}, y, Saved(), Recordable([axis, first, end, step](const Tensor& dy) {
                  return std::vector{slice(dy, axis, first, end, step), dy};
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
                Recordable([from = x.shape()](const Tensor& dy, const NeedsInputGrad& needs,
                                              const std::vector<std::int64_t>& chosen) {
                  return std::vector{spread(dy, needs.take_total(), chosen, from)};
                }));
}

static const Operation spread_operation(
    "spread", "y = total, y[positions[i]] += x[i]", "dx[i] = dy[positions[i]], dtotal = dy", [] {
      const auto spread = [](auto& x) {
        return cpu::spread(x[0], x.size() > 1 ? x[1].clone() : Tensor(), sample_positions(), {2, 3});
      };
      return std::vector<GradientSample>{{"(2, 2)", {{{2, 2}}}, spread},
                                         {"(2, 2) onto (2, 3)", {{{2, 2}}, {{2, 3}}}, spread}};
    });
Tensor cpu::spread(const Tensor& x, const Tensor& total, const std::vector<std::int64_t>& positions,
                   const Shape& shape) {
  const Tensor dense = contiguous(x.detach());
  Tensor y = total_or_zeros(total, shape, x.dtype());
  dispatch(x.dtype(), [&]<class T>() {
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    for (std::size_t i = 0; i < positions.size(); ++i) to[positions[i]] += from[i];
  });
  return record(spread_operation, {&x, &total}, y, Saved(positions),
                Recordable([from = x.shape()](const Tensor& dy, const std::vector<std::int64_t>& chosen) {
                  return std::vector{pick(dy, chosen, from), dy};
                }));
}

}  // namespace heed
