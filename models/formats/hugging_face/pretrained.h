#pragma once
#include "models/formats/hugging_face/config_reader.h"
#include "models/formats/hugging_face/weight_files.h"

#include <heed/models/formats/saved_model.h>

#include <filesystem>
#include <string>

namespace heed {

/// A pretrained configuration in heed's terms.
struct PretrainedConfig {
  TransformerConfig transformer{};
  LogitsConfig logits{};
  Activation head_activation = Activation::gelu;  // of the layer before the logits, in masked language models
};

/// Returns what the text of a config.json says. Throws `Error` as load_hugging_face() does.
PretrainedConfig read_pretrained_config(const std::string& text, const std::string& source);

/// Reads a model as load_hugging_face() does; with Values::none, without its weights, whose parameters then take no memory.
SavedModel read_hugging_face(const std::filesystem::path& directory, Values values);

/// Returns the model of a configuration, without a tokenizer; with Values::zeros, with its weights. `source` names the weights
/// in messages. Throws `Error` as load_hugging_face() does.
SavedModel load_pretrained(ConfigReader& json, const WeightFiles& files, const std::string& source,
                           Values values = Values::zeros);

/// Gives a model the tokenizer of a tokenizer.json and its vocabulary. Without a text, tokens are named by their ids: "<17>".
/// Throws `Error` that begins with `source` when the tokenizer is unknown or has more tokens than the model.
void set_tokenizer(SavedModel& model, const std::string& json, const std::string& source);

}  // namespace heed
