#include "autograd/cpu/kernels.h"
#include "autograd/cpu/reductions.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace heed {
namespace {

// Sums where the kept elements lie beside each other in memory, the columns, and calls finish(i, total) for each output. It adds a
// fixed number of rows at a time, so the order of additions does not depend on the number of threads.
template <cpu::Of of, class T, class Finish>
void sum_columns(const T* x, const cpu::Walk<1>& kept, std::int64_t outputs, const cpu::Walk<1>& reduced,
                 std::int64_t n, Finish finish) {
  constexpr std::int64_t max_rows = 512, max_columns = 1024, together = 8;
  const std::int64_t columns = kept.size[0], rows = reduced.size[0], row_stride = reduced.stride[0][0];
  const std::int64_t rows_a_part = cpu::equal_grain(rows, max_rows);
  const std::int64_t parts = (rows + rows_a_part - 1) / rows_a_part;
  const std::int64_t tile = cpu::equal_grain(columns, max_columns), tiles = (columns + tile - 1) / tile;
  Tensor partial({parts > 1 ? parts : 0, outputs}, DType::float64);
  double* const sums_of_parts = partial.mutable_data<double>();
  const auto sum_tile = [&](std::int64_t task) {
    const std::int64_t first = task % tiles * tile, part = task / tiles % parts, outer = task / tiles / parts;
    const std::int64_t width = std::min(columns - first, tile), output = outer * columns + first;
    // The processor does not foresee a walk along several short rows at once, so the next ones are fetched from memory ahead.
    const bool fetches = width < 512 && n * outputs * static_cast<std::int64_t>(sizeof(T)) > (1 << 22);
    const std::int64_t ahead = together * (1 + 256 / width);
    const auto fetch = [=](const T* row) {
      constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
      for (std::int64_t i = 0; i < together; ++i, row += row_stride) {
        for (std::int64_t c = 0; c < width; c += line) __builtin_prefetch(row + c);
      }
    };
    std::array<double, max_columns> total;
    std::fill_n(total.begin(), width, 0.0);
    reduced.rows(0, n / rows, [&](std::int64_t, const std::array<std::int64_t, 1>& offset) {
      const T* const from = x + kept.offsets(outer)[0] + offset[0] + first;
      const auto term = [=](std::int64_t r, std::int64_t c) {
        const double value = static_cast<double>(from[r * row_stride + c]);
        return of == cpu::Of::elements ? value : value * value;
      };
      std::int64_t r = part * rows_a_part;
      const std::int64_t end = std::min(rows, r + rows_a_part);
      for (; r + together <= end; r += together) {
        if (fetches && r + ahead + together <= end) fetch(from + (r + ahead) * row_stride);
        for (std::int64_t c = 0; c < width; ++c) {
          double sum = total[static_cast<std::size_t>(c)];
          for (std::int64_t i = 0; i < together; ++i) sum += term(r + i, c);
          total[static_cast<std::size_t>(c)] = sum;
        }
      }
      for (; r < end; ++r) {
        for (std::int64_t c = 0; c < width; ++c) total[static_cast<std::size_t>(c)] += term(r, c);
      }
    });
    if (parts > 1) {
      std::copy_n(total.begin(), width, sums_of_parts + part * outputs + output);
    } else {
      for (std::int64_t c = 0; c < width; ++c) finish(output + c, total[static_cast<std::size_t>(c)]);
    }
  };
  cpu::for_rows(outputs / columns * parts * tiles, rows_a_part * std::min(columns, tile), sum_tile);
  for (std::int64_t i = 0; parts > 1 && i < outputs; ++i) {
    double total = 0;
    for (std::int64_t part = 0; part < parts; ++part) total += sums_of_parts[part * outputs + i];
    finish(i, total);
  }
}

// Calls finish(i, total) with the sum in double for each output i.
template <cpu::Of of, class T, class Finish>
void sum_each(const Tensor& x, const cpu::Split& s, Finish finish) {
  const std::int64_t outputs = s.kept.numel(), n = s.reduced.numel("sum");
  const T* data = x.data<T>();
  if (outputs == 0) return;
  if (n == 0) {
    for (std::int64_t i = 0; i < outputs; ++i) finish(i, 0.0);
    return;
  }
  const cpu::Walk<1> kept(s.kept, {&s.kept_strides}), reduced(s.reduced, {&s.reduced_strides});
  if (kept.stride[0][0] == 1 && (kept.size[0] >= cpu::min_columns || kept.size[0] == outputs) && n > 1) {
    return sum_columns<of>(data, kept, outputs, reduced, n, finish);
  }
  if (outputs == 1 && reduced.size[0] == n && reduced.stride[0][0] == 1) {
    return finish(0, cpu::total_of_long_row<of>(data, n));
  }
  const std::int64_t inner = reduced.size[0], step = reduced.stride[0][0];
  cpu::parallel_for(outputs / kept.size[0], 1, [&](std::int64_t begin, std::int64_t end) {
    kept.rows(begin, end, [&](std::int64_t first, const std::array<std::int64_t, 1>& start) {
      for (std::int64_t k = 0; k < kept.size[0]; ++k) {
        const T* from = data + start[0] + k * kept.stride[0][0];
        double total = 0;
        reduced.rows(0, n / inner, [&](std::int64_t, const std::array<std::int64_t, 1>& offset) {
          total += cpu::total_of_row<of>(from + offset[0], inner, step);
        });
        finish(first + k, total);
      }
    });
  });
}

}  // namespace

