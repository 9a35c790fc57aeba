#pragma once
#include <heed/distributed/communicator.h>
#include <heed/optim/gradient_reducer.h>

namespace heed {

/// Lets several processes train as one: they share a step's micro-batches and an evaluation's batches. Results have the same bits
/// for any number of processes and threads. While the backward of a process's last micro-batch continues, gradients that are final
/// are added and travel. A process that holds p micro-batches keeps up to log2(p) + 1 gradients, or twice as many when p is not
/// the same power of two for all processes.
///
///     const ParallelReducer reducer(Communicator::launched());
///     const auto [losses, gradients] = mean_gradients(parameters, counts, loss_of_part, reducer);
class ParallelReducer : public GradientReducer {
 public:
  /// How the processes share a step.
  struct Options {
    bool shard_optimizer =
        false;  ///< each process keeps the moments of its own part of the parameters (ParallelOptimizer)
  };
  /// Adds up the gradients of `processes`; without options, each keeps all moments.
  explicit ParallelReducer(Communicator processes, Options options) : processes_(processes), options_(options) {}
  /// As above.
  explicit ParallelReducer(Communicator processes) : ParallelReducer(processes, Options{}) {}

  int rank() const override { return processes_.rank(); }
  int size() const override { return processes_.size(); }
  std::unique_ptr<GradientSum> gradient_sum(const Parameters& parameters,
                                            const std::vector<double>& counts) const override;
  std::unique_ptr<Optimizer> optimizer(const Parameters& parameters, const OptimizerOptions& options) const override;
  std::vector<double> gather(std::span<const double> own) const override { return processes_.gather(own); }
  void broadcast(std::span<std::byte> bytes) const override { processes_.broadcast(bytes); }

 private:
  Communicator processes_;
  Options options_;
};

}  // namespace heed
