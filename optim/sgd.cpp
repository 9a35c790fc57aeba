#include <heed/autograd/ops.h>
#include <heed/optim/update.h>

namespace heed {

Update sgd_update(Tensor parameter, const Tensor& gradient, double gradient_factor, Tensor* b, double lr,
                  double weight_decay, const OptimizerOptions& options) {
  const Tensor dense = contiguous(gradient);
  return dispatch(parameter.dtype(), [&]<class T>() -> Update {
    const T rate = static_cast<T>(lr), decay = static_cast<T>(weight_decay);
    const T momentum = static_cast<T>(options.momentum), factor = static_cast<T>(gradient_factor);
    T* const p = parameter.mutable_data<T>();
    T* const buffer = b ? b->mutable_data<T>() : nullptr;
    return [=, nesterov = options.nesterov](std::int64_t begin, std::int64_t end) {
      const T* const dp = dense.data<T>();
      for (std::int64_t i = begin; i < end; ++i) {
        const T g = factor * dp[i] + decay * p[i];
        T direction = g;
        if (buffer) {
          buffer[i] = momentum * buffer[i] + g;
          direction = nesterov ? g + momentum * buffer[i] : buffer[i];
        }
        p[i] -= rate * direction;
      }
    };
  });
}

}  // namespace heed
