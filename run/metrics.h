#pragma once
#include "files/json.h"

#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

namespace heed {

// How well a model reads a set of examples.
struct Evaluation {
  double loss = 0;           // mean cross-entropy, nats
  double accuracy = 0;       // fraction answered right
  double twin_accuracy = 0;  // fraction of twins with both answered right; NaN when no example has a twin
  // Of a language model, NaN for others: e^loss, and what the held-out text takes, in bits for each of its bytes.
  double perplexity = std::numeric_limits<double>::quiet_NaN();
  double bits_per_byte = std::numeric_limits<double>::quiet_NaN();
  // Mean attention weight from the query to the antecedent, [layer][head], over the examples that have one.
  std::vector<std::vector<double>> antecedent_weight{};

  struct BestHead {
    std::size_t layer, head;  // from 0
    double weight;
  };
  std::optional<BestHead> best_head() const;  // the largest of antecedent_weight; none where no weight is known
};

// A line of metrics.jsonl: how a run stood after `step` steps.
struct Metrics {
  std::int64_t step = 0;
  double train_loss = 0;  // mean over the steps since the line before
  Evaluation held_out;
  double learning_rate = 0;  // of the last step
};

Json to_json(const Metrics& metrics);

// How many evaluations there were after the one with the smallest held-out loss, of those from a step on; 0 where there are
// none.
std::int64_t evaluations_since_best(const std::filesystem::path& run, std::int64_t from = 0);

// The lines of RUN/metrics.jsonl; none where there is no such file. Error naming each line that is not one of to_json().
std::vector<Metrics> read_metrics(const std::filesystem::path& run);

}  // namespace heed
