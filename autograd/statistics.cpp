#include "autograd/cpu/extreme_row.h"
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/reductions.h"
#include "autograd/cpu/vector_math.h"
#include "autograd/internal/adjoints.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace heed {
namespace {

// Returns the axes of a reduction. Throws Error when the elements are too many to count.
cpu::Split checked_split(const char* operation, const Tensor& x, const std::vector<int>& axes) {
  cpu::Split s = cpu::split_axes(operation, x, axes, x.strides());
  s.reduced.numel(operation);
  cpu::check_memory(operation, s.output_keepdim, DType::float64);
  return s;
}

// Returns g / v, rounded to a float where float arithmetic can represent the operands and the quotient.
double float_quotient(double g, double v) {
  constexpr float least = std::numeric_limits<float>::min();
  const float length = static_cast<float>(v), quotient = static_cast<float>(g) / length, size = std::abs(quotient);
  return length >= least && size >= least && size <= std::numeric_limits<float>::max() ? static_cast<double>(quotient)
                                                                                       : g / v;
}

constexpr std::int64_t max_columns = 512;  // per tile
constexpr std::int64_t long_row = 65536;   // elements per task

// Computes value and position of the extreme of a long row in parallel.
template <bool largest, class T>
cpu::Extreme<T> extreme_of_long_row(const T* x, std::int64_t n) {
  std::vector<cpu::Extreme<T>> parts(static_cast<std::size_t>((n + long_row - 1) / long_row));
  cpu::parallel_for(n, long_row, [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / long_row)] = cpu::extreme_of_row<largest>(x + begin, end - begin);
  });
  cpu::Extreme<T> all = parts[0];
  for (const cpu::Extreme<T>& part : parts) {
    if (largest ? part.value > all.value : part.value < all.value) all.value = part.value;
    all.has_nan = all.has_nan || part.has_nan;
  }
  return all;
}

// Sets y to the extremes of x over the axes, and winners, unless empty, to their positions in a contiguous x.
template <bool largest, class T>
void find_extremes(const char* operation, const Tensor& x, const std::vector<int>& axes, T* y,
                   std::vector<std::int64_t>& winners) {
  const cpu::Split s = cpu::split_axes(operation, x, axes, x.strides());
  const cpu::Split numbers = cpu::split_axes(operation, x, axes, row_major_strides(x.shape()));
  const T* const data = x.data<T>();
  const cpu::Walk<2> kept(s.kept, {&s.kept_strides, &numbers.kept_strides});
  const cpu::Walk<2> reduced(s.reduced, {&s.reduced_strides, &numbers.reduced_strides});
  const std::int64_t n = s.reduced.numel(), outputs = s.kept.numel(), inner = reduced.size[0];
  const std::int64_t step = reduced.stride[0][0], number_step = reduced.stride[1][0];
  const bool are_columns = step != 1 && kept.stride[0][0] == 1 && n <= INT32_MAX;
  if (inner == n && (are_columns || n < cpu::short_row) && kept.size[0] >= cpu::min_columns) {
    const std::int64_t columns = kept.size[0], tiles = (columns + max_columns - 1) / max_columns;
    cpu::for_rows(outputs / columns * tiles, n * std::min(columns, max_columns), [&](std::int64_t task) {
      const std::int64_t first = task % tiles * max_columns, width = std::min(max_columns, columns - first);
      const std::int64_t output = task / tiles * columns + first;
      const auto [from, number] = kept.offsets(task / tiles);
      std::array<std::int32_t, max_columns> rows_of;
      cpu::extremes_of_columns<largest>(data + from + first * kept.stride[0][0], n, width, step, kept.stride[0][0],
                                        y + output, winners.empty() ? nullptr : rows_of.data());
      for (std::int64_t c = 0; c < width && !winners.empty(); ++c) {
        winners[static_cast<std::size_t>(output + c)] =
            number + (first + c) * kept.stride[1][0] + rows_of[static_cast<std::size_t>(c)] * number_step;
      }
    });
    return;
  }
  const auto pick = [&](std::int64_t output, std::int64_t from, std::int64_t number) {
    bool is_first = true;
    T best{};
    std::int64_t winner = 0;
    const auto offer = [&](T value, std::int64_t at) {
      if (!is_first && (best != best || (largest ? value <= best : value >= best))) return;
      is_first = false;
      best = value;
      winner = at;
    };
    reduced.rows(0, n / inner, [&](std::int64_t, const std::array<std::int64_t, 2>& offset) {
      const T* const row = data + from + offset[0];
      const std::int64_t first = number + offset[1];
      if (step != 1) {
        for (std::int64_t i = 0; i < inner; ++i) offer(row[i * step], first + i * number_step);
        return;
      }
      const cpu::Extreme<T> extreme =
          inner > long_row ? extreme_of_long_row<largest>(row, inner) : cpu::extreme_of_row<largest>(row, inner);
      // 0 may be -0, whose position decides
      const bool needs_position = !winners.empty() || extreme.has_nan || extreme.value == 0;
      const std::int64_t at = needs_position ? cpu::find_extreme<largest>(row, inner, extreme, true) : 0;
      offer(needs_position ? row[at] : extreme.value, first + at * number_step);
    });
    y[output] = best;
    if (!winners.empty()) winners[static_cast<std::size_t>(output)] = winner;
  };
  cpu::parallel_for(outputs / kept.size[0], 1, [&](std::int64_t begin, std::int64_t end) {
    kept.rows(begin, end, [&](std::int64_t first, const std::array<std::int64_t, 2>& start) {
      for (std::int64_t k = 0; k < kept.size[0]; ++k) {
        pick(first + k, start[0] + k * kept.stride[0][0], start[1] + k * kept.stride[1][0]);
      }
    });
  });
}

