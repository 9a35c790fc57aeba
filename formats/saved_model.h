#pragma once
#include <heed/models/model.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace heed {

/// Throws `Error` when load_model() could not read what save_model() would write: the network is missing, or the vocabulary
/// or the parameters are not those of its configuration.
void check_saved(const Model& model);

/// Writes a model to a safetensors file that describes itself: all parameters, and in the metadata
///
///     heed.model       JSON: {"kind":"language_model","transformer":{...},"logits":{...}}
///     heed.vocabulary  JSON: the tokens, in the order of their ids
///     heed.queries     JSON: words asked about in training
///     heed.unknown     the token that stands for unknown words, where there is one
///     heed.split       how a text becomes tokens: words, characters, bytes or subwords
///     heed.of          "text" when spaces are part of the tokens
///     heed.subwords    JSON: bytes of the SentencePiece model, with split subwords
///     heed.tokenizer   tokenizer.json of a pretrained model, in place of heed.subwords
///     heed.pretrained  config.json of a pretrained model
///     heed.end_tokens  JSON: ids of the tokens with which a generated text ends
///     heed.step        training step
///     heed.NAME        text of the file NAME of Model::kept_files, such as heed.tokenizer_config.json
///
/// The file appears whole or not at all. Throws as check_saved() does, and `FileError`.
void save_model(const std::filesystem::path& path, const Model& model);

/// How a model is loaded.
struct Loading {
  /// Leaves the matrices of a pretrained model in its files, which are mapped to memory (MappedFile), with the type that
  /// they have there: the model computes the same numbers. An optimiser takes only matrices of F32 that are not transposed, as in
  /// files of heed; adapt() trains beside all. By default all parameters are float32 copies.
  bool mapped = false;
  /// Adds adapters to their matrices, as merged() does.
  bool merged = false;
  /// Receives the share of the weights that is read, from 0 to 1.
  std::function<void(double share)> progress{};
};

/// Returns the path of the pretrained model that `path` is or belongs to: a directory that load_hugging_face() reads, also for one of
/// its files, or a GGUF file. Returns an empty path for anything else.
std::filesystem::path pretrained_path(const std::filesystem::path& path);
/// Returns whether `path` is a pretrained model or belongs to one.
bool is_pretrained(const std::filesystem::path& path);

/// Returns the pretrained models in a directory, in its directory `snapshots`, and in those of the models in Hugging Face's
/// cache: for messages that name them.
std::vector<std::string> models_in(const std::filesystem::path& directory);

/// Reads a model that save_model() wrote, that of a run directory, or a pretrained one (load_hugging_face(), load_gguf()). Throws
/// `Error` when the file is not one or holds a value that is not finite. It allocates no more than the file's own tensors
/// justify.
Model load_model(const std::filesystem::path& path, const Loading& loading = {});

/// Returns the training step of the model in a file without reading its parameters; 0 where load_model() would throw.
std::int64_t saved_step(const std::filesystem::path& path);

}  // namespace heed
