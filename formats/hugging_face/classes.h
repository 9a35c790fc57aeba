#pragma once
#include "formats/hugging_face/pretrained.h"

namespace heed {

/// With this ends the name of a class of transformers for classes of texts.
inline constexpr const char* class_ending = "ForSequenceClassification";

/// Returns the names of the classes of which each text has one, by their number: those of 'id2label', or LABEL_0, LABEL_1 ... Empty for
/// a configuration of another kind of model: 'architectures' names no ForSequenceClassification, 'problem_type' is another one, or there
/// are fewer than two classes.
std::vector<std::string> read_classes(ConfigReader& json);

/// Returns the configuration of a model with `config.classes`, or without a head where heed cannot compute it.
ModelConfig classifier_of(const PretrainedConfig& config);

/// Writes the model's classes to a config.json. Returns whether it had others.
bool set_classes(Json& json, const Model& model);

}  // namespace heed
