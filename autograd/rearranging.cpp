#include "autograd/cpu/kernels.h"
#include "autograd/internal/adjoints.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace heed {

void cpu::add_selected(Tensor& sum, const Ids& indices, const Tensor& values, int axis) {
  const Tensor source = contiguous(values.detach());
  if (source.numel() == 0) return;
  const std::int64_t n = indices.numel(), size = sum.size(axis), inner = sum.strides()[axis],
                     outer = source.numel() / (n * inner);
  dispatch(sum.dtype(), [&]<class T>() {
    const T* const from = source.data<T>();
    T* const to = sum.mutable_data<T>();
    if (inner == 1) {
      return cpu::for_rows(outer, n, [=, index = indices.data()](std::int64_t o) {
        const T* const row = from + o * n;
        T* const target = to + o * size;
        for (std::int64_t i = 0; i < n; ++i) target[index[i]] += row[i];
      });
    }
    // Each task adds the rows of values, in order, to its columns of the sum, of which it is the only writer.
    const std::int64_t grain = std::max<std::int64_t>(cpu::row_grain(outer * inner, n), 64);
    cpu::parallel_for(outer * inner, grain, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t o = begin / inner, column = begin % inner;
        const std::int64_t width = std::min(inner - column, end - begin);
        for (std::int64_t i = 0; i < n; ++i) {
          const T* const row = from + (o * n + i) * inner + column;
          T* const target = to + (o * size + indices[i]) * inner + column;
          for (std::int64_t j = 0; j < width; ++j) target[j] += row[j];
        }
        begin += width;
      }
    });
  });
}

static const Operation index_add_operation("index_add", "y = x, y[:, indices[i]] += values[:, i], in the order of i",
                                           "dx = dy, dvalues[:, i] = dy[:, indices[i]]", [] {
                                             const auto add = [](int axis, const Ids& ids = Ids({4}, {2, 0, 2, 1})) {
                                               return [=](auto& x) { return index_add(x[0], ids, x[1], axis); };
                                             };
                                             return std::vector<GradientSample>{
                                                 {"rows", {{{3, 2}}, {{4, 2}}}, add(0)},
                                                 {"columns", {{{2, 3}}, {{2, 4}}}, add(-1)},
                                                 {"middle axis", {{{2, 3, 2}}, {{2, 4, 2}}}, add(1)},
                                                 {"no indices", {{{3, 2}}, {{0, 2}}}, add(0, Ids({0}, {}))}};
                                           });
Tensor index_add(const Tensor& x, const Ids& indices, const Tensor& values, int axis) {
  check_defined("index_add", {&x, &values});
  const int a = checked_axis("index_add", axis, x.rank());
  cpu::check_selection("index_add", x.shape(), indices, a);
  Shape selected = x.shape();
  selected[a] = indices.numel();
  if (values.shape() != selected || values.dtype() != x.dtype()) {
    fail("index_add: expected values {} {}, as index_select(x, indices, {}), got {} {}", to_string(x.dtype()),
         to_string(selected), axis, to_string(values.dtype()), to_string(values.shape()));
  }
  Tensor y = x.detach().clone();
  cpu::add_selected(y, indices, values, a);
  return record(index_add_operation, {&x, &values}, y, Saved(indices),
                Recordable([a](const Tensor& dy, const Ids& chosen) {
                  return std::vector{dy, index_select(dy, chosen, a)};
                }));
}

