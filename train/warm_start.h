#pragma once
#include <heed/models/formats/saved_model.h>

#include <cstdint>
#include <filesystem>

namespace heed {

// What a model began with instead of values drawn at random.
struct WarmStart {
  std::filesystem::path file;  // of the other model
  std::int64_t step = 0;       // that the other had taken
  int words_known = 0;         // of the vocabulary, there; the others keep the values drawn for them
};

// Gives `model` the weights of the model in `from`, a run directory or a model's file. Both must have the same
// architecture; rows of words are copied by word, those of positions and sentence numbers as far as both have them. A
// language model may begin one that answers: each layer then first computes what it did, of all tokens instead of the
// earlier ones, but for the residual that the last layer of one that answers has not.
// Error that names every difference, or what is missing; then `model` is as it was.
WarmStart warm_start(const std::filesystem::path& from, const SavedModel& model);

}  // namespace heed
