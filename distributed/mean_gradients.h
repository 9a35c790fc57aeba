#pragma once
#include <heed/autograd/record.h>
#include <heed/distributed/communicator.h>
#include <heed/nn/parameters.h>

#include <functional>
#include <vector>

namespace heed {

/// Losses of the micro-batches of a step, and the gradients of the mean over all their predictions.
struct MeanGradients {
  std::vector<double> losses;  ///< by micro-batch: the mean over its own predictions; 0 without one
  Gradients gradients;
};

/// Computes a step of data-parallel training: the gradients of the mean loss over all predictions of a batch, however the batch is
/// cut into micro-batches. `counts` holds the number of predictions of each micro-batch, or their total weight, and is the same on
/// all processes. `loss` returns the mean over the predictions of micro-batch `part`. Each process calls it for its share of the
/// micro-batches, in order, each time in a Recording of its own; a micro-batch without predictions adds nothing and needs no call.
///
///     const auto [losses, gradients] = mean_gradients(parameters, {40, 37, 0, 42}, loss_of_part, processes);
///     optimizer.step(gradients, 1e-3);
///
/// Micro-batches of equal size count equally: `std::vector<double>(8, 1)`.
///
/// Every process gets the same losses and gradients, bit for bit, for any number of processes and threads: gradients are added
/// along a binary tree over the micro-batch's number. While the backward of a process's last micro-batch continues, gradients that
/// are final are added and travel. A process that holds p micro-batches keeps up to log2(p) + 1 gradients, or twice as many
/// when p is not the same power of two for all processes.
///
/// Throws Error for a count that is negative or not finite. Throws Error, when there are several micro-batches, for one whose loss
/// does not depend on some parameter that is not frozen.
MeanGradients mean_gradients(const Parameters& parameters, const std::vector<double>& counts,
                             const std::function<Tensor(int part)>& loss, const Communicator& processes = {});

/// Returns the mean over all predictions of several parts: `means` holds that of each part, `counts` how many it has. Returns 0
/// without predictions.
double mean_over_parts(const std::vector<double>& means, const std::vector<double>& counts);

}  // namespace heed
