#pragma once
#include <heed/explain/sentence_attention.h>
#include <heed/models/formats/saved_model.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Files of a run directory; the directory of a pretrained model is its own model_path(). The model with the smallest held-out loss is there with train.patience; held_out.jsonl has the
/// sentences that the model did not learn from, as write_jsonl() writes them.
std::filesystem::path model_path(const std::filesystem::path& run);       // model.safetensors
std::filesystem::path best_model_path(const std::filesystem::path& run);  // best.safetensors
std::filesystem::path held_out_path(const std::filesystem::path& run);    // held_out.jsonl
std::filesystem::path metrics_path(const std::filesystem::path& run);     // metrics.jsonl

/// Attention of the watched sentences at one training step.
struct Dump {
  std::int64_t step = 0;
  std::vector<SentenceAttention> sentences;
};

/// Returns RUN/attention/step-000400.safetensors.
std::filesystem::path dump_path(const std::filesystem::path& run, std::int64_t step);

/// Writes a dump to dump_path(run, dump.step): tensors `sentence.<i>.layer.<l>` (heads, T, T), metadata `step` and `sentences` (a
/// JSON array). Makes the directory attention/ where it is missing. Throws `Error` when the dump contradicts itself.
void write_dump(const std::filesystem::path& run, const Dump& dump);

/// Reads a dump. Throws `Error` when the file is no dump or contradicts itself.
Dump read_dump(const std::filesystem::path& file);

/// Returns the steps of which `run` holds a dump, in order.
std::vector<std::int64_t> dump_steps(const std::filesystem::path& run);

/// Returns RUN/models/step-000400.safetensors: with dump.weights the model at that step, as save_model() writes it.
std::filesystem::path dumped_model_path(const std::filesystem::path& run, std::int64_t step);
/// Returns the steps of which `run` holds a model, in order.
std::vector<std::int64_t> dumped_model_steps(const std::filesystem::path& run);

/// Reads the dump of the last step. Throws `Error` where `run` holds none.
Dump last_dump(const std::filesystem::path& run);

/// Throws `Error` naming `file` unless the dump in it has the layers, heads and words of `model`.
void check_same_model(const Dump& dump, const SavedModel& model, const std::string& file);

}  // namespace heed
