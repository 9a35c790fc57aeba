#include "autograd/cpu/kernels.h"
#include "autograd/cpu/lanes.h"
#include "autograd/internal/adjoints.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>

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
    fail("{}: indices {} must have the rank of {} and may be longer only along axis {}", operation,
         to_string(indices.shape()), to_string(x), axis);
  }
  check_range(operation, indices, x[axis]);
}

void check_values(const char* operation, const Tensor& x, const Ids& indices, const Tensor& values) {
  if (values.shape() == indices.shape() && values.dtype() == x.dtype()) return;
  fail("{}: expected values {} {}, as x and the indices, got {} {}", operation, to_string(x.dtype()),
       to_string(indices.shape()), to_string(values.dtype()), to_string(values.shape()));
}

// Calls f(e, offset) for each element e of the indices, with the offset of the chosen element of x (which has
// `strides`).
template <class F>
void for_chosen(const Ids& indices, const Shape& strides, int axis, F f) {
  if (indices.numel() == 0) return;
  Shape others = strides;
  others[axis] = 0;
  const cpu::Walk<1> walk(indices.shape(), {&others});
  const std::int64_t n = walk.size[0], step = walk.stride[0][0], along = strides[axis];
  walk.rows(0, indices.numel() / n, [&](std::int64_t first, const std::array<std::int64_t, 1>& offset) {
    const std::int32_t* const index = indices.data() + first;
    for (std::int64_t i = 0; i < n; ++i) f(first + i, offset[0] + i * step + index[i] * along);
  });
}

// y[i, j] = x[i, indices[i, j]]
void gather_into(Tensor& y, const Tensor& x, const Ids& indices, int axis) {
  dispatch(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* to = y.mutable_data<T>();
    for_chosen(indices, x.strides(), axis, [=](std::int64_t e, std::int64_t offset) { to[e] = from[offset]; });
  });
}

// Returns a new tensor whose element i, in row-major order, is f(i).
template <class F>
Tensor computed(const char* operation, const Shape& shape, DType dtype, F f) {
  Tensor y(shape, dtype, operation);
  dispatch(dtype, [&]<class T>() {
    T* to = y.mutable_data<T>();
    for (std::int64_t i = 0, n = y.numel(); i < n; ++i) to[i] = static_cast<T>(f(i));
  });
  return y;
}

// Adds values to the chosen elements of y, in order.
void add_chosen(Tensor& y, const Ids& indices, const Tensor& values, int axis) {
  const Tensor dense = contiguous(values.detach());
  dispatch(y.dtype(), [&]<class T>() {
    const T* from = dense.data<T>();
    T* to = y.mutable_data<T>();
    for_chosen(indices, y.strides(), axis, [=](std::int64_t e, std::int64_t offset) { to[offset] += from[e]; });
  });
}

constexpr std::int64_t drawn_together = 128;  // elements

// Draws `each` uniform numbers in [0, 1) for each of n elements. use(first, count, u) gets those for the elements from `first`
// on: the number `e` of element first + j is u[j][e].
template <std::size_t each, class Use>
void draw_uniform(std::int64_t n, Random& random, Use use) {
  double u[drawn_together][each];
  for (std::int64_t i = 0; i < n; i += drawn_together) {
    const std::int64_t count = std::min(drawn_together, n - i);
    random.uniform(std::span(u[0], each * static_cast<std::size_t>(count)));
    use(i, count, u);
  }
}

Ids sample_indices() { return Ids({2, 3}, {0, 1, 1, 1, 0, 1}); }

}  // namespace

static const Operation gather_operation(
    "gather", "y[i, j] = x[i, indices[i, j]]", "dx[i, indices[i, j]] += dy[i, j]", [] {
      return std::vector<GradientSample>{
          {"columns", {{{2, 2}}}, [](auto& x) { return gather(x[0], sample_indices(), 1); }},
          {"rows", {{{2, 3}}}, [](auto& x) { return gather(x[0], sample_indices(), 0); }},
          {"middle axis", {{{2, 2, 2}}}, [](auto& x) {
             return gather(x[0], Ids({1, 3, 2}, {0, 1, 1, 1, 0, 0}), 1);
           }}};
    });
