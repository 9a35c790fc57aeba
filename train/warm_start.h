#pragma once
#include <heed/models/formats/saved_model.h>

#include <cstdint>
#include <filesystem>

namespace heed {

/// The origin of a model's first weights when they come from another model.
struct WarmStart {
  std::filesystem::path file;  // of the other model
  std::int64_t step = 0;       // steps that the other model had taken
  int words_known = 0;         // words of the vocabulary that the other model has; the rest keep their random values
};

/// Initialises `model` with the weights of the model in `from`, a run directory or a model file. Both must have the
/// same architecture. Rows of words are copied by word; rows of positions and sentence numbers are copied as far as
/// both models have them. A language model may initialise a model that answers questions: each layer then starts with
/// the same function, but of all tokens instead of the earlier ones, and the last layer lacks the residual. Throws
/// Error that names every difference or missing part, and leaves `model` as it was.
WarmStart warm_start(const std::filesystem::path& from, const SavedModel& model);

}  // namespace heed
