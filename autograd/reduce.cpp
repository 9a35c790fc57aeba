#include "autograd/cpu/kernels.h"
#include "autograd/cpu/sums.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace heed {
namespace {

// The axes of x, split into kept and reduced ones; each group is traversed as one list.
struct Split {
  Shape output, output_keepdim;
  Shape kept, kept_strides, reduced, reduced_strides;
};

Split split_axes(const char* operation, const Tensor& x, const std::vector<int>& axes) {
  const std::vector<bool> is_reduced = cpu::chosen_axes(operation, x, axes);
  Split s;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool reduce = is_reduced[static_cast<std::size_t>(axis)];
    (reduce ? s.reduced : s.kept).append(x.size(axis));
    (reduce ? s.reduced_strides : s.kept_strides).append(x.strides()[axis]);
    s.output_keepdim.append(reduce ? 1 : x.size(axis));
    if (!reduce) s.output.append(x.size(axis));
  }
  return s;
}

// Sums the columns of x (rows, columns), with element strides (row_stride, 1), into totals in double. It adds a fixed
// number of rows at a time, so the order of additions does not depend on the number of threads.
template <class T>
void sum_columns(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t row_stride, T* y) {
  constexpr std::int64_t most_rows = 512, columns_a_tile = 512;
  const std::int64_t rows_a_part = cpu::equal_grain(rows, most_rows);
  const std::int64_t parts = (rows + rows_a_part - 1) / rows_a_part;
  Tensor partial({parts, columns}, DType::float64);
  double* totals = partial.mutable_data<double>();
  const std::int64_t tiles = (columns + columns_a_tile - 1) / columns_a_tile;
  cpu::parallel_for(parts * tiles, 1, [&](std::int64_t task, std::int64_t) {
    const std::int64_t part = task / tiles, first = task % tiles * columns_a_tile;
    const std::int64_t last = std::min(columns, first + columns_a_tile);
    double* total = totals + part * columns;
    std::fill(total + first, total + last, 0.0);
    for (std::int64_t r = part * rows_a_part; r < std::min(rows, (part + 1) * rows_a_part); ++r) {
      for (std::int64_t c = first; c < last; ++c) total[c] += static_cast<double>(x[r * row_stride + c]);
    }
  });
  for (std::int64_t c = 0; c < columns; ++c) {
    double total = 0;
    for (std::int64_t part = 0; part < parts; ++part) total += totals[part * columns + c];
    y[c] = static_cast<T>(total);
  }
}

template <class T>
void sum_into(const Tensor& x, const Split& s, T* y) {
  const std::int64_t outputs = s.kept.numel(), n = s.reduced.numel("sum");
  const T* data = x.data<T>();
  if (outputs == 0) return;
  if (n == 0) {
    std::fill_n(y, outputs, T{0});
    return;
  }
  const cpu::Walk<1> kept(s.kept, {&s.kept_strides}), reduced(s.reduced, {&s.reduced_strides});
  if (kept.size[0] == outputs && reduced.size[0] == n && kept.stride[0][0] == 1 && n > 1) {
    return sum_columns(data, n, outputs, reduced.stride[0][0], y);
  }
  if (outputs == 1 && reduced.size[0] == n && reduced.stride[0][0] == 1) {
    y[0] = static_cast<T>(cpu::sum_long(data, n));
    return;
  }
  const std::int64_t inner = reduced.size[0], step = reduced.stride[0][0];
  cpu::parallel_for(outputs / kept.size[0], 1, [&](std::int64_t begin, std::int64_t end) {
    kept.rows(begin, end, [&](std::int64_t first, const std::array<std::int64_t, 1>& start) {
      for (std::int64_t k = 0; k < kept.size[0]; ++k) {
        const T* from = data + start[0] + k * kept.stride[0][0];
        double total = 0;
        reduced.rows(0, n / inner, [&](std::int64_t, const std::array<std::int64_t, 1>& offset) {
          total += step == 1 ? cpu::sum_row(from + offset[0], inner) : cpu::sum_row(from + offset[0], inner, step);
        });
        y[first + k] = static_cast<T>(total);
      }
    });
  });
}

