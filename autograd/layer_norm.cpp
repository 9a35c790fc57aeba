#include "autograd/kernels.h"
#include "autograd/operation.h"
#include "autograd/ops.h"
#include "autograd/reduce.h"

#include <cmath>

namespace heed {

// xh = (x - mean) / sqrt(variance + eps), y = xh * gain + bias
// dx = r (g - mean(g) - xh mean(g * xh)), g = dy * gain, r = 1 / sqrt(variance + eps)
// dgain = sum of dy * xh over rows, dbias = sum of dy over rows
static const Operation layer_norm_operation("layer_norm", [] {
  const auto norm = [](const std::vector<Tensor>& x) { return layer_norm(x[0], x[1], x[2]); };
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 2, 4}, Shape{0, 4}}) {
    samples.push_back({to_string(shape), {{shape}, {{4}}, {{4}}}, norm});
  }
  samples.push_back(
      {"without gain and bias", {{{2, 4}}}, [](const std::vector<Tensor>& x) { return layer_norm(x[0], {}, {}); }});
  samples.push_back({"one column", {{{2, 1}}, {{1}}, {{1}}}, norm});
  return samples;
});
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps) {
  if (x.rank() < 1) fail("layer_norm: expected at least one axis, got shape ()");
  const std::int64_t n = x.size(-1), rows = n ? x.elements() / n : 0;
  for (const Tensor* parameter : {&gain, &bias}) {
    if (parameter->defined() != gain.defined() ||
        (parameter->defined() && (parameter->shape() != Shape{n} || parameter->dtype() != x.dtype()))) {
      fail("layer_norm: x {} {} needs gain and bias of shape ({}) and its dtype, or neither", to_string(x.dtype()),
           to_string(x.shape()), n);
    }
  }
  const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(n, 1));
  const Tensor dense = contiguous(x.detach());
  const Tensor scale = gain.defined() ? contiguous(gain.detach()) : ones({n}, x.dtype());
  const Tensor shift = bias.defined() ? contiguous(bias.detach()) : zeros({n}, x.dtype());
  Tensor y(x.shape(), x.dtype()), xh(x.shape(), x.dtype()), r({rows}, x.dtype());
  dispatch(x.dtype(), [&]<class T>() {
    const T *from = dense.data<T>(), *a = scale.data<T>(), *b = shift.data<T>();
    T *to = y.mutable_data<T>(), *normal = xh.mutable_data<T>(), *inverse = r.mutable_data<T>();
    parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* row = from + i * n;
        T *h = normal + i * n, *out = to + i * n;
        const T mu = static_cast<T>(sum_row(row, n) / static_cast<double>(n));
        for (std::int64_t j = 0; j < n; ++j) h[j] = (row[j] - mu) * (row[j] - mu);
        const double variance = sum_row(h, n) / static_cast<double>(n);
        inverse[i] = static_cast<T>(1 / std::sqrt(variance + eps));
        for (std::int64_t j = 0; j < n; ++j) {
          h[j] = (row[j] - mu) * inverse[i];
          out[j] = h[j] * a[j] + b[j];
        }
      }
    });
  });
  const auto gradients = [xh, r, scale, n, rows, grain](const Tensor& dy) {
    const Tensor dense_dy = contiguous(dy);
    Tensor dx(xh.shape(), xh.dtype()), dy_xh(xh.shape(), xh.dtype());
    dispatch(xh.dtype(), [&]<class T>() {
      const T *g = dense_dy.data<T>(), *normal = xh.data<T>(), *a = scale.data<T>(), *inverse = r.data<T>();
      T *to = dx.mutable_data<T>(), *products = dy_xh.mutable_data<T>();
      parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T *row = g + i * n, *h = normal + i * n;
          T *out = to + i * n, *product = products + i * n;
          for (std::int64_t j = 0; j < n; ++j) product[j] = row[j] * a[j] * h[j];
          const T mean_gh = static_cast<T>(sum_row(product, n) / static_cast<double>(n));
          for (std::int64_t j = 0; j < n; ++j) out[j] = row[j] * a[j];
          const T mean_g = static_cast<T>(sum_row(out, n) / static_cast<double>(n));
          for (std::int64_t j = 0; j < n; ++j) {
            out[j] = inverse[i] * (out[j] - mean_g - h[j] * mean_gh);
            product[j] = row[j] * h[j];
          }
        }
      });
    });
    const Shape flat{rows, n};
    return std::vector{dx, sum(reshape(dy_xh, flat), {0}), sum(reshape(dense_dy, flat), {0})};
  };
  if (gain.defined()) return record(layer_norm_operation, {&x, &gain, &bias}, y, gradients);
  return record(layer_norm_operation, {&x}, y, [gradients](const Tensor& dy) { return std::vector{gradients(dy)[0]}; });
}

}  // namespace heed
