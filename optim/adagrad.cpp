#include <heed/autograd/ops.h>
#include <heed/optim/update_rule.h>

#include <cmath>

namespace heed {
namespace {

// g += weight_decay p;  v = v + g^2;  p -= rate g / (sqrt(v) + eps)
class Adagrad : public UpdateRule {
 public:
  Adagrad(const Tensor& parameter, double eps) : eps_(eps), v_(zeros(parameter.shape(), parameter.dtype())) {}

  NamedTensors state() const override { return {{"v", v_}}; }

  ElementUpdate update(Tensor parameter, const Tensor& gradient, const UpdateSettings& settings) override {
    const Tensor dense = contiguous(gradient);
    return dispatch(parameter.dtype(), [&]<class T>() -> ElementUpdate {
      const T rate = static_cast<T>(settings.rate), decay = static_cast<T>(settings.weight_decay);
      const T factor = static_cast<T>(settings.gradient_factor), eps = static_cast<T>(eps_);
      T *const p = parameter.mutable_data<T>(), *const v = v_.mutable_data<T>();
      return [=](std::int64_t begin, std::int64_t end) {
        const T* const dp = dense.data<T>();
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) {
          const T g = factor * dp[i] + decay * p[i];
          v[i] += g * g;
          p[i] -= rate * g / (std::sqrt(v[i]) + eps);
        }
      };
    });
  }

 private:
  double eps_;
  Tensor v_;
};

}  // namespace

std::unique_ptr<UpdateRule> adagrad_rule(const Tensor& parameter, const OptimizerOptions& options) {
  check_eps(options.eps);
  return std::make_unique<Adagrad>(parameter, options.eps);
}

}  // namespace heed
