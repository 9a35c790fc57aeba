#pragma once
#include <heed/explain/studies/held_out.h>

#include <vector>

namespace heed {

/// The named tokens of a sentence.
enum class Role { query, antecedent, distractor, cue };
constexpr int roles = 4;
const char* to_string(Role role);  ///< the name of a role in Cause
/// Returns the token of a role: the last one of a candidate of several words; -1 for a sentence without it.
int token_of(const Example& example, Role role);
/// Returns all tokens of a role; an empty span for a sentence without it.
Span span_of(const Example& example, Role role);

/// The answers, attention weights and mean head outputs of an unchanged model.
///
///     const Baseline before(held_out);
///     const double weight = before.weight(0, {1, 0}, Role::query, span_of(held_out.sentences()[0], Role::antecedent));
class Baseline {
 public:
  explicit Baseline(const HeldOut& held_out);  ///< answers all sentences

  /// Returns the answers with nothing changed.
  const std::vector<HeldOut::Answer>& answers() const { return answers_; }
  /// Returns the mean output of the heads of one layer.
  const MeanOutput& mean_output(int layer) const { return mean_output_[static_cast<std::size_t>(layer)]; }

  /// Returns the sum of the weights from a role's token to the tokens `to` of sentence `i`, as the mean over `heads`.
  /// Returns NaN for a sentence without them.
  double weight(std::size_t i, Heads heads, Role from, Span to) const;

 private:
  void keep_weights(int layer, const Tensor& value, std::size_t first);
  void add_outputs(int layer, const Tensor& value, std::size_t first);
  std::size_t weight_index(std::size_t i, int layer, int head, Role from, int to) const;

  const HeldOut& held_out_;
  std::vector<HeldOut::Answer> answers_;
  std::vector<std::vector<float>> weights_;  // per sentence: (layers, heads, roles, T)
  std::vector<MeanOutput> mean_output_;      // per layer
};

}  // namespace heed