// y = x[i], i the index of the first extreme        dx[i] = dy, 0 elsewhere
template <bool largest>
Tensor reduced_extreme(const Operation& operation, const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  const char* const name = operation.name();
  const cpu::Split s = cpu::split_axes(name, x, axes, x.strides());
  if (s.reduced.numel(name) == 0 && s.kept.numel(name) > 0) {
    fail("{}: expected at least one element to reduce, got shape {}", name, to_string(x.shape()));
  }
  Tensor y(keepdim ? s.output_keepdim : s.output, x.dtype(), name);
  const Tensor* const inputs[] = {&x};
  std::vector<std::int64_t> winners;
  if (Recorder::follows(x)) winners = cpu::new_values<std::int64_t>(name, y.shape());
  if (y.numel() > 0) {  // otherwise its other sizes may be huge
    dispatch(x.dtype(), [&]<class T>() { find_extremes<largest>(name, x, axes, y.mutable_data<T>(), winners); });
  }
  return record(
      operation, inputs, y, Saved(winners),
      [from = x.shape()](const Tensor& dy, const std::vector<std::int64_t>& chosen) {
        Tensor dx = zeros(from, dy.dtype());
        const Tensor dense_dy = contiguous(dy);
        dispatch(dy.dtype(), [&]<class T>() {
          T* to = dx.mutable_data<T>();
          for (std::size_t i = 0; i < chosen.size(); ++i) to[chosen[i]] = dense_dy.data<T>()[i];
        });
        return std::vector{dx};
      },
      Recordable(
          [from = x.shape()](const Tensor& dy, const NeedsInputGrad& needs, const std::vector<std::int64_t>& chosen) {
            return std::vector{cpu::spread(dy, needs.take_total(), chosen, from)};
          }));
}

}  // namespace

static const Operation max_operation("max", "y = x[i], i the index of the first greatest element",
                                     "dx[i] = dy, 0 elsewhere",
                                     [] { return cpu::reduction_samples(max, Argument::Values::distinct, false); });
Tensor max(const Tensor& x, const Axes& axes, bool keepdim) {
  return reduced_extreme<true>(max_operation, x, axes, keepdim);
}

static const Operation min_operation("min", "y = x[i], i the index of the first smallest element",
                                     "dx[i] = dy, 0 elsewhere",
                                     [] { return cpu::reduction_samples(min, Argument::Values::distinct, false); });
Tensor min(const Tensor& x, const Axes& axes, bool keepdim) {
  return reduced_extreme<false>(min_operation, x, axes, keepdim);
}

static Tensor squares_over(const Tensor& x, const Axes& axes, bool keepdim);
static const Operation squares_operation("sum of squares", "y = sum(x^2), in double", "dx = 2 dy x", [] {
  return cpu::reduction_samples(squares_over, Argument::Values::any, true);
});
static Tensor squares_over(const Tensor& x, const Axes& axes, bool keepdim) {
  const Tensor total = cpu::squares_in_double(x, axes, keepdim);
  const Shape kept = checked_split("var", x, axes).output_keepdim;
  return record(
      squares_operation, {&x}, total.to(x.dtype()), Saved(x),
      Recordable([kept](const Tensor& dy, const Tensor& X) { return std::vector{X * reshape(dy * 2, kept)}; }));
}

// The mean of the squares of x - mean. Where they are too large or too small for a float, it is computed in double.
Tensor var(const Tensor& x, const Axes& axes, bool keepdim, double correction) {
  const Shape kept = checked_split("var", x, axes).output_keepdim;
  if (!(correction >= 0 && std::isfinite(correction))) {
    fail("var: correction must be finite and at least 0, got {}", correction);
  }
  const Tensor total = squares_over(x - mean(x, axes, true), axes, keepdim);
  const std::int64_t n = x.numel() / std::max<std::int64_t>(1, kept.numel());
  const Tensor y = total / std::max(0.0, static_cast<double>(n) - correction);
  if (x.dtype() != DType::float32) return y;
  const Tensor totals = total.detach();
  const Booleans in_range = (totals > 0x1p-90) & (totals < std::numeric_limits<double>::infinity());
  if (all(in_range) || n == 0) return y;
  return where(in_range, y, cast(var(cast(x, DType::float64), axes, keepdim, correction), DType::float32));
}

