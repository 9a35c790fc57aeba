// batch_norm() and group_norm(): a row is the N numbers of a channel of an example. Rows that are normalised together are a set.

#include "autograd/cpu/kernels.h"
#include "autograd/cpu/sums.h"
#include "autograd/internal/norm.h"

#include <heed/autograd/convolution.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// The rows of x (B, C, ...) as sets: row k of set s is number s * set_stride + k * row_stride.
struct Sets {
  std::int64_t C = 0, N = 1, count = 0, rows = 0, set_stride = 0, row_stride = 0;

  double size() const { return static_cast<double>(rows * N); }
  std::int64_t row(std::int64_t set, std::int64_t k) const { return set * set_stride + k * row_stride; }
  void for_each(auto f) const { cpu::for_rows(count, rows * N, f); }
  // Adds term(i) over the elements i of a set.
  template <class T>
  double sum(std::int64_t set, auto term) const {
    double total = 0;
    for (std::int64_t k = 0; k < rows; ++k) {
      total += cpu::sum_terms<T>(N, [=, first = row(set, k) * N](std::int64_t j) { return term(first + j); });
    }
    return total;
  }
};

// A set for each channel, or with `groups` for each group of channels of an example.
Sets sets_of(const Shape& shape, std::int64_t groups) {
  Sets sets{.C = shape[1]};
  for (int axis = 2; axis < shape.rank(); ++axis) sets.N *= shape[axis];
  sets.count = groups ? shape[0] * groups : sets.C;
  sets.rows = groups ? sets.C / groups : shape[0];
  sets.set_stride = groups ? sets.C / groups : 1;
  sets.row_stride = groups ? 1 : sets.C;
  return sets;
}

