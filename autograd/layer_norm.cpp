#include "autograd/cpu/kernels.h"
#include "autograd/cpu/sums.h"
#include "autograd/internal/norm.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// How layer_norm, which is centred, and rms_norm differ.
struct Rule {
  bool is_centred;  // whether the mean is subtracted
  double eps;
};

// The mean and 1 / sqrt(variance + eps) of a row.
struct RowStatistics {
  double mean = 0, inverse = 0;
};

// Computes them in double, of the row divided by its largest element.
template <class T>
RowStatistics statistics_in_double(const Rule& rule, const T* row, std::int64_t n) {
  double largest = 0, mean = 0, squares = 0;
  for (std::int64_t j = 0; j < n; ++j) largest = std::max(largest, std::abs(static_cast<double>(row[j])));
  if (largest == 0) largest = 1;
  for (std::int64_t j = 0; j < n && rule.is_centred; ++j) mean += static_cast<double>(row[j]) / largest;
  mean /= static_cast<double>(n);
  for (std::int64_t j = 0; j < n; ++j) {
    const double d = static_cast<double>(row[j]) / largest - mean;
    squares += d * d;
  }
  const double deviation = largest * std::sqrt(squares / static_cast<double>(n));
  return {mean * largest, 1 / std::hypot(deviation, std::sqrt(rule.eps))};
}

// Computes a row that is_usual() tells from others, in double; b may be null.
template <class T>
[[gnu::cold, gnu::noinline]] void forward_row_in_double(const Rule& rule, const T* x, const T* a, const T* b, T* y,
                                                        std::int64_t n) {
  const auto [mean, r] = statistics_in_double(rule, x, n);
  for (std::int64_t j = 0; j < n; ++j) {
    const double h = (static_cast<double>(x[j]) - mean) * r;
    y[j] = static_cast<T>(h * static_cast<double>(a[j]) + (b ? static_cast<double>(b[j]) : 0));
  }
}

template <class T>
[[gnu::cold, gnu::noinline]] void backward_row_in_double(const Rule& rule, const T* x, const T* gain, const T* dy,
                                                         T* dx, T* dgain, T* dbias, std::int64_t n) {
  const RowStatistics statistics = statistics_in_double(rule, x, n);
  const auto h = [&](std::int64_t j) { return (static_cast<double>(x[j]) - statistics.mean) * statistics.inverse; };
  const auto g = [&](std::int64_t j) { return static_cast<double>(dy[j]) * static_cast<double>(gain[j]); };
  double mean_g = 0, mean_gh = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    if (rule.is_centred) mean_g += g(j) / static_cast<double>(n);
    mean_gh += g(j) * h(j) / static_cast<double>(n);
  }
  for (std::int64_t j = 0; j < n; ++j) {
    dx[j] = static_cast<T>(statistics.inverse * (g(j) - mean_g - h(j) * mean_gh));
    dgain[j] += static_cast<T>(static_cast<double>(dy[j]) * h(j));
    dbias[j] += dy[j];
  }
}

template <class T>
void backward_row(const Rule& rule, const T* x, T mean, T r, const T* gain, const T* dy, T* dx, T* dgain, T* dbias,
                  std::int64_t n) {
  const double count = static_cast<double>(n);
  const T mean_g = rule.is_centred ? static_cast<T>(cpu::dot_row(dy, gain, n) / count) : T{0};
  const T mean_gh = static_cast<T>(
      cpu::sum_terms<T>(n, [=](std::int64_t j) { return dy[j] * gain[j] * ((x[j] - mean) * r); }) / count);
  if (!is_usual(r) || !std::isfinite(mean_g) || !std::isfinite(mean_gh)) [[unlikely]] {
    return backward_row_in_double(rule, x, gain, dy, dx, dgain, dbias, n);
  }
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) {
    const T h = (x[j] - mean) * r;
    dx[j] = r * (dy[j] * gain[j] - mean_g - h * mean_gh);
    dgain[j] += dy[j] * h;
    dbias[j] += dy[j];
  }
}

