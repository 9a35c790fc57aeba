#pragma once
#include <heed/autograd/record.h>
#include <heed/distributed/communicator.h>
#include <heed/nn/parameters.h>

#include <functional>
#include <vector>

namespace heed {

/// Losses of the micro-batches of a step, and the gradients of their mean.
struct MeanGradients {
  std::vector<double> losses;
  Gradients gradients;
};

/// Computes a step of data-parallel training: the gradients of the mean of the losses of `parts` micro-batches. `loss` returns
/// that of micro-batch `part`, with the mean over its examples. Each process calls it for its share of the micro-batches, in
/// order, each time in a Recording of its own.
///
///     const auto [losses, gradients] = mean_gradients(parameters, 8, loss_of_part, processes);
///     optimizer.step(gradients, 1e-3);
///
/// Every process gets the same losses and gradients, bit for bit, for any number of processes and threads: gradients are added
/// along a binary tree over the micro-batch's number. While the backward of a process's last micro-batch continues, gradients that
/// are final are added and travel. A process that holds p micro-batches keeps up to log2(p) + 1 gradients, or twice as many
/// when p is not the same power of two for all processes.
///
/// Throws Error for a micro-batch whose loss does not depend on some parameter that is not frozen, when there are several.
MeanGradients mean_gradients(const Parameters& parameters, int parts, const std::function<Tensor(int part)>& loss,
                             const Communicator& processes = {});

}  // namespace heed
