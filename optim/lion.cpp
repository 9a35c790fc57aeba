#include <heed/autograd/ops.h>
#include <heed/optim/update_rule.h>

namespace heed {
namespace {

// p -= rate weight_decay p;  p -= rate sign(beta1 m + (1 - beta1) g);  m = beta2 m + (1 - beta2) g
class Lion : public UpdateRule {
 public:
  Lion(const Tensor& parameter, const OptimizerOptions::Lion& options)
      : options_(options), m_(zeros(parameter.shape(), parameter.dtype())) {}

  NamedTensors state() const override { return {{"m", m_}}; }

  ElementUpdate update(Tensor parameter, const Tensor& gradient, const UpdateSettings& settings) override {
    const Tensor dense = contiguous(gradient);
    return dispatch(parameter.dtype(), [&]<class T>() -> ElementUpdate {
      const T rate = static_cast<T>(settings.rate), factor = static_cast<T>(settings.gradient_factor);
      const T kept = static_cast<T>(1 - settings.rate * settings.weight_decay);
      const T beta1 = static_cast<T>(options_.beta1), new1 = static_cast<T>(1 - options_.beta1);
      const T beta2 = static_cast<T>(options_.beta2), new2 = static_cast<T>(1 - options_.beta2);
      T *const p = parameter.mutable_data<T>(), *const m = m_.mutable_data<T>();
      return [=](std::int64_t begin, std::int64_t end) {
        const T* const dp = dense.data<T>();
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) {
          const T g = factor * dp[i], direction = beta1 * m[i] + new1 * g;
          const T sign = static_cast<T>(direction > 0) - static_cast<T>(direction < 0);
          p[i] = kept * p[i] - rate * sign;
          m[i] = beta2 * m[i] + new2 * g;
        }
      };
    });
  }

 private:
  OptimizerOptions::Lion options_;
  Tensor m_;
};

}  // namespace

std::unique_ptr<UpdateRule> lion_rule(const Tensor& parameter, const OptimizerOptions& options) {
  check_decay("lion.beta1", options.lion.beta1);
  check_decay("lion.beta2", options.lion.beta2);
  return std::make_unique<Lion>(parameter, options.lion);
}

}  // namespace heed
