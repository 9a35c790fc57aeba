#pragma once
#include <heed/explain/sentence_attention.h>

#include <vector>

namespace heed {

/// How a head goes through the tokens of sentences (Olsson et al. 2022, arXiv:2209.11895, section 2).
struct HeadScores {
  double previous_token = 0;  ///< mean weight from a token to the one before it
  double induction = 0;  ///< mean weight to the token after the latest earlier occurrence; NaN: no token comes twice
};

/// Returns the scores of each head over all sentences, [layer][head]. Throws Error without sentences.
///
///     const auto scores = head_scores({attend(*model.network, model.vocabulary, question(model, "a b a b"))});
///     fmt::print("{:.2f}\n", scores[1][0].induction);
std::vector<std::vector<HeadScores>> head_scores(const std::vector<SentenceAttention>& sentences);

}  // namespace heed