Ids nonzero(const Booleans& x) {
  const std::int64_t found = count(x), rank = x.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (found > 0 && x.size(axis) - 1 > std::numeric_limits<std::int32_t>::max()) {
      fail("nonzero: axis {} of {} has more than 2^31 positions", axis, to_string(x.shape()));
    }
  }
  const auto positions = cpu::unset_values<std::int32_t>("nonzero", {found, rank});
  std::array<std::int64_t, Shape::max_rank> at{};  // the position of the first element of a row
  std::int32_t* to = positions.get();
  const std::int64_t columns = rank ? x.size(-1) : 1, others = rank ? rank - 1 : 0;
  for (const std::uint8_t* row = x.begin(); row < x.end(); row += columns) {
    for (std::int64_t column = 0; column < columns; ++column) {
      if (!row[column]) continue;
      for (std::int64_t axis = 0; axis < others; ++axis)
        *to++ = static_cast<std::int32_t>(at[static_cast<std::size_t>(axis)]);
      if (rank > 0) *to++ = static_cast<std::int32_t>(column);
    }
    for (std::int64_t axis = others; axis-- > 0;) {
      const std::size_t a = static_cast<std::size_t>(axis);
      if (++at[a] < x.size(static_cast<int>(axis))) break;
      at[a] = 0;
    }
  }
  return Ids({found, rank}, positions);
}
Ids nonzero(const Tensor& x) {
  check_defined("nonzero", {&x});
  return nonzero(x != 0);
}
Ids nonzero(const Ids& x) { return nonzero(x != 0); }

static const Operation flip_operation("flip", "y[i] = x[n - 1 - i] along an axis", "dx[i] = dy[n - 1 - i]", [] {
  std::vector<GradientSample> samples;
  for (const auto& [shape, axis] : {std::pair<Shape, int>{{4}, 0}, {{2, 3, 2}, 1}, {{3, 2}, -1}, {{2, 0}, 1}}) {
    samples.push_back(
        {fmt::format("{} along {}", to_string(shape), axis), {{shape}}, [a = axis](auto& x) { return flip(x[0], a); }});
  }
  return samples;
});
Tensor flip(const Tensor& x, int axis) {
  const int a = cpu::axis_of("flip", x, axis);
  const std::int64_t n = x.size(a), inner = row_major_strides(x.shape())[a], rows = x.numel() ? x.numel() / inner : 0;
  const auto copy_back = [=](const auto* from, auto* to) {
    if (inner == 1) {
      const std::int64_t outer = rows ? rows / n : 0;
      return cpu::for_rows(outer, n,
                           [=](std::int64_t r) { std::reverse_copy(from + r * n, from + (r + 1) * n, to + r * n); });
    }
    cpu::for_rows(rows, inner, [=](std::int64_t r) {
      std::copy_n(from + (r - r % n + n - 1 - r % n) * inner, inner, to + r * inner);
    });
  };
  return record(flip_operation, {&x}, cpu::computed(x, x.shape(), copy_back, "flip"), Saved(),
                Recordable([a](const Tensor& dy) { return std::vector{flip(dy, a)}; }));
}

Tensor flip(const Tensor& x, const std::vector<int>& axes) {
  check_defined("flip", {&x});
  std::vector<int> flipped;
  Tensor y = x;
  for (const int axis : axes) {
    const int a = checked_axis("flip", axis, x.rank());
    if (std::ranges::count(flipped, a)) fail("flip: axis {} of {} is given twice", axis, to_string(x.shape()));
    flipped.push_back(a);
    y = flip(y, a);
  }
  return y;
}

static const Operation roll_operation(
    "roll", "y[i] = x[(i - shift) mod n] along an axis", "dx = dy, rolled by -shift", [] {
      std::vector<GradientSample> samples;
      for (const auto& [shape, by] : {std::pair<Shape, std::int64_t>{{4}, 1}, {{2, 3}, -1}, {{3, 2}, 5}, {{2, 0}, 1}}) {
        samples.push_back({fmt::format("{} by {}", to_string(shape), by), {{shape}}, [n = by](auto& x) {
                             return roll(x[0], n, -1);
                           }});
      }
      return samples;
    });
Tensor roll(const Tensor& x, std::int64_t shift, int axis) {
  const int a = cpu::axis_of("roll", x, axis);
  const std::int64_t n = x.size(a), by = n ? (shift % n + n) % n : 0;
  const Tensor from = x.detach();
  return record(roll_operation, {&x}, concat({slice(from, a, n - by), slice(from, a, 0, n - by)}, a), Saved(),
                Recordable([a, by](const Tensor& dy) { return std::vector{roll(dy, -by, a)}; }));
}

}  // namespace heed
