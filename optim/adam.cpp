#include <heed/autograd/ops.h>
#include <heed/optim/update_rule.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace heed {
namespace {

// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
// p -= rate / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)
// With amsgrad, the largest v so far stands for v in the last line. Weight decay is a part of g, or decoupled from it (AdamW).
class Adam : public UpdateRule {
 public:
  Adam(const Tensor& parameter, const OptimizerOptions& options)
      : beta1_(options.beta1),
        beta2_(options.beta2),
        eps_(options.eps),
        decoupled_(options.method != OptimizerOptions::Method::adam),
        m_(zeros(parameter.shape(), parameter.dtype())),
        v_(zeros(parameter.shape(), parameter.dtype())) {
    if (options.amsgrad) v_max_ = zeros(parameter.shape(), parameter.dtype());
  }

  NamedTensors state() const override {
    NamedTensors state{{"m", m_}, {"v", v_}};
    if (v_max_.defined()) state.emplace_back("v_max", v_max_);
    return state;
  }

  ElementUpdate update(Tensor parameter, const Tensor& gradient, const UpdateSettings& settings) override {
    const Tensor dense = contiguous(gradient);
    const double correction1 = 1 - std::pow(beta1_, static_cast<double>(settings.t));
    const double correction2 = 1 - std::pow(beta2_, static_cast<double>(settings.t));
    return dispatch(parameter.dtype(), [&]<class T>() -> ElementUpdate {
      const T coupled_decay = static_cast<T>(decoupled_ ? 0 : settings.weight_decay);
      const T kept = static_cast<T>(decoupled_ ? 1 - settings.rate * settings.weight_decay : 1);
      const T beta1 = static_cast<T>(beta1_), new1 = static_cast<T>(1 - beta1_);
      const T beta2 = static_cast<T>(beta2_), new2 = static_cast<T>(1 - beta2_);
      const T rate = static_cast<T>(settings.rate / correction1), eps = static_cast<T>(eps_);
      const T scale = static_cast<T>(1 / std::sqrt(correction2)), factor = static_cast<T>(settings.gradient_factor);
      T *const p = parameter.mutable_data<T>(), *const m = m_.mutable_data<T>(), *const v = v_.mutable_data<T>();
      T* const v_max = v_max_.defined() ? v_max_.mutable_data<T>() : nullptr;
      return [=](std::int64_t begin, std::int64_t end) {
        const T* const dp = dense.data<T>();
        const auto each = [=](auto is_amsgrad) {  // a constant, so that the loop vectorises
#pragma omp simd
          for (std::int64_t i = begin; i < end; ++i) {
            const T g = factor * dp[i] + coupled_decay * p[i];
            const T new_m = beta1 * m[i] + new1 * g;
            T new_v = beta2 * v[i] + new2 * g * g;
            m[i] = new_m;
            v[i] = new_v;
            if constexpr (is_amsgrad) new_v = v_max[i] = std::max(v_max[i], new_v);
            p[i] = kept * p[i] - rate * new_m / (std::sqrt(new_v) * scale + eps);
          }
        };
        v_max ? each(std::true_type()) : each(std::false_type());
      };
    });
  }

 private:
  double beta1_, beta2_, eps_;
  bool decoupled_;
  Tensor m_, v_, v_max_;  // v_max_ undefined without amsgrad
};

}  // namespace

void check_eps(double eps) {
  if (!(eps > 0 && std::isfinite(eps))) fail("Optimizer: eps must be finite and above 0, got {}", eps);
}

void check_adam(const OptimizerOptions& options) {
  check_decay("beta1", options.beta1);
  check_decay("beta2", options.beta2);
  check_eps(options.eps);
}

std::unique_ptr<UpdateRule> adam_rule(const Tensor& parameter, const OptimizerOptions& options) {
  check_adam(options);
  return std::make_unique<Adam>(parameter, options);
}

}  // namespace heed
