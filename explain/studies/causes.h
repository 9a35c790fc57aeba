#pragma once
#include <heed/explain/attribution.h>
#include <heed/explain/studies/held_out.h>
#include <heed/explain/studies/study_options.h>
#include <heed/explain/studies/verdict.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// One intervention and its effects, over all the sentences to which it applies.
struct Cause {
  /// The kind of an intervention.
  enum class What {
    zero_ablation,  ///< the head's output is 0 at every token
    mean_ablation,  ///< ... is its mean over the sentences: at the query over queries, elsewhere over the other tokens
    edge,           ///< the score of one key for one query is -infinity, so that the others share its weight (attention
                    ///< knockout; Geva et al. 2023, arXiv:2304.14767)
    only_edge,      ///< the scores of all other keys are -infinity
    edge_all_heads,          ///< `edge` in every head of the layer at once
    edge_everywhere,         ///< `edge` in every head of every layer at once
    zero_weight,             ///< the weight of one key for one query is 0 after the softmax; the others keep theirs
    zero_weight_all_heads,   ///< `zero_weight` in every head of the layer at once
    zero_weight_everywhere,  ///< `zero_weight` in every head of every layer at once
    patch_head,  ///< the head's output is that of the counterpart sentence (activation patching; Meng et al. 2022,
                 ///< arXiv:2202.05262)
    patch_layer  ///< the output of every head of the layer is that of the counterpart sentence
  } what = What::zero_ablation;
  int layer = 0;  ///< -1: all
  int head = -1;  ///< -1: all
  /// For an edge: "query", "antecedent", "other" (the distractor) or "decider". `to` may also be "itself", or "rest":
  /// all other tokens, one after the other.
  std::string from = {}, to = {};
  int sentences = 0;       ///< to which it applies; all figures here are over these
  double weight = 0;       ///< mean attention weight of the edge, else of query -> antecedent; NaN: unknown
  double probability = 0;  ///< mean change of the answer's probability
  double spread = 0;       ///< its standard deviation over sentences (`rest`: over sentences and tokens)
  Interval before{};       ///< accuracy with nothing changed
  Interval accuracy{};     ///< after the intervention (`rest`: mean over sentences and tokens)
  Interval lost{};         ///< before minus after
  /// The change of one sentence.
  struct Loss {
    int sentence;  ///< its place in HeldOut::sentences()
    double lost;   ///< right before minus right after
  };
  std::vector<Loss> losses{};  ///< the values of this mean; empty for `rest`
  Verdict verdict{};           ///< the share of the advantage over chance that is lost
  double p = 1;                ///< probability of as large a difference between before and after if there is none
  Interval flipped{};  ///< patches: flip rate, the share of answers that change to the counterpart's; NaN otherwise
  Interval unmoved{};  ///< `rest`: share of sentences whose answer changes with none of the cuts; NaN otherwise
};

constexpr double pointing_weight = 0.5;  ///< least mean weight from the query to the antecedent in a head that points

/// Mean weight below which only_edge leaves an edge out: the head ignores that token, and would be forced to attend to
/// it.
constexpr double kept_weight = 0.1;

/// Tests whether the attention is the cause of the answers: applies every intervention of Cause to a model that answers
/// held-out sentences.
///
///     const Causes found = causes(model, held_out, {}, {.most = 100});
///     const Cause* edge = found.find(Cause::What::edge, 1, 0, "antecedent");
///     fmt::print("accuracy {:.2f}, without the edge {:.2f}\n", found.accuracy.share, edge->accuracy.share);
struct Causes {
  std::int64_t step = 0;
  int sentences = 0, held_out = 0;  ///< of `held_out` sentences, `sentences` are used
  int pairs = 0;                    ///< minimal pairs among them
  bool is_text = false;             ///< whether the tokens hold the spaces of a text
  Interval accuracy{};              ///< with nothing changed
  double probability = 0;
  Interval counterpart_accuracy{};  ///< both of a pair right; NaN without pairs
  /// Whether the last layer has no residual, so that the query's state comes only from the tokens that it attends to there.
  bool attention_alone = false;
  double chance = 0;         ///< chance_of() all sentences; NaN: unknown
  bool is_constant = false;  ///< whether that is the accuracy of the most frequent answer

  /// The head with the largest mean weight from query to antecedent.
  struct Pointing {
    int layer, head;
    double weight;
    Interval
        others{};  ///< answers lost when the edge is cut in every head of the layer, beyond those lost in this head
    std::optional<Heads> flips_more;  ///< the head with the largest flip rate, if that is shown to be larger
  };
  std::optional<Pointing> pointing;
  std::vector<Cause> rows;            ///< by layer and head
  std::vector<std::string> left_out;  ///< sentences that say which rows are left out, and why
  /// Spearman's rank correlation of attention weight and absolute change of the answer's probability when the edge is
  /// cut, over all (sentence, head, token) from the query. NaN when all weights or all changes are equal.
  double rank_correlation_last = 0, rank_correlation_all = 0;
  std::vector<Attribution> attribution;  ///< one per watched sentence

  /// Returns those of `rows` that lose answers: Holm's method (1979) names a row without a loss in at most 5 of 100 tables.
  static std::vector<const Cause*> with_loss(std::vector<const Cause*> rows);

  /// Returns the row of an intervention from the query, or null.
  const Cause* find(Cause::What what, int layer, int head, const std::string& to = "") const;
};

/// Returns whether the last layer has no residual, so that only what its heads read reaches the answer.
bool answers_by_attention_alone(const Model& model);

/// Measures the causes of the answers to held-out sentences. It measures the heads `among`, all by default, and the one that
/// points. Decomposes the answers to the `watched` sentences with attribute(). Throws NotFinite when the model computes
/// infinity or NaN.
Causes causes(const Model& model, const std::vector<Example>& held_out, const std::vector<Example>& watched = {},
              const StudyOptions& options = {}, Heads among = {-1, -1});

}  // namespace heed
