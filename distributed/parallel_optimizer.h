#pragma once
#include <heed/distributed/communicator.h>
#include <heed/optim/optimizer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

/// Whether each process keeps the moments of all parameters, or only those of its own part.
enum class Moments { all, part };

/// An Optimizer on several processes with equal gradients, as ParallelReducer gives them. With Moments::part each
/// process updates its part of the parameters, of as many numbers as the others' parts, and then all parts are
/// exchanged. The moments take less memory, and the results are bit-equal (Rajbhandari et al. 2020, arXiv:1910.02054,
/// stage 1). All processes call each function.
///
///     ParallelOptimizer optimizer(parameters, options, processes, Moments::part);
///     optimizer.step(gradients, 1e-3);
class ParallelOptimizer : public Optimizer {
 public:
  /// Takes the arguments of Optimizer's constructor. Throws Error, too, for fewer numbers than processes with
  /// Moments::part.
  ParallelOptimizer(const Parameters& parameters, const OptimizerOptions& options, const Communicator& processes,
                    Moments moments = Moments::all);

  /// Returns Optimizer::state() of all parameters on rank 0; the result is undefined on other ranks.
  NamedTensors state() const override;
  /// Loads the state that rank 0 passes.
  void load_state(const NamedTensors& state, const std::string& source) override;

 protected:
  const Gradients& own_gradients(const Gradients& gradients) override;
  void on_updated() override;

 private:
  // The numbers [first, end) of a parameter, counted from its first, and a variable that shares their memory.
  struct Piece {
    std::string name;
    Tensor parameter, variable;
    Share part;
  };
  // The parameters that this process updates.
  struct Work {
    Parameters store;
    std::vector<Piece> pieces;  // empty when it updates all
    NamedTensors trained;       // all parameters that are not frozen
    std::int64_t numel = 0;     // number of their elements
  };
  static Work work_of(const Parameters& parameters, const OptimizerOptions& options, const Communicator& processes,
                      Moments moments);
  ParallelOptimizer(Work work, const OptimizerOptions& options, const Communicator& processes);

  bool is_whole() const { return work_.pieces.empty(); }
  Share segment(int rank) const { return share_of(work_.numel, rank, processes_.size()); }
  std::vector<std::string> kinds() const;  // of moments: "m" and "v"
  std::vector<double> counts() const;      // of steps, by parameter; the same on all processes
  // Returns a state of all parameters with moments of 0, and with a number of steps for those that have a count.
  NamedTensors blank_state(const std::vector<bool>& has_count) const;
  // Moves the moments of all parts between `all`, on rank 0, and the processes that own them.
  enum class To { first, owners };
  void exchange_moments(const NamedTensors& all, To to) const;

  const Communicator processes_;
  const Work work_;
  Gradients own_;  // of the pieces, during step()
};

}  // namespace heed
