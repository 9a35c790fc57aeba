#pragma once
#include "tokenizers/internal/json.h"

#include <heed/formats/saved_model.h>

namespace heed {

/// Returns heed's own model with the parameters that its nearest family cannot leave out. BERT and GPT-2 have a bias in every
/// linear layer, and LLaMA has them in all layers of an attention or in none; BERT has token types. Those that the model
/// does not have are 0, which changes no logit. Throws `Error` for a model that transformers has no class for.
Model with_parts_of_family(const Model& model);

/// Returns the config.json of heed's own model in the terms of its nearest family. Throws `Error` for a shape that this family
/// does not have.
Json own_config(const Model& model);

/// Returns the description of a configuration with all defaults filled in, and without fields that do not apply, so that equal
/// models have equal ones.
Json comparable(ModelConfig config);
/// Returns the fields of `given` whose values differ in `back`, for messages.
std::vector<std::string> differences(const Json& given, const Json& back);

}  // namespace heed
