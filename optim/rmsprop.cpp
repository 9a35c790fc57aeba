#include <heed/autograd/ops.h>
#include <heed/optim/update_rule.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace heed {
namespace {

// g += weight_decay p;  v = alpha v + (1 - alpha) g^2;  a = alpha a + (1 - alpha) g;
// d = g / (sqrt(centered ? v - a^2 : v) + eps);  b = momentum b + d;  p -= rate b
class Rmsprop : public UpdateRule {
 public:
  Rmsprop(const Tensor& parameter, const OptimizerOptions& options)
      : options_(options.rmsprop), eps_(options.eps), v_(zeros(parameter.shape(), parameter.dtype())) {
    if (options_.centered) a_ = zeros(parameter.shape(), parameter.dtype());
    if (options_.momentum != 0) b_ = zeros(parameter.shape(), parameter.dtype());
  }

  NamedTensors state() const override {
    NamedTensors state{{"v", v_}};
    if (a_.defined()) state.emplace_back("a", a_);
    if (b_.defined()) state.emplace_back("b", b_);
    return state;
  }

  ElementUpdate update(Tensor parameter, const Tensor& gradient, const UpdateSettings& settings) override {
    const Tensor dense = contiguous(gradient);
    return dispatch(parameter.dtype(), [&]<class T>() -> ElementUpdate {
      const T rate = static_cast<T>(settings.rate), decay = static_cast<T>(settings.weight_decay);
      const T factor = static_cast<T>(settings.gradient_factor), eps = static_cast<T>(eps_);
      const T alpha = static_cast<T>(options_.alpha), rest = static_cast<T>(1 - options_.alpha);
      const T momentum = static_cast<T>(options_.momentum);
      T *const p = parameter.mutable_data<T>(), *const v = v_.mutable_data<T>();
      T* const a = a_.defined() ? a_.mutable_data<T>() : nullptr;
      T* const b = b_.defined() ? b_.mutable_data<T>() : nullptr;
      return [=](std::int64_t begin, std::int64_t end) {
        const T* const dp = dense.data<T>();
        const auto each = [=](auto is_centered, auto has_momentum) {  // constants, so that the loop vectorises
#pragma omp simd
          for (std::int64_t i = begin; i < end; ++i) {
            const T g = factor * dp[i] + decay * p[i];
            T square = v[i] = alpha * v[i] + rest * g * g;
            if constexpr (is_centered) {
              a[i] = alpha * a[i] + rest * g;
              square = std::max(square - a[i] * a[i], T{0});
            }
            T direction = g / (std::sqrt(square) + eps);
            if constexpr (has_momentum) direction = b[i] = momentum * b[i] + direction;
            p[i] -= rate * direction;
          }
        };
        const auto chosen = [=](auto is_centered) {
          b ? each(is_centered, std::true_type()) : each(is_centered, std::false_type());
        };
        a ? chosen(std::true_type()) : chosen(std::false_type());
      };
    });
  }

 private:
  OptimizerOptions::Rmsprop options_;
  double eps_;
  Tensor v_, a_, b_;  // a_ undefined unless centered, b_ without momentum
};

}  // namespace

std::unique_ptr<UpdateRule> rmsprop_rule(const Tensor& parameter, const OptimizerOptions& options) {
  check_decay("rmsprop.alpha", options.rmsprop.alpha);
  check_decay("rmsprop.momentum", options.rmsprop.momentum);
  check_eps(options.eps);
  return std::make_unique<Rmsprop>(parameter, options);
}

}  // namespace heed
