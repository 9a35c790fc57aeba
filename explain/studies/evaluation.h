#pragma once
#include <heed/data/task.h>
#include <heed/explain/progress.h>
#include <heed/explain/studies/interval.h>
#include <heed/models/model.h>

#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// How well a model predicts the tokens of a text: each of them once, from the tokens before it in its window, or where it is
/// hidden.
///
///     const TextEvaluation found = evaluate_text(model, text);
///     fmt::print("{:.3f} nats per token, from {:.3f} to {:.3f}\n", found.loss.share, found.loss.low, found.loss.high);
struct TextEvaluation {
  std::int64_t tokens = 0, bytes = 0, windows = 0, predictions = 0;
  int context = 0;           ///< tokens of a window
  bool is_masked = false;    ///< whether hidden tokens are predicted, masked_share of all
  Interval loss{};           ///< mean cross-entropy in nats
  Interval accuracy{};       ///< share of tokens that the model gives the largest probability
  double bits_per_byte = 0;  ///< NaN for hidden tokens
};

/// Evaluates a model that predicts tokens in windows of `context` tokens (0: as many as it reads, at most 1024). The windows are
/// those of training's held-out text. Tokens of one hundredth of the text (one tenth of a short text) may depend on each
/// other: such blocks are the groups of the intervals. Throws Error for a text of unknown or too few tokens, and NotFinite.
TextEvaluation evaluate_text(const Model& model, std::string_view text, int context = 0,
                             const OnProgress& progress = {});

/// How well a model answers questions about sentences.
struct AnswerEvaluation {
  int sentences = 0, pairs = 0;
  int too_long = 0;        ///< left out: more tokens than the model has positions
  int without_answer = 0;  ///< sentences whose answer the model cannot give; they count as wrong, and not for the loss
  Interval accuracy{};
  Interval both_of_pair{};  ///< share of minimal pairs with two right answers; NaN without pairs
  Interval loss{};          ///< mean cross-entropy in nats
  /// The sentences of one relation.
  struct Group {
    std::string name;
    int sentences = 0;
    Interval accuracy{};
  };
  std::vector<Group> groups{};  ///< by relation; empty with fewer than two
};

/// Evaluates a model that answers questions. Throws Error when the model cannot read the sentences, and NotFinite.
AnswerEvaluation evaluate_answers(const Model& model, std::vector<Example> examples);

/// Returns t with P(|T| > t) = error for Student's t distribution with `degrees` (at least 1) degrees of freedom.
double student_t(int degrees, double error = 0.05);

/// Returns the share of right (1) answers with an interval within [0, 1]; the answers of a group are not independent.
Interval share_of_answers(const std::vector<double>& right, const std::vector<int>& groups);

/// Returns the mean of `values` of any size and its 95 % interval from the sums of the groups (Cochran 1977, section 6.3) with
/// Student's t. The ends are NaN for fewer than 10 groups.
Interval mean_of(const std::vector<double>& values, const std::vector<int>& groups);

}  // namespace heed
