#include "autograd/cpu/kernels.h"
#include "autograd/internal/adjoints.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

namespace heed {
namespace {

// Throws `Error` unless all indices lie in [0, n).
void check_range(const char* operation, const Ids& indices, std::int64_t n) {
  const auto is_outside = [end = static_cast<std::uint64_t>(n)](std::int32_t i) {
    return static_cast<std::uint32_t>(i) >= end;  // a negative index is a large number
  };
  bool any = false;
  for (const std::int32_t i : indices) any |= is_outside(i);
  if (!any) return;
  const std::int32_t* const first = std::find_if(indices.begin(), indices.end(), is_outside);
  fail("{}: index {} at position {} lies outside [0, {})", operation, *first, first - indices.begin(), n);
}

void check_indices(const char* operation, const Shape& x, const Ids& indices, int axis) {
  bool fits = indices.shape().rank() == x.rank();
  for (int a = 0; fits && a < x.rank(); ++a) fits = a == axis || indices.shape()[a] <= x[a];
  if (!fits) {
    fail("{}: indices {} must have the rank of {} and may be longer only along axis {}{}", operation,
         to_string(indices.shape()), to_string(x), axis,
         indices.rank() == x.rank() - 1 ? fmt::format(". Did you mean unsqueeze(indices, {})?", axis) : "");
  }
  check_range(operation, indices, x[axis]);
}

// Checks the arguments of a scatter, and returns the axis from 0 on.
int checked_scatter(const char* operation, const Tensor& x, const Ids& indices, const Tensor& values, int axis) {
  check_defined(operation, {&x, &values});
  const int a = checked_axis(operation, axis, x.rank());
  if (indices.rank() == 1 && x.rank() > 1 && values.rank() == x.rank() && values.size(a) == indices.numel()) {
    fail("{}: expected indices {} like the values, one for each of them, got {}; index_add() adds a row for each index",
         operation, to_string(values.shape()), to_string(indices.shape()));
  }
  check_indices(operation, x.shape(), indices, a);
  if (values.shape() == indices.shape() && values.dtype() == x.dtype()) return a;
  fail("{}: expected values {} {}, as x and the indices, got {} {}", operation, to_string(x.dtype()),
       to_string(indices.shape()), to_string(values.dtype()), to_string(values.shape()));
}

// Calls f(e, offset) for each element e of the indices, in order or backwards, with the offset of the chosen element of x (which
// has `strides`).
template <bool backwards = false, class F>
void for_chosen(const Ids& indices, const Shape& strides, int axis, F f) {
  if (indices.numel() == 0) return;
  Shape others = strides;
  others[axis] = 0;
  const cpu::Walk<1> walk(indices.shape(), {&others});
  const std::int64_t n = walk.size[0], step = walk.stride[0][0], along = strides[axis];
  const std::int64_t rows = indices.numel() / n;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = backwards ? rows - 1 - r : r, offset = walk.offsets(row)[0];
    const std::int32_t* const index = indices.data() + row * n;
    const auto visit = [&](auto step_of_row, auto step_of_index) {
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t i = backwards ? n - 1 - k : k;
        f(row * n + i, offset + i * step_of_row + index[i] * step_of_index);
      }
    };
    const std::integral_constant<std::int64_t, 0> none;
    const std::integral_constant<std::int64_t, 1> one;
    step == 0 && along == 1 ? visit(none, one) : visit(step, along);  // along dense rows
  }
}

// Calls change(element, value) for each chosen element of y and its value, in order.
void change_chosen(Tensor& y, const Ids& indices, const Tensor& values, int axis, auto change) {
  const Tensor dense = contiguous(values.detach());
  dispatch(y.dtype(), [&]<class T>() {
    const T* from = dense.data<T>();
    T* to = y.mutable_data<T>();
    for_chosen(indices, y.strides(), axis, [=](std::int64_t e, std::int64_t offset) { change(to[offset], from[e]); });
  });
}

constexpr auto add_value = [](auto& element, auto value) { element += value; };
constexpr auto set_value = [](auto& element, auto value) { element = value; };

Ids sample_indices() { return Ids({2, 3}, {0, 1, 1, 1, 0, 1}); }

}  // namespace

static const Operation gather_operation(
    "gather", "y[i, j] = x[i, indices[i, j]]", "dx[i, indices[i, j]] += dy[i, j]", [] {
      const auto at = [](const Ids& ids, int axis) { return [=](auto& x) { return gather(x[0], ids, axis); }; };
      return std::vector<GradientSample>{{"columns", {{{2, 2}}}, at(sample_indices(), 1)},
                                         {"rows", {{{2, 3}}}, at(sample_indices(), 0)},
                                         {"middle axis", {{{2, 2, 2}}}, at(Ids({1, 3, 2}, {0, 1, 1, 1, 0, 0}), 1)}};
    });