Tensor gather(const Tensor& x, const Ids& indices, int axis) {
  check_defined("gather", {&x});
  const int a = checked_axis("gather", axis, x.rank());
  check_indices("gather", x.shape(), indices, a);
  Tensor y(indices.shape(), x.dtype(), "gather");
  gather_into(y, x, indices, a);
  return record(
      gather_operation, {&x}, y, Saved(indices),
      [a, from = x.shape()](const Tensor& dy, const NeedsInputGrad& needs, const Ids& chosen) {
        Tensor dx = needs.take_total_or_zeros(from, dy.dtype());
        add_chosen(dx, chosen, dy, a);
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
  check_defined("scatter_add", {&x, &values});
  const int a = checked_axis("scatter_add", axis, x.rank());
  check_indices("scatter_add", x.shape(), indices, a);
  check_values("scatter_add", x, indices, values);
  Tensor y = x.detach().clone();
  add_chosen(y, indices, values, a);
  return record(scatter_add_operation, {&x, &values}, y, Saved(indices),
                Recordable([a](const Tensor& dy, const Ids& chosen) {
                  return std::vector{dy, gather(dy, chosen, a)};
                }));
}

// x without the elements that are replaced, plus the values that stay.
Tensor scatter(const Tensor& x, const Ids& indices, const Tensor& values, int axis) {
  check_defined("scatter", {&x, &values});
  const int a = checked_axis("scatter", axis, x.rank());
  check_indices("scatter", x.shape(), indices, a);
  check_values("scatter", x, indices, values);
  std::vector<std::int64_t> last(static_cast<std::size_t>(x.numel()), -1);  // that goes to each element of x
  const auto for_each = [&, strides = row_major_strides(x.shape())](auto f) { for_chosen(indices, strides, a, f); };
  for_each([&](std::int64_t e, std::int64_t offset) { last[static_cast<std::size_t>(offset)] = e; });
  std::vector<std::uint8_t> is_replaced(last.size()), is_passed(static_cast<std::size_t>(indices.numel()));
  std::ranges::transform(last, is_replaced.begin(), [](std::int64_t e) { return e >= 0; });
  for_each([&](std::int64_t e, std::int64_t offset) {
    is_passed[static_cast<std::size_t>(e)] = last[static_cast<std::size_t>(offset)] != e;
  });
  return scatter_add(masked_fill(x, Booleans(x.shape(), std::move(is_replaced)), 0), indices,
                     masked_fill(values, Booleans(indices.shape(), std::move(is_passed)), 0), a);
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
  check_defined("index_select", {&x});
  const int a = checked_axis("index_select", axis, x.rank());
  cpu::check_selection("index_select", x.shape(), indices, a);
  Shape shape = x.shape();
  const std::int64_t n = shape[a] = indices.numel();
  Tensor y(shape, x.dtype(), "index_select");
  const Tensor dense = contiguous(x.detach());
  const std::int64_t size = x.size(a), inner = y.numel() ? y.strides()[a] : 0,
                     outer = y.numel() ? y.numel() / (n * inner) : 0;
  dispatch(x.dtype(), [&]<class T>() {
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    cpu::parallel_for(outer * n, cpu::row_grain(outer * n, inner),
                      [=, index = indices.data()](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t row = begin; row < end; ++row) {
                          std::copy_n(from + (row / n * size + index[row % n]) * inner, inner, to + row * inner);
                        }
                      });
  });
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
  std::vector<std::int32_t> values = cpu::new_values<std::int32_t>("to_ids", x.shape());
  std::ranges::transform(x.to_vector(), values.begin(), [](double number) {
    constexpr double end = 0x1p31;
    if (!(number >= -end && number < end && number == std::trunc(number))) {
      fail("to_ids: expected integers of 32 bits, got {}", number);
    }
    return static_cast<std::int32_t>(number);
  });
  return Ids(x.shape(), std::move(values));
}

Ids to_ids(const Booleans& x) {
  std::vector<std::int32_t> values;
  for (const std::uint8_t value : x) values.push_back(value != 0);
  return Ids(x.shape(), std::move(values));
}

Tensor arange(double begin, double end, double step, DType dtype) {
  const double count = std::ceil((end - begin) / step);
  if (!(std::isfinite(count) && count < 0x1p62))
    fail("arange: cannot count from {} to {} in steps of {}", begin, end, step);
  return computed("arange", {static_cast<std::int64_t>(std::max(count, 0.0))}, dtype,
                  [=](std::int64_t i) { return begin + static_cast<double>(i) * step; });
}

Tensor arange(double end, DType dtype) { return arange(0, end, 1, dtype); }

Ids arange_ids(std::int32_t end) { return arange_ids(0, end); }

Ids full_ids(const Shape& shape, std::int32_t value) {
  std::vector<std::int32_t> values = cpu::new_values<std::int32_t>("full_ids", shape);
  std::ranges::fill(values, value);
  return {shape, std::move(values)};
}

Ids arange_ids(std::int32_t begin, std::int32_t end) {
  const std::int64_t count = std::max<std::int64_t>(std::int64_t{end} - begin, 0);
  if (count > std::numeric_limits<std::int32_t>::max()) {
    fail("arange_ids: from {} to {} are {} numbers; expected at most 2^31 - 1", begin, end, count);
  }
  std::vector<std::int32_t> values = cpu::new_values<std::int32_t>("arange_ids", {count});
  std::iota(values.begin(), values.end(), begin);
  return Ids({count}, std::move(values));
}

Tensor random_uniform(const Shape& shape, Random& random, double low, double high, DType dtype) {
  if (!(low <= high && std::isfinite(high - low))) {
    fail("random_uniform: expected finite bounds, low at most high, got {} and {}", low, high);
  }
  Tensor y(shape, dtype, "random_uniform");
  dispatch(dtype, [&]<class T>() {
    // rounding may reach the bound
    const T bound = static_cast<T>(high), least = static_cast<T>(low);
    const T below = bound > least ? std::nextafter(bound, least) : bound;
    T* const to = y.mutable_data<T>();
    draw_uniform<1>(y.numel(), random, [=](std::int64_t first, std::int64_t count, const auto& u) {
      for (std::int64_t j = 0; j < count; ++j) {
        const T value = static_cast<T>(low + (high - low) * u[j][0]);
        to[first + j] = value < bound ? value : below;
      }
    });
  });
  return y;
}

Tensor random_uniform(const Shape& shape, Random& random, DType dtype) {
  return random_uniform(shape, random, 0, 1, dtype);
}

// Box & Muller (1958), as in Random::normal().
Tensor random_normal(const Shape& shape, Random& random, double mean, double deviation, DType dtype) {
  if (!(deviation >= 0 && std::isfinite(deviation) && std::isfinite(mean))) {
    fail("random_normal: expected a finite mean and a finite deviation of at least 0, got {} and {}", mean, deviation);
  }
  if (dtype != DType::float32) {
    return computed("random_normal", shape, dtype, [&](std::int64_t) { return mean + deviation * random.normal(); });
  }
  Tensor y(shape, dtype, "random_normal");
  float* const to = y.mutable_data<float>();
  draw_uniform<2>(y.numel(), random, [=](std::int64_t first, std::int64_t count, const auto& u) {
    constexpr double two_pi = 2 * std::numbers::pi;
    constexpr std::int64_t width = cpu::lane_count<double>;
    double logarithms[drawn_together], cosines[drawn_together];
    for (std::int64_t j = 0; j < count; ++j) {
      logarithms[j] = 1 - u[j][0];
      cosines[j] = two_pi * u[j][1];
    }
    for (std::int64_t j = 0; j < count; j += width) {
      const std::int64_t n = std::min(width, count - j);
      const auto logarithm = cpu::log(cpu::load_lanes(logarithms + j, 1, n));
      const auto cosine = cpu::cos(cpu::load_lanes(cosines + j, 1, n));
      std::memcpy(logarithms + j, &logarithm, sizeof logarithm);
      std::memcpy(cosines + j, &cosine, sizeof cosine);
    }
    // The C library's functions of single numbers are more exact. A float differs only where a number lies between two floats.
    constexpr double least = 1 - 0x1p-48, most = 1 + 0x1p-48;
    int unsure = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const double z = std::sqrt(-2 * logarithms[j]) * cosines[j];
      const float a = static_cast<float>(mean + deviation * (z * least));
      to[first + j] = a;
      unsure |= a != static_cast<float>(mean + deviation * (z * most));
    }
    for (std::int64_t j = 0; j < count && unsure; ++j) {
      const double radius = std::sqrt(-2 * std::log(1 - u[j][0])), z = radius * std::cos(two_pi * u[j][1]);
      to[first + j] = static_cast<float>(mean + deviation * z);
    }
  });
  return y;
}

