#include <heed/autograd/ops.h>
#include <heed/optim/update.h>

#include <cmath>

namespace heed {

Update adam_update(Tensor parameter, const Tensor& gradient, double gradient_factor, Tensor& m, Tensor& v,
                   std::int64_t t, double lr, double weight_decay, const OptimizerOptions& options) {
  const Tensor dense = contiguous(gradient);
  const bool decoupled = options.method == OptimizerOptions::Method::adamw;
  const double correction1 = 1 - std::pow(options.beta1, static_cast<double>(t));
  const double correction2 = 1 - std::pow(options.beta2, static_cast<double>(t));
  return dispatch(parameter.dtype(), [&]<class T>() -> Update {
    const T coupled_decay = static_cast<T>(decoupled ? 0 : weight_decay);
    const T kept = static_cast<T>(decoupled ? 1 - lr * weight_decay : 1);
    const T beta1 = static_cast<T>(options.beta1), new1 = static_cast<T>(1 - options.beta1);
    const T beta2 = static_cast<T>(options.beta2), new2 = static_cast<T>(1 - options.beta2);
    const T rate = static_cast<T>(lr / correction1), eps = static_cast<T>(options.eps);
    const T scale = static_cast<T>(1 / std::sqrt(correction2)), factor = static_cast<T>(gradient_factor);
    T *const p = parameter.mutable_data<T>(), *const first = m.mutable_data<T>(), *const second = v.mutable_data<T>();
    return [=](std::int64_t begin, std::int64_t end) {
      const T* const dp = dense.data<T>();
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        const T g = factor * dp[i] + coupled_decay * p[i];
        const T new_first = beta1 * first[i] + new1 * g, new_second = beta2 * second[i] + new2 * g * g;
        first[i] = new_first;
        second[i] = new_second;
        p[i] = kept * p[i] - rate * new_first / (std::sqrt(new_second) * scale + eps);
      }
    };
  });
}

}  // namespace heed
