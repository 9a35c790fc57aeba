#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// How well a model answers a set of examples. NaN is unknown.
struct Evaluation {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double loss = unknown;           // mean cross-entropy, nats
  double accuracy = unknown;       // share answered right
  double twin_accuracy = unknown;  // share of minimal pairs with both sentences answered right
  // Of models that predict tokens: e^loss, and bits per byte of the held-out text.
  double perplexity = unknown, bits_per_byte = unknown;
  // Mean attention weight from the query to the antecedent, [layer][head], over the examples that have one.
  std::vector<std::vector<double>> antecedent_weight{};

  struct BestHead {
    std::size_t layer, head;  // from 0
    double weight;
  };
  /// Returns the head with the largest antecedent_weight; none where no weight is known.
  std::optional<BestHead> best_head() const;
};

/// A line of metrics.jsonl: the state of a run after `step` steps.
struct Metrics {
  std::int64_t step = 0;
  double train_loss = 0;  // mean over the steps since the line before
  Evaluation held_out{};
  double learning_rate = Evaluation::unknown;  // of the last step
};

/// Returns the line of metrics.jsonl, a JSON object. What is unknown is null.
std::string to_line(const Metrics& metrics);

/// Returns the number of evaluations after the one with the smallest held-out loss, of those from step `from` on.
std::int64_t evaluations_since_best(const std::filesystem::path& run, std::int64_t from = 0);

/// Reads RUN/metrics.jsonl; without such a file the result is empty. Throws `Error` that names each line that to_line() does not
/// write.
std::vector<Metrics> read_metrics(const std::filesystem::path& run);

}  // namespace heed