// y = (x - mean) / sqrt(mean of (x - mean)^2 + eps) * gain + bias; the mean is 0 without centring.
Tensor normalised(const Operation& operation, const Rule& rule, const Tensor& x, const Tensor& gain,
                  const Tensor& bias) {
  const auto is_dense = [](const Tensor& t) { return !t.defined() || t.is_contiguous(); };
  if (!is_dense(x) || !is_dense(gain)) {
    return normalised(operation, rule, contiguous(x), gain.defined() ? contiguous(gain) : gain, bias);
  }
  const std::int64_t n = x.size(-1), rows = n ? x.numel() / n : 0;
  const std::int64_t grain = cpu::row_grain(rows, n);
  const Tensor scale = gain.defined() ? gain : ones({rows > 0 ? n : 0}, x.dtype());
  const Tensor shift = bias.defined() ? contiguous(bias.detach()) : Tensor();
  Tensor y(x.shape(), x.dtype()), statistics({2, rows}, x.dtype());  // mean, 1 / sqrt(...)
  dispatch(x.dtype(), [&]<class T>() {
    const T *from = x.data<T>(), *a = scale.data<T>(), *b = shift.defined() ? shift.data<T>() : nullptr;
    T *to = y.mutable_data<T>(), *means = statistics.mutable_data<T>(), *inverse = means + rows;
    cpu::parallel_for(rows, grain, [=](std::int64_t begin, std::int64_t end) {
      const cpu::StreamScope scope;
      // rows per round, so that several independent sums overlap; long ones must stay in the first cache
      const std::int64_t together = n < 512 ? 8 : 2;
      const double count = static_cast<double>(n);
      for (std::int64_t first = begin, last; first < end; first = last) {
        last = std::min(end, first + together);
        for (std::int64_t i = first; i < last; ++i) {
          means[i] = rule.is_centred ? static_cast<T>(cpu::sum_row(from + i * n, n) / count) : T{0};
        }
        for (std::int64_t i = first; i < last; ++i) {
          const auto sum = [row = from + i * n, n](auto f) {
            return cpu::sum_terms<T>(n, [=](std::int64_t k) { return f(row[k]); });
          };
          const double squares = squares_around(means[i], count, sum);  // without centring the mean is 0 and stays so
          inverse[i] = static_cast<T>(1 / std::sqrt(squares / count + rule.eps));  // 0 or NaN if squares are not finite
        }
        for (std::int64_t i = first; i < last; ++i) {
          const T *row = from + i * n, mu = means[i], inv = inverse[i];
          const cpu::Part<T> part(to + i * n, n, rows * n);
          T* const out = part.data();
          if (!is_usual(inv)) [[unlikely]] {
            forward_row_in_double(rule, row, a, b, out, n);
          } else if (b) {
#pragma omp simd
            for (std::int64_t j = 0; j < n; ++j) out[j] = (row[j] - mu) * inv * a[j] + b[j];
          } else {
#pragma omp simd
            for (std::int64_t j = 0; j < n; ++j) out[j] = (row[j] - mu) * inv * a[j];
          }
        }
      }
    });
  });
  return record(
      operation, {&x, &gain, &bias}, y, Saved(x, statistics, scale),
      [rule, n, rows](const Tensor& dy, const NeedsInputGrad& needs, const Tensor& X, const Tensor& moments,
                      const Tensor& gains) {
        // Divides the rows into parts, each with its own sums for dgain and dbias.
        constexpr std::int64_t elements_a_part = 16384;
        const std::int64_t max_rows = std::max<std::int64_t>(1, elements_a_part / std::max<std::int64_t>(n, 1));
        const std::int64_t rows_a_part = cpu::equal_grain(rows, max_rows);
        const std::int64_t parts = (rows + rows_a_part - 1) / rows_a_part;
        const Tensor dense_dy = contiguous(dy);
        Tensor dx(X.shape(), X.dtype()), sums({parts, 2, n}, X.dtype());
        dispatch(X.dtype(), [&]<class T>() {
          const T *x_data = X.data<T>(), *dy_data = dense_dy.data<T>();
          const T *means = moments.data<T>(), *inverse = means + rows;
          const T* a = gains.data<T>();
          T *to = dx.mutable_data<T>(), *totals = sums.mutable_data<T>();
          cpu::parallel_for(rows, rows_a_part, [=](std::int64_t begin, std::int64_t end) {
            const cpu::StreamScope scope;
            T* part = totals + begin / rows_a_part * 2 * n;
            std::fill_n(part, 2 * n, T{0});
            for (std::int64_t i = begin; i < end; ++i) {
              const cpu::Part<T> row(to + i * n, n, rows * n);
              backward_row(rule, x_data + i * n, means[i], inverse[i], a, dy_data + i * n, row.data(), part, part + n,
                           n);
            }
          });
        });
        if (!needs[1] && !needs[2]) return std::vector{dx, Tensor(), Tensor()};
        const Tensor total = sum(sums, {0});  // (2, n)
        return std::vector{dx, reshape(slice(total, 0, 0, 1), {n}), reshape(slice(total, 0, 1, 2), {n})};
      },
      Recordable([rule, n, rows](const Tensor& dy, const NeedsInputGrad& needs, const Tensor& X, const Tensor&,
                                 const Tensor& gains) {
        const Tensor centred = rule.is_centred ? X - mean(X, {-1}, true) : X;
        const Tensor r = 1 / sqrt(mean(square(centred), {-1}, true) + rule.eps), h = centred * r;
        const Tensor g = rows > 0 ? dy * gains : dy;  // without rows, ones may stand for no gain in another shape
        const Tensor rest = g - h * mean(g * h, {-1}, true);
        const Tensor dx = r * (rule.is_centred ? rest - mean(g, {-1}, true) : rest);
        const auto over_rows = [=](const Tensor& v) { return sum(reshape(v, {rows, n}), {0}); };
        return std::vector{dx, needs[1] ? over_rows(dy * h) : Tensor(), needs[2] ? over_rows(dy) : Tensor()};
      }));
}

