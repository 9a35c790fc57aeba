#pragma once
#include <heed/formats/saved_model.h>

#include <filesystem>
#include <map>
#include <string>

namespace heed {

/// The description of a saved model besides its parameters: the metadata that save_model() lists.
using Description = std::map<std::string, std::string>;

/// Returns the description of a model.
Description describe(const Model& model);

/// Returns the model of a description, without weights: all elements of a parameter share one 0, and take no memory. `source`
/// names the description in messages. Throws `Error` when a part is missing or wrong.
Model described_model(const Description& description, const std::string& source);

/// Returns all that the configuration of a pretrained model says, with the logits and the layer before them even when its file has
/// no such head, so that the model can be given another one. `source` begins messages.
ModelConfig pretrained_config(const Model& model, const std::string& source);

/// Returns the name under which the files of a pretrained model's format keep a tokenizer, for messages.
std::string tokenizer_name(const std::filesystem::path& path);

/// Reads a model as load_model() does, without weights.
Model read_description(const std::filesystem::path& path);

}  // namespace heed
