#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/optim/update_rule.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// Returns approximately U V^T for x = U S V^T: the iteration x = a x + b (x x^T) x + c (x x^T)^2 x moves all singular values of
// x / |x| to about 1. Coefficients of Jordan et al. 2024.
Tensor newton_schulz(Tensor x, int iterations) {
  const bool is_tall = x.size(0) > x.size(1);  // the products are smaller for a wide matrix
  if (is_tall) x = contiguous(transpose(x));
  x = x / std::max(std::sqrt(sum_of_squares(x)), 1e-7);
  for (int i = 0; i < iterations; ++i) {
    const Tensor gram = matmul(x, transpose(x));
    x = 3.4445 * x + matmul(-4.7750 * gram + 2.0315 * matmul(gram, gram), x);
  }
  return is_tall ? contiguous(transpose(x)) : x;
}

// b = momentum b + (1 - momentum) g;  p -= rate weight_decay p;
// p -= rate scale newton_schulz(nesterov ? momentum b + (1 - momentum) g : b)
class Muon : public UpdateRule {
 public:
  Muon(const Tensor& parameter, const OptimizerOptions::Muon& options)
      : options_(options), b_(zeros(parameter.shape(), parameter.dtype())) {}

  NamedTensors state() const override { return {{"b", b_}}; }

  ElementUpdate update(Tensor parameter, const Tensor& gradient, const UpdateSettings& settings) override {
    const NoRecording constants;
    const double momentum = options_.momentum;
    const Tensor g = (settings.gradient_factor * (1 - momentum)) * gradient;
    b_.copy_from(momentum * b_ + g);
    const Tensor direction = newton_schulz(options_.nesterov ? momentum * b_ + g : b_, options_.iterations);
    const double in = static_cast<double>(parameter.size(0)), out = static_cast<double>(parameter.size(1));
    const double scale = options_.match_adamw ? 0.2 * std::sqrt(std::max(in, out)) : std::sqrt(std::max(1.0, out / in));
    return dispatch(parameter.dtype(), [&]<class T>() -> ElementUpdate {
      const T rate = static_cast<T>(settings.rate * scale);
      const T kept = static_cast<T>(1 - settings.rate * settings.weight_decay);
      T* const p = parameter.mutable_data<T>();
      return [=](std::int64_t begin, std::int64_t end) {
        const T* const d = direction.data<T>();
        for (std::int64_t i = begin; i < end; ++i) p[i] = kept * p[i] - rate * d[i];
      };
    });
  }

 private:
  OptimizerOptions::Muon options_;
  Tensor b_;
};

}  // namespace

std::unique_ptr<UpdateRule> muon_rule(const Tensor& parameter, const OptimizerOptions& options) {
  check_decay("muon.momentum", options.muon.momentum);
  if (options.muon.iterations < 1)
    fail("Optimizer: muon.iterations must be at least 1, got {}", options.muon.iterations);
  check_adam(options);  // also where all parameters are matrices
  if (parameter.rank() != 2) return adam_rule(parameter, options);
  return std::make_unique<Muon>(parameter, options.muon);
}

}  // namespace heed