cpu::Split cpu::split_axes(const char* operation, const Tensor& x, const std::vector<int>& axes, const Shape& strides) {
  const std::vector<bool> is_reduced = chosen_axes(operation, x, axes);
  Split s;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool reduce = is_reduced[static_cast<std::size_t>(axis)];
    (reduce ? s.reduced : s.kept).append(x.size(axis));
    (reduce ? s.reduced_strides : s.kept_strides).append(strides[axis]);
    s.output_keepdim.append(reduce ? 1 : x.size(axis));
    if (!reduce) s.output.append(x.size(axis));
  }
  return s;
}

std::vector<GradientSample> cpu::reduction_samples(Tensor (*f)(const Tensor&, const Axes&, bool),
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

static std::vector<GradientSample> sum_samples() {
  std::vector<GradientSample> samples = cpu::reduction_samples(sum, Argument::Values::any, true);
  for (GradientSample& sample : cpu::reduction_samples(mean, Argument::Values::any, false)) {
    sample.name = "mean of " + sample.name;
    samples.push_back(std::move(sample));
  }
  return samples;
}
static const Operation sum_operation("sum", "y = sum(x) over axes; mean: y = sum(x) / n",
                                     "dx = dy, broadcast; mean: dx = dy / n, broadcast", sum_samples);
Tensor sum(const Tensor& x, const Axes& axes, bool keepdim) {
  const cpu::Split s = cpu::split_axes("sum", x, axes, x.strides());
  Tensor y(keepdim ? s.output_keepdim : s.output, x.dtype(), "sum");
  dispatch(x.dtype(), [&]<class T>() {
    sum_each<cpu::Of::elements, T>(
        x, s, [to = y.mutable_data<T>()](std::int64_t i, double total) { to[i] = static_cast<T>(total); });
  });
  return record(sum_operation, {&x}, y, Saved(),
                Recordable([from = x.shape(), kept = s.output_keepdim](const Tensor& dy) {
                  return std::vector{broadcast_to(reshape(dy, kept), from)};
                }));
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdim) {
  const cpu::Split s = cpu::split_axes("mean", x, axes, x.strides());
  const double n = static_cast<double>(s.reduced.numel("mean"));
  Tensor y(keepdim ? s.output_keepdim : s.output, x.dtype(), "mean");
  dispatch(x.dtype(), [&]<class T>() {
    sum_each<cpu::Of::elements, T>(x, s, [n, to = y.mutable_data<T>()](std::int64_t i, double total) {
      const T sum = static_cast<T>(total);  // may overflow where the mean does not
      to[i] = std::isinf(sum) ? static_cast<T>(total / n) : sum / static_cast<T>(n);
    });
  });
  return record(sum_operation, {&x}, y, Saved(),
                Recordable([from = x.shape(), kept = s.output_keepdim, n](const Tensor& dy) {
                  return std::vector{broadcast_to(reshape(dy / n, kept), from)};
                }));
}

Tensor cpu::squares_in_double(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  const Split s = split_axes("sum of squares", x, axes, x.strides());
  Tensor y(keepdim ? s.output_keepdim : s.output, DType::float64, "sum of squares");
  dispatch(x.dtype(), [&]<class T>() {
    sum_each<Of::squares, T>(x, s, [to = y.mutable_data<double>()](std::int64_t i, double total) { to[i] = total; });
  });
  return y;
}

bool cpu::broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i) {
    if (from[-i] != to[-i] && from[-i] != 1) return false;
  }
  return true;
}

Tensor cpu::sum_to(const Tensor& gradient, const Shape& shape) {
  std::vector<int> axes;
  const int missing = gradient.rank() - shape.rank();
  for (int axis = 0; axis < gradient.rank(); ++axis) {
    if (axis < missing || (shape[axis - missing] == 1 && gradient.size(axis) != 1)) axes.push_back(axis);
  }
  return reshape(sum(gradient, axes), shape);
}

void add_in_place(Tensor& total, const Tensor& x) {
  cpu::check_one_dtype("add_in_place", total, x);
  if (x.shape() != total.shape()) {
    fail("add_in_place: shapes must be equal: {} += {}", to_string(total.shape()), to_string(x.shape()));
  }
  if (!total.is_contiguous())
    fail("add_in_place: the total, of shape {}, must be contiguous", to_string(total.shape()));
  if (Recorder::follows(x)) {
    fail(
        "add_in_place: input 1, of shape {}, is recorded, but the sum would not be; use total = total + x, or its "
        "detach()",
        to_string(x.shape()));
  }
  // x overlaps the elements to be written, so it is copied
  if (x.shares_storage(total)) return add_in_place(total, x.detach().clone());
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
  if (x.is_variable() || x.tape_node().recording != 0) {
    fail("scale_in_place: expected a constant, such as a gradient, got {} tensor of shape {}; use x = x * factor",
         x.is_variable() ? "a variable" : "a recorded", to_string(x.shape()));
  }
  Tensor scaled = x.may_be_overwritten() ? x : Tensor(x.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>() {
    const cpu::Operand<T> from = cpu::operand<T>(x, x.shape());
    cpu::map(
        x.shape(), scaled.mutable_data<T>(), [s = static_cast<T>(factor)](T value) { return value * s; }, from);
  });
  x = x.tape_node() == TapeNode{} ? scaled : Recorder::of_gradients(scaled);
}

}  // namespace heed
