#pragma once
#include "files/json.h"

#include <heed/files/safetensors.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace heed::bench {

// A piece of work that heed does, and that a peer does when it is sent `twin`.
struct Row {
  std::string name;
  Json twin;         // {"row": "softmax", "shape": [1024, 256]}
  double flops = 0;  // of its matrix products
  double bytes = 0;  // that it reads and writes at the least, where the memory is the limit
  std::function<std::function<void()>()> prepare;  // makes all ready; what it returns is timed

  // Of a model: the loss at each of the first steps from the weights that the twin begins with.
  std::function<std::vector<double>(int steps)> losses = {};
};

// Sizes from 1 KB to 256 MB, texts of 512 to 8,192 tokens, 1,000,000 scalars (`quick`: to 1 MB, 512 and 10,000).
std::vector<Row> operation_rows(bool quick);

// toy.yaml's model, nanoGPT's for characters, and GPT-2 124M (`quick`: without it). `scratch`: a directory where the weights
// and data that both sides begin with are written.
std::vector<Row> model_rows(const std::filesystem::path& scratch, bool quick);

// What nanoGPT's model for characters and GPT-2 124M write, with past keys and values kept; `losses` are the logits of what is
// written (`quick`: without GPT-2).
std::vector<Row> writing_rows(const std::filesystem::path& scratch, bool quick);

// The program train on toy.yaml, from start to exit, against a script that does the same.
Row program_row(const std::filesystem::path& train, const std::filesystem::path& config,
                const std::filesystem::path& scratch);

// The same with examples/nanogpt.yaml on the characters of `text`; its script begins with the same weights, learns from the
// same batches and must end with the same loss, to 0.01.
Row text_row(const std::filesystem::path& train, const std::filesystem::path& config, const std::filesystem::path& text,
             const std::filesystem::path& scratch);
// What that script reads: the parameters, "batches" (2000, 12, 65) and "held_out".
SafeTensors text_data(const std::filesystem::path& text);

}  // namespace heed::bench
