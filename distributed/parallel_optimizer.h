#pragma once
#include <heed/distributed/communicator.h>
#include <heed/optim/optimizer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

/// Whether each process keeps the moments of all parameters, or only those of its own part.
enum class Moments { all, part };

/// An Optimizer on several processes with equal gradients, as mean_gradients() gives them. With Moments::part each
/// process updates its part of the parameters, of as many numbers as the others' parts, and then all parts are
/// exchanged. The moments take less memory, and the results are bit-equal (Rajbhandari et al. 2020, arXiv:1910.02054,
/// stage 1).
///
///     ParallelOptimizer optimizer(parameters, options, processes, Moments::part);
///     optimizer.step(gradients, 1e-3);
class ParallelOptimizer {
 public:
  /// Takes the arguments of Optimizer's constructor. Throws Error, too, for fewer numbers than processes with
  /// Moments::part.
  ParallelOptimizer(const Parameters& parameters, OptimizerOptions options, const Communicator& processes = {},
                    Moments moments = Moments::all);

  /// Updates as Optimizer::step() does. All processes call it.
  void step(const Gradients& gradients, double lr, double gradient_factor = 1);
  std::int64_t steps() const { return optimizer_.steps(); }  ///< steps so far

  /// Returns Optimizer::state() of all parameters on rank 0; the result is undefined on other ranks. All processes call
  /// it.
  NamedTensors state() const;
  /// Loads the state that rank 0 passes. All processes call it.
  void load_state(const NamedTensors& state, const std::string& source);

 private:
  // The numbers [first, end) of a parameter, counted from its first, and a variable that shares their memory.
  struct Piece {
    std::string name;
    Tensor parameter, variable;
    Share part;
  };
  bool is_whole() const { return pieces_.empty(); }
  Share segment(int rank) const { return share_of(numel_, rank, processes_.size()); }
  Parameters chosen(const Parameters& parameters, const OptimizerOptions& options, Moments moments);
  std::vector<std::string> kinds() const;  // of moments: "m" and "v"
  NamedTensors blank_state() const;        // for all parameters, with moments of 0
  // Moves the moments of all parts between `all`, on rank 0, and the processes that own them.
  enum class To { first, owners };
  void exchange_moments(const NamedTensors& all, To to) const;

  const Communicator processes_;
  std::vector<Piece> pieces_;  // of this process; empty when it keeps all
  NamedTensors trained_;       // all parameters that are not frozen
  std::int64_t numel_ = 0;     // number of their elements
  Optimizer optimizer_;        // of all, or of the variables of pieces_
};

}  // namespace heed
