#pragma once
#include "models/formats/hugging_face/config_reader.h"
#include "models/formats/hugging_face/weight_files.h"

#include <heed/models/formats/saved_model.h>

#include <string>

namespace heed {

/// Returns the model of a configuration with its weights, without a tokenizer. `source` names the weights in messages. Throws
/// `Error` as load_hugging_face() does.
SavedModel load_pretrained(ConfigReader& json, const WeightFiles& files, const std::string& source);

/// Gives a model the tokenizer of a tokenizer.json and its vocabulary. Without a text, tokens are named by their ids: "<17>".
/// Throws `Error` that begins with `source` when the tokenizer is unknown or has more tokens than the model.
void set_tokenizer(SavedModel& model, const std::string& json, const std::string& source);

}  // namespace heed
