#pragma once
#include "tokenizers/internal/json.h"

#include <heed/models/model.h>

namespace heed {

/// Returns {"kind":"language_model","transformer":{...},"logits":{...}}: every field of a configuration, except the size of the
/// vocabulary.
Json to_json(const ModelConfig& config);

/// Returns the configuration that `json` holds, for `vocabulary` words; fields that are missing have their defaults. Reads the
/// flat form of version 0.1 as well. Throws `Error` for an unknown kind, field or name and for a number out of range.
ModelConfig model_config(const Json& json, int vocabulary);

}  // namespace heed
