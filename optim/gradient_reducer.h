#pragma once
#include <heed/optim/gradient_sum.h>
#include <heed/optim/optimizer.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace heed {

/// The consecutive part [first, end) of [0, count) that a process works on: the parts of all ranks cover it, in order, and
/// differ in length by 1 at most.
struct Share {
  std::int64_t first, end;
};
Share share_of(std::int64_t count, int rank, int size);  ///< the part of process `rank` of `size`

/// Stands between backward() and Optimizer::step(). This class is the identity: one process does all the work. Another
/// reducer lets several processes share a step's micro-batches and an evaluation's batches, with the same bits
/// (distributed/parallel_reducer.h). All processes make the same calls in the same order.
///
///     const std::unique_ptr<GradientSum> sum = reducer.gradient_sum(parameters, counts);
///     ...                                           // backward() for each of sum->parts()
///     optimizer->step(sum->mean().gradients, 1e-3);  // reducer.optimizer(parameters, options)
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  virtual int rank() const { return 0; }  ///< the number of this process, from 0
  virtual int size() const { return 1; }  ///< the number of processes

  /// Returns the sum of a step's gradients.
  virtual std::unique_ptr<GradientSum> gradient_sum(const Parameters& parameters,
                                                    const std::vector<double>& counts) const;
  /// Returns an optimiser for the gradients that gradient_sum() gives.
  virtual std::unique_ptr<Optimizer> optimizer(const Parameters& parameters, const OptimizerOptions& options) const;
  /// Returns the numbers of all processes: first those of rank 0.
  virtual std::vector<double> gather(std::span<const double> own) const;
  /// Gives each process the bytes that rank 0 has.
  virtual void broadcast(std::span<std::byte> /*bytes*/) const {}

  /// Returns the part of [0, count) that this process works on.
  Share own_part(std::int64_t count) const { return share_of(count, rank(), size()); }
  /// Returns whether the flag is set on any process.
  bool any(bool flag) const;
};

/// Computes a step's gradients by GradientSum. `loss` returns the mean over the predictions of micro-batch `part`, and is called
/// for each that this process computes, in a Recording of its own.
///
///     const auto [losses, gradients] = mean_gradients(parameters, {40, 37, 0, 42}, loss_of_part, reducer);
///     optimizer.step(gradients, 1e-3);
MeanGradients mean_gradients(const Parameters& parameters, const std::vector<double>& counts,
                             const std::function<Tensor(int part)>& loss, const GradientReducer& reducer = {});

}  // namespace heed
