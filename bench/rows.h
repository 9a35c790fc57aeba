#pragma once
#include "files/json.h"

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

// Sizes from 1 KB to 256 MB (`quick`: to 16 MB).
std::vector<Row> operation_rows(bool quick);

// `scratch`: a directory where the weights and data that both sides begin with are written.
std::vector<Row> model_rows(const std::filesystem::path& scratch);

// The program train on toy.yaml, from start to exit, against a script that does the same.
Row program_row(const std::filesystem::path& train, const std::filesystem::path& config,
                const std::filesystem::path& scratch);

}  // namespace heed::bench
