#pragma once
#include "train/config/config.h"

#include <heed/nn/parameters.h>

#include <functional>
#include <string>

namespace heed {

/// Verdict on the gradients of a model, and the table that explains it.
struct ModelCheck {
  bool passed = true;
  std::string table;  ///< a line per parameter: name, shape, error, verdict; then the totals
};

/// Compares the gradient of `loss` (float64, scalar) with central differences: per parameter along the gradient itself,
/// along two random directions through all elements, and along five single elements.
///
/// The point is the current weights plus a tenth of their size at random, since weights of 0 would hide most derivatives.
/// The step shrinks where the loss bends within its reach, and another direction is drawn where no step is small enough.
/// A parameter passes when every derivative agrees and a gradient that is 1 % too large would not, or when its gradient is
/// 0 and the differences are 0, too. Moves the weights; `seed` decides all that is drawn.
ModelCheck check_parameters(const Parameters& parameters, const std::function<Tensor()>& loss, std::uint64_t seed);

/// Checks the gradients of the configured model on four sentences of the configured task.
ModelCheck check_model_gradients(const Config& config);

}  // namespace heed
