#pragma once
#include <heed/data/task.h>
#include <heed/models/model.h>
#include <heed/optim/gradient_reducer.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace heed {

/// Accuracy and loss of a model on a set of examples. NaN means unknown.
struct Evaluation {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double loss = unknown;                  ///< mean cross-entropy in nats
  double accuracy = unknown;              ///< share of correct answers
  double counterpart_accuracy = unknown;  ///< share of minimal pairs with two correct answers
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

/// A callback between batches; may be empty. An exception that it throws ends the evaluation.
using BetweenBatches = std::function<void()>;

/// Thrown by an evaluation that `between` ended on another process.
struct Interrupted {};

/// Evaluates on `examples`. Several processes share the batches; each returns the whole Evaluation, bit-equal to that
/// of one process.
Evaluation evaluate(const Model& model, const NumberedExamples& examples, const BetweenBatches& between = {},
                    const GradientReducer& reducer = {});

/// Returns how many windows of `context` tokens are evaluated at once with a vocabulary of this size.
std::int64_t windows_at_once(std::int64_t context, std::int64_t vocabulary);

/// Evaluates on the whole held-out corpus: each token, or each masked one, is predicted once from its window.
Evaluation evaluate(const Model& model, const Corpus& corpus, const BetweenBatches& between = {},
                    const GradientReducer& reducer = {});

}  // namespace heed