// All axes but that of the channels.
std::vector<int> axes_of(const Tensor& x) {
  std::vector<int> axes{0};
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

// x so that the axes of sets_of() can be reduced, and these axes.
std::pair<Tensor, std::vector<int>> in_sets(const Tensor& x, std::int64_t groups) {
  if (!groups) return {x, axes_of(x)};
  return {reshape(x, {x.size(0), groups, x.numel() / std::max<std::int64_t>(1, x.size(0) * groups)}), {2}};
}

BatchNormResult composed(const Tensor& x, std::int64_t groups, const Tensor& gain, const Tensor& bias, double eps) {
  const auto [values, axes] = in_sets(x, groups);
  const Tensor centre = mean(values, axes, true), variance = var(values, axes, true);
  const Tensor h = reshape((values - centre) / sqrt(variance + eps), x.shape());
  return {h * per_channel(gain, x) + per_channel(bias, x), reshape(centre.detach(), {-1}),
          reshape(variance.detach(), {-1})};
}

// Computes the mean, the variance and 1 / sqrt(variance + eps) of each set. Returns whether the last and its square are usual numbers.
template <class T>
bool statistics_of(const Sets& sets, const T* x, double eps, T* means, T* variances, T* inverse) {
  sets.for_each([&](std::int64_t s) {
    means[s] = static_cast<T>(sets.sum<T>(s, [=](std::int64_t i) { return x[i]; }) / sets.size());
    const double squares = squares_around(
        means[s], sets.size(), [&](auto f) { return sets.sum<T>(s, [=](std::int64_t i) { return f(x[i]); }); });
    variances[s] = static_cast<T>(squares / sets.size());
    inverse[s] = static_cast<T>(1 / std::sqrt(squares / sets.size() + eps));
  });
  return std::all_of(inverse, inverse + sets.count, is_usual<T>);
}

template <class T>
void backward_of(const Sets& sets, const T* x, const T* gain, const T* dy, const T* means, const T* inverse, T* dx,
                 T* dy_sums, T* dyh_sums) {
  sets.for_each([&](std::int64_t s) {
    const T mean = means[s], r = inverse[s];
    double sum_g = 0, sum_gh = 0;
    for (std::int64_t k = 0; k < sets.rows; ++k) {
      const std::int64_t row = sets.row(s, k);
      const T *values = x + row * sets.N, *g = dy + row * sets.N;
      const double of_dy = cpu::sum_row(g, sets.N);
      const double of_dyh = cpu::sum_terms<T>(sets.N, [=](std::int64_t j) { return g[j] * ((values[j] - mean) * r); });
      dy_sums[row] = static_cast<T>(of_dy);
      dyh_sums[row] = static_cast<T>(of_dyh);
      sum_g += static_cast<double>(gain[row % sets.C]) * of_dy;
      sum_gh += static_cast<double>(gain[row % sets.C]) * of_dyh;
    }
    const T mean_g = static_cast<T>(sum_g / sets.size()), mean_gh = static_cast<T>(sum_gh / sets.size());
    for (std::int64_t k = 0; k < sets.rows; ++k) {
      const std::int64_t row = sets.row(s, k);
      const T *values = x + row * sets.N, *g = dy + row * sets.N, a = gain[row % sets.C];
      T* const to = dx + row * sets.N;
#pragma omp simd
      for (std::int64_t j = 0; j < sets.N; ++j) to[j] = r * (a * g[j] - mean_g - (values[j] - mean) * r * mean_gh);
    }
  });
}

BatchNormResult normalised(const Operation& operation, const Tensor& x, std::int64_t groups, const Tensor& gain,
                           const Tensor& bias, double eps) {
  check_defined(operation.name(), {&x, &gain, &bias});
  check_eps(operation.name(), eps);
  const auto fits = [&](const Tensor& parameter) {
    return parameter.shape() == Shape{x.size(1)} && parameter.dtype() == x.dtype();
  };
  if (x.rank() < 2 || !fits(gain) || !fits(bias)) {
    fail("{}: expected x (B, C, ...), gain (C) and bias (C) of one dtype, got {} {}, {} {} and {} {}", operation.name(),
         to_string(x.dtype()), to_string(x.shape()), to_string(gain.dtype()), to_string(gain.shape()),
         to_string(bias.dtype()), to_string(bias.shape()));
  }
  if (x.numel() == 0) {
    const Tensor none = full(gain.shape(), std::nan(""), x.dtype());
    return {x * per_channel(gain, x) + per_channel(bias, x), none, none};
  }
  cpu::check_memory(operation.name(), x.shape(), x.dtype());
  const Sets sets = sets_of(x.shape(), groups);
  constexpr std::int64_t min_row =
      8;  // of shorter rows the loops over single numbers take longer than several operations
  const auto in_float64 = [&] {
    const auto wide = [](const Tensor& values) { return values.to(DType::float64); };
    const BatchNormResult result = normalised(operation, wide(x), groups, wide(gain), wide(bias), eps);
    return BatchNormResult{result.output.to(x.dtype()), result.mean.to(x.dtype()), result.variance.to(x.dtype())};
  };
  if (sets.N < min_row) {
    const BatchNormResult result = composed(x, groups, gain, bias, eps);
    if (x.dtype() == DType::float64) return result;
    const float* const variance = result.variance.data<float>();
    const bool all_usual = std::all_of(variance, variance + sets.count, [eps](float v) {
      return is_usual(static_cast<float>(1 / std::sqrt(static_cast<double>(v) + eps)));
    });
    return all_usual ? result : in_float64();
  }
  if (!x.is_contiguous()) return normalised(operation, contiguous(x), groups, gain, bias, eps);
  Tensor y(x.shape(), x.dtype()), statistics({3, sets.count}, x.dtype());
  const Tensor gains = contiguous(gain.detach()), shifts = contiguous(bias.detach());
  const bool is_usual = dispatch(x.dtype(), [&]<class T>() {
    const T *from = x.data<T>(), *a = gains.data<T>(), *b = shifts.data<T>();
    T *to = y.mutable_data<T>(), *means = statistics.mutable_data<T>(), *inverse = means + 2 * sets.count;
    if (!statistics_of(sets, from, eps, means, means + sets.count, inverse)) return false;
    sets.for_each([&](std::int64_t s) {
      for (std::int64_t k = 0; k < sets.rows; ++k) {
        const std::int64_t row = sets.row(s, k), first = row * sets.N;
        const T mean = means[s], factor = inverse[s] * a[row % sets.C], shift = b[row % sets.C];
#pragma omp simd
        for (std::int64_t i = first; i < first + sets.N; ++i) to[i] = (from[i] - mean) * factor + shift;
      }
    });
    return true;
  });
  if (!is_usual) {  // squares exceed the range of float32, or of float64
    return x.dtype() == DType::float64 ? composed(x, groups, gain, bias, eps) : in_float64();
  }
  const auto backward = [sets](const Tensor& dy, const Tensor& X, const Tensor& scale, const Tensor& moments) {
    const Tensor dense_dy = contiguous(dy), dense_scale = contiguous(scale);
    Tensor dx(X.shape(), X.dtype()), sums({2, X.size(0), sets.C}, X.dtype());
    dispatch(X.dtype(), [&]<class T>() {
      T* const of_rows = sums.mutable_data<T>();
      backward_of(sets, X.data<T>(), dense_scale.data<T>(), dense_dy.data<T>(), moments.data<T>(),
                  moments.data<T>() + 2 * sets.count, dx.mutable_data<T>(), of_rows, of_rows + X.size(0) * sets.C);
    });
    return std::vector{dx, sum(sums[1], 0), sum(sums[0], 0)};
  };
  const Tensor output =
      record(operation, {&x, &gain, &bias}, y, Saved(x, gain, statistics), backward,
             Recordable([eps, groups](const Tensor& dy, const Tensor& X, const Tensor& scale, const Tensor&) {
               const auto [values, axes] = in_sets(X, groups);
               const Tensor g = reshape(dy * per_channel(scale, X), values.shape());
               const Tensor centred = values - mean(values, axes, true);
               const Tensor r = 1 / sqrt(mean(square(centred), axes, true) + eps), h = centred * r;
               const Tensor dx = reshape(r * (g - mean(g, axes, true) - h * mean(g * h, axes, true)), X.shape());
               return std::vector{dx, sum(dy * reshape(h, X.shape()), axes_of(X)), sum(dy, axes_of(X))};
             }));
  return {output, statistics[0], statistics[1]};
}

std::vector<GradientSample> samples_of(Tensor (*norm)(const std::vector<Tensor>&)) {
  std::vector<GradientSample> samples;
  for (const Shape& shape : {Shape{2, 4, 8}, Shape{3, 2, 2, 5}, Shape{1, 2, 17}}) {
    samples.push_back({to_string(shape), {{shape}, {{shape[1]}}, {{shape[1]}}}, norm});
  }
  return samples;
}

}  // namespace

