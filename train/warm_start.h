#pragma once
#include <heed/formats/saved_model.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// The origin of a model's first weights when they come from another model.
struct WarmStart {
  std::filesystem::path file;  // of the other model
  std::int64_t step = 0;       // steps that the other model had taken
  int words_known = 0;         // words of the vocabulary that the other model has; the rest keep their random values
  std::vector<std::string> new_parameters{};  // that a pretrained model does not have
};

/// Initialises `model` with the weights of the model in `from`, a run directory or a model file. Both must have the
/// same architecture. Rows of words are copied by word; rows of positions and sentence numbers are copied as far as
/// both models have them. A language model may initialise a model that answers questions: each layer then starts with
/// the same function, but of all tokens instead of the earlier ones, and the last layer has no residual unless
/// model.last_residual adds it. Throws Error that names every difference or missing part, and leaves `model` as it was.
///
/// A `model` that continues a pretrained one (continued_config()) gets each parameter that both have. The head of its task
/// keeps its random values where the pretrained model has another head, or none; but W_C of candidates becomes 0.1 times the
/// identity: a pretrained state of a pronoun resembles those of its antecedent, and a random W_C has to be unlearned first.
WarmStart warm_start(const std::filesystem::path& from, const Model& model);

}  // namespace heed
