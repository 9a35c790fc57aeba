#pragma once
#include "formats/hugging_face/config_reader.h"
#include "formats/hugging_face/weight_files.h"

#include <heed/formats/saved_model.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// A pretrained configuration in heed's terms.
struct PretrainedConfig {
  TransformerConfig transformer{};
  LogitsConfig logits{};
  Activation head_activation = Activation::gelu;   // of the layer before the logits, in masked language models
  bool head_bias = true;                           // of that layer
  Activation class_activation = Activation::tanh;  // of an encoder, in the layer before the logits of classes
  bool class_norm = false;                         // whether that layer ends with a norm
  bool averages_states = false;                    // for the class of a text; heed reads it at one token
  std::vector<std::string> classes{};              // of which each text has one; else empty
  std::vector<std::string> queries{};              // Model::queries
};

/// Returns what the text of a config.json says. Throws `Error` as load_hugging_face() does.
PretrainedConfig read_pretrained_config(const std::string& text, const std::string& source);

/// Reads a model as load_hugging_face() does. Without `loading`, reads no weights, and the parameters take no memory.
Model read_hugging_face(const std::filesystem::path& directory, const Loading* loading);

/// Returns whether `path` is a directory with an adapter_config.json.
bool is_adapter(const std::filesystem::path& path);
/// Returns the directory of an adapter that `path` is, or one of whose files it is; else an empty path.
std::filesystem::path adapter_directory(const std::filesystem::path& path);
/// Reads the base model of an adapter, and the adapter. Without `loading`, reads no weights of the base model.
Model read_adapter(const std::filesystem::path& directory, const Loading* loading);

/// Reads a model as load_gguf() does. Without `loading`, reads no weights.
Model read_gguf(const std::filesystem::path& path, const Loading* loading);

/// Returns the model of a configuration, without a tokenizer; without `loading`, without its weights. `source` names the
/// weights in messages. Throws `Error` as load_hugging_face() does.
Model load_pretrained(ConfigReader& json, WeightFiles files, const std::string& source, const Loading* loading);

/// Returns the ids of 'eos_token_id' in a config.json or generation_config.json: one id, a list, or null for none. As in
/// `transformers`, ids outside the vocabulary end no text. Throws `Error` for another value.
std::vector<std::int32_t> read_end_tokens(const Json& config, int vocabulary);

/// Key of a config.json with Model::queries, a list of strings. `transformers` ignores it.
inline constexpr const char* queries_key = "heed_query_words";

/// Files that may be Model::kept_files.
inline constexpr std::array kept_file_names{"tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja",
                                            "generation_config.json"};

/// Returns whether an export can write the text of the file `name` again: at most 4 MiB of UTF-8, and an object in a .json file.
bool can_be_kept(std::string_view name, std::string_view text);

/// Gives a model the tokenizer of a tokenizer.json and its vocabulary. Without a text, tokens are named by their ids: "<17>".
/// Throws `Error` that begins with `source` when the tokenizer is unknown or has more tokens than the model, added ones apart.
void set_tokenizer(Model& model, const std::optional<std::string>& json, const std::string& source);

}  // namespace heed
