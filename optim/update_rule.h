#pragma once
#include <heed/optim/optimizer.h>

#include <functional>
#include <memory>

namespace heed {

/// Updates elements [begin, end) of a parameter in one pass. Any thread may call it. Update each element exactly once.
using ElementUpdate = std::function<void(std::int64_t begin, std::int64_t end)>;

/// One parameter's settings for a step.
struct UpdateSettings {
  std::int64_t t;  ///< number of the parameter's update, from 1
  double rate;     ///< learning rate of the parameter's group
  double weight_decay;
  double gradient_factor;  ///< multiplies the gradient
};

/// The formula of an optimiser and its state of one parameter. Each optimiser is a file of `optim/` that holds such a class and
/// the function that makes it.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Returns the tensors that the next update needs, each with a name that follows the parameter's: "m". They share the memory
  /// that update() writes.
  virtual NamedTensors state() const { return {}; }
  /// Returns the update of `parameter`, whose elements are contiguous.
  virtual ElementUpdate update(Tensor parameter, const Tensor& gradient, const UpdateSettings& settings) = 0;
};

/// Make the state of a parameter. Throws Error for an option out of range.
std::unique_ptr<UpdateRule> sgd_rule(const Tensor& parameter, const OptimizerOptions& options);
/// Adam, and AdamW.
std::unique_ptr<UpdateRule> adam_rule(const Tensor& parameter, const OptimizerOptions& options);
std::unique_ptr<UpdateRule> rmsprop_rule(const Tensor& parameter, const OptimizerOptions& options);  ///< RMSprop
std::unique_ptr<UpdateRule> adagrad_rule(const Tensor& parameter, const OptimizerOptions& options);  ///< Adagrad
std::unique_ptr<UpdateRule> lion_rule(const Tensor& parameter, const OptimizerOptions& options);     ///< Lion
/// Muon for a matrix, AdamW for another shape.
std::unique_ptr<UpdateRule> muon_rule(const Tensor& parameter, const OptimizerOptions& options);

/// Makes the state of a parameter for the optimiser that `options` name.
inline std::unique_ptr<UpdateRule> update_rule(const Tensor& parameter, const OptimizerOptions& options) {
  switch (options.method) {
    case OptimizerOptions::Method::sgd:
      return sgd_rule(parameter, options);
    case OptimizerOptions::Method::adam:
    case OptimizerOptions::Method::adamw:
      return adam_rule(parameter, options);
    case OptimizerOptions::Method::rmsprop:
      return rmsprop_rule(parameter, options);
    case OptimizerOptions::Method::adagrad:
      return adagrad_rule(parameter, options);
    case OptimizerOptions::Method::lion:
      return lion_rule(parameter, options);
    case OptimizerOptions::Method::muon:
      return muon_rule(parameter, options);
  }
  fail("Optimizer: {} is not a method", static_cast<int>(options.method));
}

/// Throws Error unless eps is finite and above 0.
void check_eps(double eps);
/// Throws Error unless adam_rule() takes beta1, beta2 and eps.
void check_adam(const OptimizerOptions& options);

/// Throws Error unless 0 <= value < 1, as decays need.
inline void check_decay(const char* name, double value) {
  if (!(value >= 0 && value < 1)) fail("Optimizer: {} must lie in [0, 1), got {}", name, value);
}

}  // namespace heed
