#pragma once
#include <heed/models/model.h>

#include <cstdint>

namespace heed {

/// Returns the number of predictions of which loss() is the mean: answers and tokens that have a label. mean_gradients() weighs the
/// parts of a batch by it.
std::int64_t predictions(const Model& model, const TrainingBatch& batch);

}  // namespace heed