Tensor gather(const Tensor& x, const Ids& indices, int axis) {
  const int a = cpu::axis_of("gather", x, axis);
  check_indices("gather", x.shape(), indices, a);
  Tensor y(indices.shape(), x.dtype(), "gather");
  dispatch(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* to = y.mutable_data<T>();
    for_chosen(indices, x.strides(), a, [=](std::int64_t e, std::int64_t offset) { to[e] = from[offset]; });
  });
  return record(
      gather_operation, {&x}, y, Saved(indices),
      [a, from = x.shape()](const Tensor& dy, const NeedsInputGrad& needs, const Ids& chosen) {
        Tensor dx = needs.take_total_or_zeros(from, dy.dtype());
        change_chosen(dx, chosen, dy, a, add_value);
        return std::vector{dx};
      },
      Recordable([a, from = x.shape()](const Tensor& dy, const Ids& chosen) {
        return std::vector{scatter_add(zeros(from, dy.dtype()), chosen, dy, a)};
      }));
}

static const Operation scatter_add_operation(
    "scatter_add", "y = x, y[i, indices[i, j]] += values[i, j]", "dx = dy, dvalues[i, j] = dy[i, indices[i, j]]", [] {
      return std::vector<GradientSample>{
          {"columns", {{{2, 2}}, {{2, 3}}}, [](auto& x) { return scatter_add(x[0], sample_indices(), x[1], 1); }},
          {"rows", {{{4, 3}}, {{2, 3}}}, [](auto& x) { return scatter_add(x[0], sample_indices(), x[1], 0); }}};
    });
Tensor scatter_add(const Tensor& x, const Ids& indices, const Tensor& values, int axis) {
  const int a = checked_scatter("scatter_add", x, indices, values, axis);
  Tensor y = x.detach().clone();
  change_chosen(y, indices, values, a, add_value);
  return record(scatter_add_operation, {&x, &values}, y, Saved(indices),
                Recordable([a](const Tensor& dy, const Ids& chosen) {
                  return std::vector{dy, gather(dy, chosen, a)};
                }));
}

// Says for each element whether scatter() replaces it, and for each value whether a later one takes its place.
struct Replaced {
  Booleans elements, values;
  Replaced(const Shape& shape, const Ids& indices, int axis) {
    std::vector<std::uint8_t> is_replaced(static_cast<std::size_t>(shape.numel()));
    std::vector<std::uint8_t> is_passed(static_cast<std::size_t>(indices.numel()));
    for_chosen<true>(indices, row_major_strides(shape), axis, [&](std::int64_t e, std::int64_t offset) {
      is_passed[static_cast<std::size_t>(e)] = std::exchange(is_replaced[static_cast<std::size_t>(offset)], 1);
    });
    elements = Booleans(shape, std::move(is_replaced));
    values = Booleans(indices.shape(), std::move(is_passed));
  }
};

static const Operation scatter_operation(
    "scatter", "y = x, y[i, indices[i, j]] = values[i, j], in the order of j",
    "dx = dy, 0 where y is a value; dvalues[i, j] = dy[i, indices[i, j]], 0 where a later value replaced it", [] {
      return std::vector<GradientSample>{
          {"columns", {{{2, 2}}, {{2, 3}}}, [](auto& x) { return scatter(x[0], sample_indices(), x[1], 1); }},
          {"rows", {{{4, 3}}, {{2, 3}}}, [](auto& x) { return scatter(x[0], sample_indices(), x[1], 0); }}};
    });
Tensor scatter(const Tensor& x, const Ids& indices, const Tensor& values, int axis) {
  const int a = checked_scatter("scatter", x, indices, values, axis);
  Tensor y = x.detach().clone();
  change_chosen(y, indices, values, a, set_value);
  return record(scatter_operation, {&x, &values}, y, Saved(indices),
                Recordable([a](const Tensor& dy, const Ids& chosen) {
                  const Replaced replaced(dy.shape(), chosen, a);
                  return std::vector{masked_fill(dy, replaced.elements, 0),
                                     masked_fill(gather(dy, chosen, a), replaced.values, 0)};
                }));
}

