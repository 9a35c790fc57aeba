#pragma once
#include <heed/explain/evaluation.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// A line of metrics.jsonl: the state of a run after `step` steps.
struct Metrics {
  std::int64_t step = 0;
  double train_loss = 0;  ///< mean over the steps since the previous line
  Evaluation held_out{};
  double learning_rate = Evaluation::unknown;  ///< at the last step
};

/// Returns the line of metrics.jsonl, a JSON object. Unknown values are null.
std::string to_line(const Metrics& metrics);

/// Returns the number of evaluations after the one with the smallest known held-out loss, among those from step `from` on.
std::int64_t evaluations_since_best(const std::filesystem::path& run, std::int64_t from = 0);

/// Reads RUN/metrics.jsonl; the result is empty if the file is missing. Throws `Error` that names each invalid line.
std::vector<Metrics> read_metrics(const std::filesystem::path& run);

}  // namespace heed
