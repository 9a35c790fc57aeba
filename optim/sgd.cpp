#include <heed/autograd/ops.h>
#include <heed/optim/update_rule.h>

#include <type_traits>

namespace heed {
namespace {

// g += weight_decay p;  b = momentum b + g;  p -= rate (nesterov ? g + momentum b : b)
class Sgd : public UpdateRule {
 public:
  Sgd(const Tensor& parameter, double momentum, bool nesterov)
      : momentum_(momentum),
        nesterov_(nesterov),
        b_(momentum != 0 ? zeros(parameter.shape(), parameter.dtype()) : Tensor()) {}

  NamedTensors state() const override { return b_.defined() ? NamedTensors{{"b", b_}} : NamedTensors{}; }

  ElementUpdate update(Tensor parameter, const Tensor& gradient, const UpdateSettings& settings) override {
    const Tensor dense = contiguous(gradient);
    return dispatch(parameter.dtype(), [&]<class T>() -> ElementUpdate {
      const T rate = static_cast<T>(settings.rate), decay = static_cast<T>(settings.weight_decay);
      const T momentum = static_cast<T>(momentum_), factor = static_cast<T>(settings.gradient_factor);
      T* const p = parameter.mutable_data<T>();
      T* const b = b_.defined() ? b_.mutable_data<T>() : nullptr;
      return [=, nesterov = nesterov_](std::int64_t begin, std::int64_t end) {
        const T* const dp = dense.data<T>();
        const auto each = [=](auto has_momentum) {  // a constant, so that the loop vectorises
#pragma omp simd
          for (std::int64_t i = begin; i < end; ++i) {
            const T g = factor * dp[i] + decay * p[i];
            T direction = g;
            if constexpr (has_momentum) {
              b[i] = momentum * b[i] + g;
              direction = nesterov ? g + momentum * b[i] : b[i];
            }
            p[i] -= rate * direction;
          }
        };
        b ? each(std::true_type()) : each(std::false_type());
      };
    });
  }

 private:
  double momentum_;
  bool nesterov_;
  Tensor b_;  // undefined without momentum
};

}  // namespace

std::unique_ptr<UpdateRule> sgd_rule(const Tensor& parameter, const OptimizerOptions& options) {
  check_decay("momentum", options.momentum);
  if (options.nesterov && options.momentum == 0) fail("Optimizer: nesterov needs sgd with a momentum above 0");
  return std::make_unique<Sgd>(parameter, options.momentum, options.nesterov);
}

}  // namespace heed