Tensor random_normal(const Shape& shape, Random& random, DType dtype) {
  return random_normal(shape, random, 0, 1, dtype);
}

Ids random_ids(const Shape& shape, Random& random, std::int32_t end) {
  if (end < 1) fail("random_ids: expected an end above 0, got {}", end);
  std::vector<std::int32_t> values = cpu::new_values<std::int32_t>("random_ids", shape);
  random.below(end, values);
  return Ids(shape, std::move(values));
}

Ids random_ids(const Shape& shape, Random& random, const Tensor& weights) {
  check_defined("random_ids", {&weights});
  if (weights.rank() != 1) fail("random_ids: expected weights (n), got {}", to_string(weights.shape()));
  std::vector<double> ends = weights.to_vector();  // of the part of [0, total) of each id
  for (const double weight : ends) {
    if (!(weight >= 0 && std::isfinite(weight)))
      fail("random_ids: expected finite weights of at least 0, got {}", weight);
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  if (ends.empty() || !(ends.back() > 0 && std::isfinite(ends.back()))) {
    fail("random_ids: expected weights with a finite sum above 0, got {}", ends.empty() ? 0 : ends.back());
  }
  std::vector<std::int32_t> values = cpu::new_values<std::int32_t>("random_ids", shape);
  const auto last =
      std::ranges::lower_bound(ends, ends.back());  // the last id with a weight: rounding may reach the total
  for (std::int32_t& value : values) {
    const auto found = std::upper_bound(ends.begin(), last, random.uniform() * ends.back());
    value = static_cast<std::int32_t>(found - ends.begin());
  }
  return Ids(shape, std::move(values));
}

Ids random_permutation(std::int32_t n, Random& random) {
  if (n < 0) fail("random_permutation: expected a size of at least 0, got {}", n);
  std::vector<std::int32_t> values = cpu::new_values<std::int32_t>("random_permutation", {n});
  std::iota(values.begin(), values.end(), 0);
  random.shuffle(values);
  return Ids({n}, std::move(values));
}

}  // namespace heed
