#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/nn/parameters.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// Formulas as in PyTorch's torch.optim, with g the gradient, p the parameter, t = 1, 2, ...:
///
///     sgd    g += weight_decay p;  b = momentum b + g (b = g at first);  p -= lr (nesterov ? g + momentum b : b)
///            (Sutskever et al. 2013)
///     adam   g += weight_decay p;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
///            p -= lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)   (Kingma & Ba 2015, arXiv:1412.6980)
///     adamw  p -= lr weight_decay p, then adam without the decay in g
///            (Loshchilov & Hutter 2019, arXiv:1711.05101)
///     rmsprop  g += weight_decay p;  v = alpha v + (1 - alpha) g^2;  d = g / (sqrt(v) + eps);
///            p -= lr d, or with momentum b = momentum b + d, p -= lr b (Tieleman & Hinton 2012). centered: v - a^2 in place
///            of v, with a = alpha a + (1 - alpha) g (Graves 2013, arXiv:1308.0850)
///     adagrad  g += weight_decay p;  v = v + g^2;  p -= lr g / (sqrt(v) + eps) (Duchi et al. 2011)
///     lion   p -= lr weight_decay p;  p -= lr sign(beta1 m + (1 - beta1) g);  m = beta2 m + (1 - beta2) g
///            (Chen et al. 2023, arXiv:2302.06675)
///     muon   for matrices: p -= lr weight_decay p;  b = momentum b + (1 - momentum) g;
///            p -= lr scale newton_schulz(nesterov ? momentum b + (1 - momentum) g : b) (Jordan et al. 2024); adamw for the
///            other parameters. Groups give embeddings and the output layer adamw, too
///
///     Optimizer optimizer(parameters, {.method = OptimizerOptions::Method::muon,
///                                      .weight_decay = 0.1,
///                                      .groups = {{.parameters = {"words", "out"}, .method = OptimizerOptions::Method::adamw}}});
struct OptimizerOptions {
  /// The formula.
  enum class Method { sgd, adam, adamw, rmsprop, adagrad, lion, muon } method = Method::adam;
  double momentum = 0;                            ///< sgd
  bool nesterov = false;                          ///< sgd
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< adam, adamw; eps also rmsprop and adagrad
  /// adam, adamw: divide by the root of the largest v so far (Reddi et al. 2018, arXiv:1904.09237).
  bool amsgrad = false;
  double weight_decay = 0;
  /// No weight decay for parameters with fewer than two axes, as in GPT-2's recipe. A group's own decay holds for all of its parameters.
  bool decay_matrices_only = false;
  /// What step() does with a parameter that is not frozen and has no gradient, such as that of a branch that the loss did not
  /// use: throw Error, or leave the parameter and its moments as they are, as PyTorch does. A gradient of 0 would instead apply
  /// momentum and weight decay, and counts as a step t of the parameter.
  enum class MissingGradient { error, leave_unchanged } missing_gradient = MissingGradient::error;
  /// Parameters with their own settings. The first group that contains a parameter applies.
  struct Group {
    std::vector<std::string> parameters;      ///< names, or scopes ("encoder.0")
    double rate = 1;                          ///< factor of the step's learning rate
    std::optional<double> weight_decay = {};  ///< default: that of the other parameters
    std::optional<Method> method = {};        ///< default: that of the other parameters
  };
  std::vector<Group> groups = {};
  /// Settings of rmsprop.
  struct Rmsprop {
    double alpha = 0.99, momentum = 0;
    bool centered = false;
  } rmsprop = {};
  /// Settings of lion.
  struct Lion {
    double beta1 = 0.9, beta2 = 0.99;
  } lion = {};
  /// Settings of muon. `match_adamw` scales the update of an (n, m) matrix by 0.2 sqrt(max(n, m)), so that a rate for adamw fits both
  /// (Liu et al. 2025, arXiv:2502.16982); else by sqrt(max(1, m / n)) for a weight (in = n, out = m), as in torch.optim.Muon.
  struct Muon {
    double momentum = 0.95;
    bool nesterov = true;
    bool match_adamw = false;
    int iterations = 5;  ///< of Newton-Schulz
  } muon = {};
};
template <>
inline constexpr EnumName<OptimizerOptions::Method> enum_names<OptimizerOptions::Method>[] = {
    {OptimizerOptions::Method::sgd, "sgd"},         {OptimizerOptions::Method::adam, "adam"},
    {OptimizerOptions::Method::adamw, "adamw"},     {OptimizerOptions::Method::rmsprop, "rmsprop"},
    {OptimizerOptions::Method::adagrad, "adagrad"}, {OptimizerOptions::Method::lion, "lion"},
    {OptimizerOptions::Method::muon, "muon"}};