static const Operation scatter_max_operation(
    "scatter_max", "y = x, y[i, indices[i, j]] = max(itself, values[i, j]), in the order of j",
    "dx = dy, 0 where y is a value; dvalues[i, j] = dy[i, indices[i, j]], 0 where y is not this value", [] {
      constexpr Argument::Values distinct = Argument::Values::distinct;
      const auto along = [](int axis) {  // between the numbers of x
        return [axis](auto& x) { return scatter_max(x[0], sample_indices(), x[1] + 0.05, axis); };
      };
      return std::vector<GradientSample>{{"columns", {{{2, 2}, distinct}, {{2, 3}, distinct}}, along(1)},
                                         {"rows", {{{4, 3}, distinct}, {{2, 3}, distinct}}, along(0)}};
    });
Tensor scatter_max(const Tensor& x, const Ids& indices, const Tensor& values, int axis) {
  const int a = checked_scatter("scatter_max", x, indices, values, axis);
  if (values.numel() == 0) return x;
  if (values.numel() > std::numeric_limits<std::int32_t>::max()) {
    fail("scatter_max: values {} have more elements than indices of 32 bits count", to_string(values.shape()));
  }
  Tensor greatest = x.detach().clone();
  const Tensor dense = contiguous(values.detach());
  const auto source =
      cpu::unset_values<std::int32_t>("scatter_max", x.shape());  // the value that y is, row-major; -1: x
  std::fill_n(source.get(), x.numel(), -1);
  dispatch(x.dtype(), [&]<class T>() {
    const T* const from = dense.data<T>();
    T* const to = greatest.mutable_data<T>();
    for_chosen(indices, greatest.strides(), a, [&](std::int64_t e, std::int64_t offset) {
      const T before = to[offset], value = from[e];
      if (value <= before || std::isnan(before)) return;
      to[offset] = value;
      source[offset] = static_cast<std::int32_t>(e);
    });
  });
  return record(scatter_max_operation, {&x, &values}, greatest, Saved(Ids({x.numel()}, source)),
                Recordable([from = values.shape()](const Tensor& dy, const Ids& sources) {
                  const Booleans is_value = sources >= 0;
                  const Tensor flat = reshape(dy, {-1}), of_values = zeros({from.numel()}, dy.dtype());
                  return std::vector{
                      reshape(where(is_value, 0, flat), dy.shape()),
                      reshape(index_add(of_values, where(is_value, sources, 0), where(is_value, flat, 0)), from)};
                }));
}

Ids gather(const Ids& x, const Ids& indices, int axis) {
  const int a = checked_axis("gather", axis, x.rank());
  check_indices("gather", x.shape(), indices, a);
  const auto values = cpu::unset_values<std::int32_t>("gather", indices.shape());
  for_chosen(indices, row_major_strides(x.shape()), a,
             [&](std::int64_t e, std::int64_t offset) { values[e] = x.data()[offset]; });
  return Ids(indices.shape(), values);
}

void cpu::check_selection(const char* operation, const Shape& shape, const Ids& indices, int axis) {
  if (indices.rank() != 1) fail("{}: expected indices (n), got {}", operation, to_string(indices.shape()));
  check_range(operation, indices, shape[axis]);
}

static const Operation index_select_operation(
    "index_select", "y[:, i] = x[:, indices[i]]", "dx[:, indices[i]] += dy[:, i], in the order of i", [] {
      const auto choose = [](int axis) {
        return [axis](auto& x) { return index_select(x[0], Ids({4}, {2, 0, 2, 1}), axis); };
      };
      return std::vector<GradientSample>{
          {"rows", {{{3, 2}}}, choose(0)},
          {"columns", {{{2, 3}}}, choose(-1)},
          {"middle axis", {{{2, 3, 2}}}, choose(1)},
          {"no indices", {{{3, 2}}}, [](auto& x) { return index_select(x[0], Ids({0}, {})); }}};
    });
