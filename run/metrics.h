#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// Accuracy and loss of a model on a set of examples. NaN means unknown.
struct Evaluation {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double loss = unknown;           ///< mean cross-entropy in nats
  double accuracy = unknown;       ///< share of correct answers
  double twin_accuracy = unknown;  ///< share of minimal pairs with two correct answers
  /// For models that predict tokens: e^loss, and bits per byte of the held-out text.
  double perplexity = unknown, bits_per_byte = unknown;
  /// Mean attention weight from the query to the antecedent, [layer][head], over the examples with an antecedent.
  std::vector<std::vector<double>> antecedent_weight{};

  /// The head with the largest weight on the antecedent.
  struct BestHead {
    std::size_t layer, head;  ///< from 0
    double weight;
  };
  /// Returns the head with the largest antecedent_weight, or nullopt when all are unknown.
  std::optional<BestHead> best_head() const;
};

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