class UpdateRule;

namespace detail {
struct RateOfStep {
  struct Rate {
    Rate(double);
  } lr;
};
}  // namespace detail

/// Updates parameters in place from their gradients, and keeps the moments.
///
///     Optimizer optimizer(parameters, {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.1});
///     optimizer.step(backward(loss), 3e-4);
class Optimizer {
 public:
  /// Keeps moments for all parameters of the store that are not frozen (Parameters::freeze), so make the layers first.
  /// Throws Error for a store without parameters, for a parameter that is a view with gaps, for an unknown name in a
  /// group, and for an option out of range: betas, alpha and momentum [0, 1), eps > 0, weight_decay and rate >= 0.
  explicit Optimizer(const Parameters& parameters, OptimizerOptions options = {});
  Optimizer(const auto&, std::floating_point auto) = delete;  // the rate goes to step(gradients, 3e-4)
  Optimizer(const auto&, detail::RateOfStep) = delete;        // the rate goes to step(gradients, 3e-4)
  Optimizer(Optimizer&&) noexcept;  ///< a copy would share the moments: use state() and load_state()
  virtual ~Optimizer();

  /// Updates every parameter that is not frozen, by gradient_factor times its gradient (clip_factor() in optim/clip.h). Ignores
  /// gradients of variables of other stores. It checks everything before it changes a parameter. Throws Error for a missing
  /// gradient (unless OptimizerOptions::missing_gradient allows it), for parameters that were added to the store or unfrozen since
  /// construction, for a negative learning rate, for a rate or factor that is not finite as a float, and while another thread updates
  /// the same parameters. Throws NotFinite that names the first gradient with infinity or NaN; gradients that global_norm() found
  /// finite are not checked again.
  void step(const Gradients& gradients, double lr, double gradient_factor = 1);
  void step() = delete;                  // optimizer.step(backward(loss), rate)
  void step(const Gradients&) = delete;  // the learning rate is an argument: optimizer.step(gradients, 3e-4)
  void zero_grad(auto&&...) = delete;    // nothing to reset: backward(loss) returns new gradients

  /// Returns the number of updates so far.
  std::int64_t steps() const { return steps_; }

  /// Returns the state for resuming a run: the moments, such as "<parameter>.m", and the number of "steps". A parameter that some
  /// of them left out has "<parameter>.steps", too; with MissingGradient::leave_unchanged, each one has. The next step writes to these
  /// tensors: clone() those that you keep.
  virtual NamedTensors state() const;
  /// Restores a state(), also one with another MissingGradient. Throws Error for a missing, extra or wrong-shaped tensor, like
  /// Parameters::load().
  virtual void load_state(const NamedTensors& state, const std::string& source);

 protected:
  /// Called by step(): returns the gradients of this optimiser's parameters from those of the model's.
  virtual const Gradients& own_gradients(const Gradients& gradients) { return gradients; }
  /// Called by step() after it has updated the parameters.
  virtual void on_updated() {}
  /// Returns state() with "<parameter>.steps" for each parameter.
  NamedTensors complete_state() const;

 private:
  struct Slot {
    std::string name;
    Tensor parameter;
    std::unique_ptr<UpdateRule> rule;
    double rate, weight_decay;  // of the parameter's group
    std::int64_t steps = 0;     // of this parameter: without those in which it was frozen or had no gradient
  };
  bool leaves_unused() const { return options_.missing_gradient == OptimizerOptions::MissingGradient::leave_unchanged; }
  NamedTensors state_with_counts(
      const std::function<bool(const Slot&)>& has_count) const;  // has_count: with NAME.steps
  void check_complete() const;                                   // throws Error that lists parameters without a slot

  Parameters parameters_;
  OptimizerOptions options_;
  std::vector<Slot> slots_;
  std::int64_t steps_ = 0;
};

}  // namespace heed