Tensor index_select(const Tensor& x, const Ids& indices, int axis) {
  const int a = cpu::axis_of("index_select", x, axis);
  cpu::check_selection("index_select", x.shape(), indices, a);
  Shape shape = x.shape();
  const std::int64_t n = shape[a] = indices.numel();
  const std::int64_t all = shape.numel("index_select"), size = x.size(a), inner = all ? row_major_strides(shape)[a] : 0,
                     rows = all ? all / inner : 0;
  const auto copy_rows = [=, index = indices.data()]<class T>(const T* from, T* to) {
    cpu::parallel_for(rows, cpu::row_grain(rows, inner), [=](std::int64_t begin, std::int64_t end) {
      while (begin < end) {  // for each part of x, the rows of y that it fills
        const std::int64_t first = begin % n, count = std::min(n - first, end - begin);
        const T* const part = from + begin / n * size * inner;
        const std::int32_t* const chosen = index + first;
        T* const rows_of_part = to + begin * inner;
        for (std::int64_t i = 0; i < count && inner == 1; ++i) rows_of_part[i] = part[chosen[i]];
        for (std::int64_t i = 0; i < count && inner > 1; ++i) {
          std::copy_n(part + chosen[i] * inner, inner, rows_of_part + i * inner);
        }
        begin += count;
      }
    });
  };
  const Tensor y = cpu::computed(x, shape, copy_rows, "index_select");
  return record(
      index_select_operation, {&x}, y, Saved(indices),
      [a, from = x.shape()](const Tensor& dy, const NeedsInputGrad& needs, const Ids& selected) {
        Tensor dx = needs.take_total_or_zeros(from, dy.dtype());
        cpu::add_selected(dx, selected, dy, a);
        return std::vector{dx};
      },
      Recordable([a, from = x.shape()](const Tensor& dy, const Ids& selected) {
        return std::vector{index_add(zeros(from, dy.dtype()), selected, dy, a)};
      }));
}

Tensor one_hot(const Ids& ids, std::int64_t classes, DType dtype) {
  Shape shape = ids.shape();
  cpu::check_rank("one_hot", shape.rank() + 1);
  shape.append(classes);
  cpu::check_memory("one_hot", shape, dtype);
  Tensor y = zeros(shape, dtype);
  dispatch(dtype, [&]<class T>() {
    T* to = y.mutable_data<T>();
    const std::int32_t* const id = ids.data();
    for (std::int64_t i = 0; i < ids.numel(); ++i) {
      if (id[i] < 0 || id[i] >= classes) fail("one_hot: id {} at position {} lies outside [0, {})", id[i], i, classes);
      to[i * classes + id[i]] = T{1};
    }
  });
  return y;
}

Ids to_ids(const Tensor& x) {
  check_defined("to_ids", {&x});
  const auto values = cpu::unset_values<std::int32_t>("to_ids", x.shape());
  const Tensor dense = contiguous(x.detach());
  dispatch(x.dtype(), [&]<class T>() {
    const auto is_id = [](T number) {
      constexpr T end = T{0x1p31};
      return number >= -end && number < end && number == std::trunc(number);
    };
    const T *const begin = dense.data<T>(), *const end = begin + dense.numel();
    bool all_are = true;
    for (const T* number = begin; number < end; ++number) all_are &= is_id(*number);
    if (!all_are)
      fail("to_ids: expected integers of 32 bits, got {}", static_cast<double>(*std::find_if_not(begin, end, is_id)));
    std::transform(begin, end, values.get(), [](T number) { return static_cast<std::int32_t>(number); });
  });
  return Ids(x.shape(), values);
}

Ids to_ids(const Booleans& x) {
  const auto values = cpu::unset_values<std::int32_t>("to_ids", x.shape());
  std::transform(x.begin(), x.end(), values.get(), [](std::uint8_t value) { return value != 0; });
  return Ids(x.shape(), values);
}

Tensor arange(double begin, double end, double step, DType dtype) {
  const double count = std::ceil((end - begin) / step);
  if (!(std::isfinite(count) && count < 0x1p62))
    fail("arange: cannot count from {} to {} in steps of {}", begin, end, step);
  Tensor y({static_cast<std::int64_t>(std::max(count, 0.0))}, dtype, "arange");
  dispatch(dtype, [&]<class T>() {
    T* const to = y.mutable_data<T>();
    for (std::int64_t i = 0, n = y.numel(); i < n; ++i) to[i] = static_cast<T>(begin + static_cast<double>(i) * step);
  });
  return y;
}

Tensor arange(double end, DType dtype) { return arange(0, end, 1, dtype); }

Ids arange_ids(std::int32_t end) { return arange_ids(0, end); }

Ids full_ids(const Shape& shape, std::int32_t value) {
  const auto values = cpu::unset_values<std::int32_t>("full_ids", shape);
  std::fill_n(values.get(), shape.numel(), value);
  return {shape, values};
}

Ids arange_ids(std::int32_t begin, std::int32_t end) {
  const std::int64_t count = std::max<std::int64_t>(std::int64_t{end} - begin, 0);
  if (count > std::numeric_limits<std::int32_t>::max()) {
    fail("arange_ids: from {} to {} are {} numbers; expected at most 2^31 - 1", begin, end, count);
  }
  const auto values = cpu::unset_values<std::int32_t>("arange_ids", {count});
  std::iota(values.get(), values.get() + count, begin);
  return Ids({count}, values);
}

}  // namespace heed