bool fits_row(const Tensor& parameter, const Tensor& x) {
  return parameter.shape() == Shape{x.size(-1)} && parameter.dtype() == x.dtype();
}

}  // namespace

static const Operation layer_norm_operation(
    "layer_norm", "y = h gain + bias, h = r (x - mean(x)), r = 1 / sqrt(variance(x) + eps)",
    "dx = r (g - mean(g) - h mean(g h)), g = dy gain; over rows: dgain = sum(dy h), dbias = sum(dy)", [] {
      const auto norm = [](auto& x) { return layer_norm(x[0], x[1], x[2]); };
      std::vector<GradientSample> samples;
      for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 2, 4}, Shape{0, 4}}) {
        samples.push_back({to_string(shape), {{shape}, {{4}}, {{4}}}, norm});
      }
      samples.push_back({"without gain and bias", {{{2, 4}}}, [](auto& x) { return layer_norm(x[0], {}, {}); }});
      samples.push_back({"without bias", {{{2, 4}}, {{4}}}, [](auto& x) { return layer_norm(x[0], x[1], {}); }});
      samples.push_back({"one column", {{{2, 1}}, {{1}}, {{1}}}, norm});
      return samples;
    });
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps) {
  check_defined("layer_norm", {&x});
  check_eps("layer_norm", eps);
  if (x.rank() < 1) fail("layer_norm: expected at least one axis, got shape ()");
  for (const Tensor* parameter : {&gain, &bias}) {
    if (!parameter->defined() || (gain.defined() && fits_row(*parameter, x))) continue;
    fail(
        "layer_norm: x {} {} needs gain and bias of shape ({}) and its dtype, a gain alone, or two undefined tensors; "
        "got {}",
        to_string(x.dtype()), to_string(x.shape()), x.size(-1),
        !gain.defined() ? "a bias alone"
                        : fmt::format("{} {}", to_string(parameter->dtype()), to_string(parameter->shape())));
  }
  return normalised(layer_norm_operation, {.is_centred = true, .eps = eps}, x, gain, bias);
}

static const Operation rms_norm_operation(
    "rms_norm", "y = h gain, h = r x, r = 1 / sqrt(mean(x^2) + eps)",
    "dx = r (g - h mean(g h)), g = dy gain; over rows: dgain = sum(dy h)", [] {
      std::vector<GradientSample> samples;
      for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 2, 4}, Shape{0, 4}}) {
        samples.push_back({to_string(shape), {{shape}, {{4}}}, [](auto& x) { return rms_norm(x[0], x[1], 0.1); }});
      }
      samples.push_back({"without gain", {{{2, 4}}}, [](auto& x) { return rms_norm(x[0], {}); }});
      return samples;
    });
Tensor rms_norm(const Tensor& x, const Tensor& gain, double eps) {
  check_defined("rms_norm", {&x});
  check_eps("rms_norm", eps);
  if (x.rank() < 1 || (gain.defined() && !fits_row(gain, x))) {
    fail(
        "rms_norm: x {} {} needs at least one axis, and a gain of its last one's size and of its dtype, or none; got "
        "{} {}",
        to_string(x.dtype()), to_string(x.shape()), to_string(gain.dtype()), to_string(gain.shape()));
  }
  return normalised(rms_norm_operation, {.is_centred = false, .eps = eps}, x, gain, {});
}

}  // namespace heed