Tensor stddev(const Tensor& x, const Axes& axes, bool keepdim, double correction) {
  const Shape kept = checked_split("stddev", x, axes).output_keepdim;
  if (!(correction >= 0 && std::isfinite(correction))) {
    fail("stddev: correction must be finite and at least 0, got {}", correction);
  }
  const double n = static_cast<double>(x.numel() / std::max<std::int64_t>(1, kept.numel()));
  if (n <= correction) return sqrt(var(x, axes, keepdim, correction));  // NaN, whose gradient norm() would make 0
  return norm(x - mean(x, axes, true), axes, keepdim) / std::sqrt(n - correction);
}

static const Operation norm_operation("norm", "y = sqrt(sum(x^2)), in double, where no square of a float overflows",
                                      "dx = dy x / y, 0 where y is 0",
                                      [] { return cpu::reduction_samples(norm, Argument::Values::nonzero, false); });
Tensor norm(const Tensor& x, const Axes& axes, bool keepdim) {
  const Shape kept_axes = checked_split("norm", x, axes).output_keepdim;
  const Tensor length = sqrt(cpu::squares_in_double(x, axes, keepdim)), y = length.to(x.dtype());
  return record(
      norm_operation, {&x}, y, Saved(x, length, std::vector<int>(axes)),
      [kept = kept_axes](const Tensor& dy, const Tensor& X, const Tensor& lengths, const std::vector<int>&) {
        const Tensor share =
            cpu::map("norm", dy.to(DType::float64), lengths, [is_float = X.dtype() == DType::float32](auto g, auto v) {
              return v == 0 ? v : static_cast<decltype(v)>(is_float ? float_quotient(g, v) : g / v);
            });
        Tensor dx(X.shape(), X.dtype());
        dispatch(X.dtype(), [&]<class T>() {
          cpu::map(
              X.shape(), dx.mutable_data<T>(), [](T v, double s) { return static_cast<T>(static_cast<double>(v) * s); },
              cpu::operand<T>(X, X.shape()), cpu::operand<double>(reshape(share, kept), X.shape()));
        });
        return std::vector{dx};
      },
      Recordable([kept = kept_axes](const Tensor& dy, const Tensor& X, const Tensor&, const std::vector<int>& over) {
        const Tensor lengths = norm(X, over, true);
        const Booleans is_zero = equal(lengths, 0);
        const Tensor share = reshape(dy, kept) / masked_fill(lengths, is_zero, 1);
        return std::vector{X * masked_fill(share, is_zero, 0)};
      }));
}

static const Operation logsumexp_operation("logsumexp",
                                           "y = m + ln sum(e^(x - m)), m = max(x), or 0 if that is infinite",
                                           "dx = dy e^(x - y), 0 where y is -infinity", [] {
                                             return cpu::reduction_samples(logsumexp, Argument::Values::nonzero, false);
                                           });
Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdim) {
  const auto finite = [](auto v) { return std::isinf(v) ? decltype(v){0} : v; };
  const cpu::Split s = checked_split("logsumexp", x, axes);
  const Shape kept = s.output_keepdim;
  const Tensor fixed = x.detach();
  const bool is_empty = x.numel() == 0 && kept.numel() > 0;
  const Tensor m = is_empty ? zeros(kept, x.dtype()) : cpu::map("logsumexp", max(fixed, axes, true), finite);
  const auto exp_of_difference = cpu::on_lanes<double>([](auto v, auto w) { return cpu::exp(v - w); });
  const Tensor total = sum(cpu::map("logsumexp", fixed, m, exp_of_difference), axes, true), y = m + log(total);
  const Tensor shaped = keepdim ? y : reshape(y, s.output);
  return record(
      logsumexp_operation, {&x}, shaped, Saved(x, shaped, m, total),
      // e^(x - m) / total, as y = m + ln(total) is rounded where m is large
      [kept](const Tensor& dy, const Tensor& X, const Tensor&, const Tensor& M, const Tensor& sums) {
        const Tensor factor = cpu::map("logsumexp", reshape(dy, kept), sums, [](auto g, auto sum) {
          return sum == 0 ? sum : g / sum;
        });  // 0: all are -infinity
        return std::vector{cpu::map("logsumexp", factor, X, M,
                                    cpu::on_lanes<double>([](auto g, auto v, auto w) { return g * cpu::exp(v - w); }))};
      },
      Recordable([kept](const Tensor& dy, const Tensor& X, const Tensor& Y, const Tensor&, const Tensor&) {
        const Tensor none = masked_fill(Y, equal(Y, -std::numeric_limits<double>::infinity()), 0);
        return std::vector{reshape(dy, kept) * exp(X - reshape(none, kept))};
      }));
}

}  // namespace heed