static const Operation batch_norm_operation(
    "batch_norm", "y = h gain + bias, h = r (x - mean(x)), r = 1 / sqrt(variance(x) + eps), for each channel",
    "dx = r (g - mean(g) - h mean(g h)), g = dy gain; dgain = sum(dy h), dbias = sum(dy)",
    [] { return samples_of([](const std::vector<Tensor>& x) { return batch_norm(x[0], x[1], x[2], 0.1).output; }); });
BatchNormResult batch_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps) {
  return normalised(batch_norm_operation, x, 0, gain, bias, eps);
}

static const Operation group_norm_operation(
    "group_norm", "y = h gain + bias, h = r (x - mean(x)), r = 1 / sqrt(variance(x) + eps), for each group of channels",
    "dx = r (g - mean(g) - h mean(g h)), g = dy gain; dgain = sum(dy h), dbias = sum(dy)",
    [] { return samples_of([](const std::vector<Tensor>& x) { return group_norm(x[0], 2, x[1], x[2], 0.1); }); });
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& gain, const Tensor& bias, double eps) {
  check_defined("group_norm", {&x});
  if (x.rank() >= 2 && (groups < 1 || x.size(1) % groups != 0)) {
    fail("group_norm: {} channels cannot form {} equal groups", x.size(1), groups);
  }
  return normalised(group_norm_operation, x, groups, gain, bias, eps).output;
}

}  // namespace heed