std::vector<GradientSample> reduction_samples(Tensor (*f)(const Tensor&, const std::vector<int>&, bool),
                                              Argument::Values values, bool empty_allowed) {
  std::vector<GradientSample> samples;
  const auto add = [&](const Shape& shape, const std::vector<int>& axes, bool keepdim) {
    samples.push_back({fmt::format("{} over ({}){}", to_string(shape), fmt::join(axes, ", "), keepdim ? " kept" : ""),
                       {{shape, values}},
                       [=](auto& x) { return f(x[0], axes, keepdim); }});
  };
  for (const bool keepdim : {false, true}) {
    add({}, {}, keepdim);
    add({4}, {}, keepdim);
    add({2, 3}, {}, keepdim);
    add({2, 3}, {0}, keepdim);
    add({2, 3}, {-1}, keepdim);
    add({2, 3, 2}, {1}, keepdim);
    add({2, 3, 2}, {0, -1}, keepdim);
    add({2, 1, 2, 2}, {1, 2}, keepdim);
    add({0, 3}, {1}, keepdim);
    if (empty_allowed) add({0, 3}, {0}, keepdim);
  }
  return samples;
}

}  // namespace

// y = sum of x over axes        dx = dy, broadcast
static const Operation sum_operation("sum", [] {
  std::vector<GradientSample> samples = reduction_samples(sum, Argument::Values::any, true);
  for (GradientSample& sample : reduction_samples(mean, Argument::Values::any, false)) {
    sample.name = "mean of " + sample.name;
    samples.push_back(std::move(sample));
  }
  return samples;
});
static Tensor sum(const char* name, const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  const Split s = split_axes(name, x, axes);
  Tensor y(keepdim ? s.output_keepdim : s.output, x.dtype(), name);
  dispatch(x.dtype(), [&]<class T>() { sum_into(x, s, y.mutable_data<T>()); });
  return record(sum_operation, {&x}, y, [from = x.shape(), kept = s.output_keepdim](const Tensor& dy) {
    return std::vector{broadcast_to(reshape(dy, kept), from)};
  });
}

Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdim) { return sum("sum", x, axes, keepdim); }

// y = sum(x) / n
Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  const std::int64_t n = split_axes("mean", x, axes).reduced.numel("mean");
  return sum("mean", x, axes, keepdim) / static_cast<double>(n);
}

