#pragma once
#include <heed/data/task.h>
#include <heed/explain/intervention.h>
#include <heed/explain/progress.h>
#include <heed/models/model.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// Weight below which an edge is not cut: its key has less than a hundredth of the attention.
constexpr double min_cut_weight = 0.01;

/// The parts of a model on which its answer to one text depends. It works for every model that answers, also for one
/// that others trained. One text is an anecdote: causes() measures many.
///
///     const Example text = question(model, "The capital of France is");
///     const SentenceCauses found = sentence_causes(model, text);
///     fmt::print("{}: {}\n", found.answer, found.heads[0].zero);   // change of its probability without layer 1 head 1
///
/// With a second text, the counterpart, the measure is the logit of the answer minus that of the rival, the
/// counterpart's answer.
struct SentenceCauses {
  /// One head, and the changes of the measure.
  struct Head {
    int layer = 0, head = 0;          ///< from 0
    double zero = 0;                  ///< its output is 0 at every token
    double mean = 0;                  ///< its output at every token is the mean over the tokens of the text
    std::string answer_without = {};  ///< the most probable answer while its output is 0
    std::vector<double> weights{};    ///< per token: the weight of the edge from the query
    std::vector<double> cuts{};       ///< per token: the edge is cut; NaN where the weight is below min_cut_weight
    double zero_weight = 0;           ///< that of largest_cut() gets the weight 0 after the softmax; NaN without one
    /// Share of the difference between the text and its counterpart that the counterpart gains when the head's output
    /// is patched from the text: 0 of nothing, 1 of all; NaN without a counterpart
    double restored = 0;

    /// Returns the token whose cut changes the measure most; -1 when no edge was cut.
    int largest_cut() const;
  };

  std::vector<std::string> tokens{}, pair_tokens{};  ///< of the text and of its counterpart
  int query = 0;                                     ///< the token at which the model answers
  std::string answer{}, rival{};                     ///< the most probable answers to the text and to the counterpart
  double probability = 0;                            ///< of the answer
  double difference = 0,
         pair_difference = 0;  ///< the logit of the answer minus that of the rival; NaN without a counterpart
  std::vector<Head> heads{};   ///< those measured, layer by layer

  /// Returns whether changes are changes of a logit difference, not of a probability.
  bool has_rival() const { return !rival.empty(); }
};

/// Ablates each head, cuts each edge from the query and patches each head from `text` into its counterpart, one at a time: the
/// heads `among`. Throws `Error` when the model has no answers, and when the counterpart has another number of tokens, another
/// query or the same answer.
SentenceCauses sentence_causes(const Model& model, const Example& text, const std::optional<Example>& counterpart = {},
                               const OnProgress& progress = {}, Heads among = {-1, -1});

}  // namespace heed
