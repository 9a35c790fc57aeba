#pragma once
#include <heed/explain/sentence_attention.h>
#include <heed/formats/saved_model.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Return the files of a run directory. The directory of a pretrained model is its own model_path(). best.safetensors,
/// the model with the smallest held-out loss, is written with train.patience. held_out.jsonl has the sentences that the
/// model did not learn from, as write_jsonl() writes them.
std::filesystem::path model_path(const std::filesystem::path& run);       ///< model.safetensors
std::filesystem::path best_model_path(const std::filesystem::path& run);  ///< best.safetensors
std::filesystem::path held_out_path(const std::filesystem::path& run);    ///< held_out.jsonl
std::filesystem::path metrics_path(const std::filesystem::path& run);     ///< metrics.jsonl

/// Attention of the watched sentences at one training step.
struct Dump {
  std::int64_t step = 0;
  std::vector<SentenceAttention> sentences;
  bool is_text = false;  ///< whether the tokens hold the spaces of a text; not in the file
};

/// Returns RUN/attention/step-000400.safetensors.
std::filesystem::path dump_path(const std::filesystem::path& run, std::int64_t step);

/// Writes a dump to dump_path(run, dump.step): tensors `sentence.<i>.layer.<l>` (heads, T, T), metadata `step` and
/// `sentences` (a JSON array). Makes the directory attention/ if it is missing. Throws `Error` when the dump is
/// inconsistent.
void write_dump(const std::filesystem::path& run, const Dump& dump);

/// Reads a dump. Throws `Error` when the file is another kind of file or inconsistent.
Dump read_dump(const std::filesystem::path& file);

/// Returns the steps with a dump in `run`, in order.
std::vector<std::int64_t> dump_steps(const std::filesystem::path& run);

/// Returns RUN/models/step-000400.safetensors: the model at that step (with dump.weights), as save_model() writes it.
std::filesystem::path dumped_model_path(const std::filesystem::path& run, std::int64_t step);
/// Returns the steps with a model in `run`, in order.
std::vector<std::int64_t> dumped_model_steps(const std::filesystem::path& run);

/// Reads the dump of the last step. Throws `Error` when `run` has no dumps.
Dump last_dump(const std::filesystem::path& run);

/// Throws `Error` with the name `file` unless its dump matches the layers, heads and words of `model`.
void check_same_model(const Dump& dump, const Model& model, const std::string& file);

}  // namespace heed
