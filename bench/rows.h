#pragma once
#include "tokenizers/internal/json.h"

#include <heed/formats/safetensors.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace heed::bench {

/// A benchmark of heed, and the request `counterpart` for the same work by a peer.
struct Row {
  std::string name;
  Json counterpart;                                // {"row": "softmax", "shape": [1024, 256]}
  double flops = 0;                                // of its matrix products
  double bytes = 0;                                // minimum memory traffic, if memory is the limit
  std::function<std::function<void()>()> prepare;  // prepares the work and returns the function to time

  // For a model: the losses of the first steps from the peer's initial weights.
  std::function<std::vector<double>(int steps)> losses = {};
  double tolerance = 1e-4;  // of the losses, relative
};

/// Returns operations on 1 KB to 256 MB, texts of 512 to 8,192 tokens, and 1,000,000 scalars (`quick`: up to 1 MB, 512
/// and 10,000).
std::vector<Row> operation_rows(bool quick);

/// Returns each public function of ops.h that computes, forward and backward, on 1 KB, 32 KB and 16 MB (`quick`: on 1 KB).
std::vector<Row> function_rows(bool quick);

/// Returns training steps of toy.yaml's model, nanoGPT's character model, and GPT-2 124M (not with `quick`), the latter two also
/// with products of bfloat16, beside PyTorch's autocast. `scratch` is a directory for the initial weights and data of both sides.
std::vector<Row> model_rows(const std::filesystem::path& scratch, bool quick);

/// Returns text generation by nanoGPT's character model and GPT-2 124M (`quick`: without GPT-2) with a cache of keys
/// and values. `losses` are the logits of the generated tokens.
std::vector<Row> writing_rows(const std::filesystem::path& scratch, bool quick);

/// Returns pretrained models that read and write, from files with random weights: LLaMA in the size of SmolLM2-135M, in F32,
/// BF16 and Q8_0 (also by 8-bit integers, without a peer), and BERT in the size of all-MiniLM-L6-v2 (`quick`: tiny ones). The peer
/// needs `transformers`. `losses` are the
/// largest logits or states.
std::vector<Row> pretrained_rows(const std::filesystem::path& scratch, bool quick);

/// Returns the program train on toy.yaml, from start to exit, compared with an equivalent script.
Row program_row(const std::filesystem::path& train, const std::filesystem::path& config,
                const std::filesystem::path& scratch);

/// Returns the same with examples/nanogpt.yaml on the characters of `text`. The script starts with the same weights,
/// trains on the same batches and must reach the same loss, within 0.01.
Row text_row(const std::filesystem::path& train, const std::filesystem::path& config, const std::filesystem::path& text,
             const std::filesystem::path& scratch);
/// Returns the script's input: the parameters, "batches" (2000, 12, 65) and "held_out".
SafeTensors text_data(const std::filesystem::path& text);

}  // namespace heed::bench
