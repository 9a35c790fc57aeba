#pragma once
#include <heed/autograd/tensor.h>
#include <heed/data/task.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heed {

// What the model did with one sentence.
struct SentenceAttention {
  std::vector<std::string> tokens;  // T
  int query = 0;                    // the token at which a word was predicted
  int antecedent = -1;              // the token that it refers to; -1: unknown
  std::string predicted;
  double probability = 0;          // of `predicted`
  std::vector<Tensor> layers;      // weights (heads, T, T) a layer, float32; each row sums to 1
  std::vector<Span> candidates{};  // among which it chose, where it did
};

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

}  // namespace heed