// y = x[i], i the index of the first maximum of sign x        dx[i] = dy, 0 elsewhere
static Tensor extreme(const Operation& operation, const Tensor& x, const std::vector<int>& axes, bool keepdim,
                      int sign) {
  const Split s = split_axes(operation.name(), x, axes);
  if (s.reduced.numel(operation.name()) == 0 && s.kept.numel(operation.name()) > 0) {
    fail("{}: expected at least one element to reduce, got shape {}", operation.name(), to_string(x.shape()));
  }
  Tensor y(keepdim ? s.output_keepdim : s.output, x.dtype(), operation.name());
  // positions in a contiguous x
  std::vector<std::int64_t> winners = cpu::new_values<std::int64_t>(operation.name(), y.shape());
  const Tensor dense(x.shape(), x.dtype(), operation.name());
  Split numbers = split_axes(operation.name(), dense, axes);
  dispatch(x.dtype(), [&]<class T>() {
    if (y.numel() == 0) return;  // its other sizes may be huge
    const T* data = x.data<T>();
    T* out = y.mutable_data<T>();
    const cpu::Walk<2> kept(s.kept, {&s.kept_strides, &numbers.kept_strides});
    const cpu::Walk<2> reduced(s.reduced, {&s.reduced_strides, &numbers.reduced_strides});
    const std::int64_t n = s.reduced.numel();
    const auto pick = [&](std::int64_t output, std::int64_t from, std::int64_t number) {
      T best = -std::numeric_limits<T>::infinity();
      std::int64_t winner = -1;
      reduced.rows(0, n / reduced.size[0], [&](std::int64_t, const std::array<std::int64_t, 2>& offset) {
        for (std::int64_t i = 0; i < reduced.size[0]; ++i) {
          const T value = static_cast<T>(sign) * data[from + offset[0] + i * reduced.stride[0][0]];
          if (winner < 0 || value > best || (std::isnan(value) && !std::isnan(best))) {
            best = value;
            winner = number + offset[1] + i * reduced.stride[1][0];
          }
        }
      });
      out[output] = static_cast<T>(sign) * best;
      winners[static_cast<std::size_t>(output)] = winner;
    };
    cpu::parallel_for(y.numel() / std::max<std::int64_t>(1, kept.size[0]), 64,
                      [&](std::int64_t begin, std::int64_t end) {
                        kept.rows(begin, end, [&](std::int64_t first, const std::array<std::int64_t, 2>& start) {
                          for (std::int64_t k = 0; k < kept.size[0]; ++k) {
                            pick(first + k, start[0] + k * kept.stride[0][0], start[1] + k * kept.stride[1][0]);
                          }
                        });
                      });
  });
  return record(operation, {&x}, y, [from = x.shape(), winners](const Tensor& dy) {
    Tensor dx = zeros(from, dy.dtype());
    const Tensor dense_dy = contiguous(dy);
    dispatch(dy.dtype(), [&]<class T>() {
      T* to = dx.mutable_data<T>();
      for (std::size_t i = 0; i < winners.size(); ++i) to[winners[i]] = dense_dy.data<T>()[i];
    });
    return std::vector{dx};
  });
}

static const Operation max_operation("max", [] { return reduction_samples(max, Argument::Values::distinct, false); });
Tensor max(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  return extreme(max_operation, x, axes, keepdim, 1);
}

static const Operation min_operation("min", [] { return reduction_samples(min, Argument::Values::distinct, false); });
Tensor min(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  return extreme(min_operation, x, axes, keepdim, -1);
}

void add_in_place(Tensor& total, const Tensor& x) {
  cpu::check_one_dtype("add_in_place", total, x);
  if (x.shape() != total.shape()) {
    fail("add_in_place: shapes must be equal: {} += {}", to_string(total.shape()), to_string(x.shape()));
  }
  if (!total.is_contiguous())
    fail("add_in_place: the total, of shape {}, must be contiguous", to_string(total.shape()));
  // x overlaps the elements to be written, so it is copied
  if (x.shares_storage(total)) return add_in_place(total, x.clone());
  dispatch(total.dtype(), [&]<class T>() {
    T* y = total.mutable_data<T>();
    cpu::map(
        total.shape(), y, [](T a, T b) { return a + b; }, cpu::Operand<T>{y, total.strides()},
        cpu::operand<T>(x, x.shape()));
  });
}

double sum_of_squares(const Tensor& x) {
  check_defined("sum_of_squares", {&x});
  constexpr std::int64_t grain = 16384;
  const Tensor dense = contiguous(x.detach());
  std::vector<double> tiles(static_cast<std::size_t>((dense.numel() + grain - 1) / grain));
  dispatch(dense.dtype(), [&]<class T>() {
    const T* values = dense.data<T>();
    cpu::parallel_for(dense.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      tiles[static_cast<std::size_t>(begin / grain)] = cpu::sum_terms<double>(end - begin, [=](std::int64_t i) {
        const double value = static_cast<double>(values[begin + i]);
        return value * value;
      });
    });
  });
  return std::accumulate(tiles.begin(), tiles.end(), 0.0);
}

void scale_in_place(Tensor& x, double factor) {
  check_defined("scale_in_place", {&x});
  Tensor scaled = x.may_be_overwritten() ? x : Tensor(x.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>() {
    const cpu::Operand<T> from = cpu::operand<T>(x, x.shape());
    cpu::map(
        x.shape(), scaled.mutable_data<T>(), [s = static_cast<T>(factor)](T value) { return value * s; }, from);
  });
  x = scaled;
}

}  // namespace heed
