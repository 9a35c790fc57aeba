#pragma once
#include <heed/explain/sentence_attention.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Attention of the watched sentences at one training step.
struct Dump {
  std::int64_t step = 0;
  std::vector<SentenceAttention> sentences;
};

// RUN/attention/step-000400.safetensors
std::filesystem::path dump_path(const std::filesystem::path& run, std::int64_t step);

// Writes to dump_path(run, dump.step), with the directory where it is missing: tensors `sentence.<i>.layer.<l>`,
// metadata `step` and `sentences` (a JSON array). Error when the dump contradicts itself.
void write_dump(const std::filesystem::path& run, const Dump& dump);

// Error when the file is no dump or contradicts itself.
Dump read_dump(const std::filesystem::path& file);

// The steps of which `run` holds a dump, in order; empty when there are none.
std::vector<std::int64_t> dump_steps(const std::filesystem::path& run);

// RUN/models/step-000400.safetensors: with dump.weights the model at that step, as save_model() writes it; and the steps of
// which there is one.
std::filesystem::path dumped_model_path(const std::filesystem::path& run, std::int64_t step);
std::vector<std::int64_t> dumped_model_steps(const std::filesystem::path& run);

// That of the last step. Error where `run` holds none.
Dump last_dump(const std::filesystem::path& run);

/// Throws `Error` naming `file` unless the dump in it has the layers, heads and words of `model`.
void check_same_model(const Dump& dump, const SavedModel& model, const std::string& file);

}  // namespace heed
