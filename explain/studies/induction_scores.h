#pragma once
#include <heed/explain/progress.h>
#include <heed/explain/sentence_attention.h>
#include <heed/explain/studies/interval.h>

#include <cmath>
#include <vector>

namespace heed {

/// How a head goes through the tokens of sentences (Olsson et al. 2022, arXiv:2209.11895, section 2).
struct HeadScores {
  double previous_token = 0;  ///< mean weight from a token to the one before it
  double induction = 0;  ///< mean weight to the token after the latest earlier occurrence; NaN: no token comes twice
};

/// Returns the scores of each head over all sentences, [layer][head]. Throws Error without sentences.
///
///     const auto scores = head_scores({attend(model, question(model, "a b a b"))});
///     fmt::print("{:.2f}\n", scores[1][0].induction);
std::vector<std::vector<HeadScores>> head_scores(const std::vector<SentenceAttention>& sentences);

/// Returns the number of tokens that occurred before in their sentence: those over which `induction` is the mean.
int repeated_tokens(const std::vector<SentenceAttention>& sentences);

/// The same scores where only induction explains them: in random sequences of different tokens that a model reads twice in a
/// row, over the tokens of the second copy. Neither meaning nor a fixed distance leads to the token behind the copy, since the copies of
/// different sequences have different lengths.
///
///     const RepeatedScores found = repeated_scores(model);
///     if (found.is_induction(1, 0)) fmt::print("layer 2 head 1: {:.2f}\n", found.heads[1][0].induction.share);
struct RepeatedScores {
  /// Mean weights over the second copies, with their intervals over sequences: interval_of() of each. All intervals of one
  /// score hold together with probability 95 % or more (Bonferroni), since the heads with the largest scores are named.
  struct Head {
    Interval previous_token{};  ///< to the token before
    Interval induction{};       ///< to the token behind the earlier copy
  };
  int sequences = 0;
  int min_length = 0, max_length = 0;  ///< different tokens of a sequence, each length equally often
  /// Share of the tokens of the second copies, but their first, that a model predicts right; NaN for one that does not predict the next
  /// token.
  Interval right{std::nan(""), std::nan(""), std::nan("")};
  std::vector<std::vector<Head>> heads{};  ///< [layer][head]

  /// Least induction score of an induction head.
  static constexpr double least = 0.4;
  /// Returns whether the interval of the induction score lies above `least`.
  bool is_induction(int layer, int head) const;
  /// Returns whether it contains `least`, so that the sequences do not tell.
  bool is_undecided(int layer, int head) const;
};

/// Returns the mean of the scores of one of `heads` heads, in [0, 1] and one per sequence, and its interval.
Interval induction_interval(const std::vector<double>& scores, int heads);

/// Returns whether a model knows 5 tokens and reads them twice, as repeated_scores() needs.
bool reads_repeats(const Model& model);

/// Measures a model on 50 sequences from `seed`, of as many different tokens as it reads twice, at most 25, down to half of that. Throws Error for a
/// model that reads fewer than 5 tokens twice, or knows fewer.
RepeatedScores repeated_scores(const Model& model, std::uint64_t seed = 1, const OnProgress& progress = {});

}  // namespace heed
