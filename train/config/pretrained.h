#pragma once
#include "formats/internal/description.h"
#include "train/config/config.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heed {

/// Returns the description of the pretrained model that `from` names: a file or directory of any format, or a run or model file that
/// began with one. Returns null for models of heed's own, and for what does not exist. Throws Error for a file that cannot be read,
/// and for a pretrained model without a tokenizer.
std::shared_ptr<const Model> find_pretrained(const std::filesystem::path& from);

/// Sets everything in a configuration that the pretrained model decides: section model as far as its config.json says it, how
/// data is read, and config.pretrained.
void use_pretrained(Config& config, std::shared_ptr<const Model> model);

/// Returns the given keys of a configuration that differ in `taken`, on which use_pretrained() was called, each with its message;
/// and model.from for each value in `taken` that its key cannot hold.
std::vector<std::pair<std::string, std::string>> contradictions(
    Config config, Config taken, const std::function<bool(const std::string&)>& is_given);

/// Gives a resumed run the tokenizer with which it began: that of a pretrained model, or of the subwords that it learned.
void use_tokenizer(Config& config, Model model);

/// Returns the model with which a run of this configuration continues a pretrained one. What the task needs and the pretrained
/// model does not have is part of it, such as W_C for candidates. Throws Error for a task that the pretrained model cannot learn.
ModelConfig continued_config(const Config& config);

}  // namespace heed
