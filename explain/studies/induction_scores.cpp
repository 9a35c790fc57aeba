#include <heed/explain/studies/induction_scores.h>

#include <limits>

namespace heed {
namespace {

constexpr double no_score = std::numeric_limits<double>::quiet_NaN();

// Returns the token after the latest earlier occurrence of `token`; -1 for its first occurrence.
int follower_of_same(const std::vector<std::string>& tokens, int token) {
  for (int earlier = token - 1; earlier >= 0; --earlier) {
    if (tokens[static_cast<std::size_t>(earlier)] == tokens[static_cast<std::size_t>(token)]) return earlier + 1;
  }
  return -1;
}

HeadScores scores_of(const std::vector<SentenceAttention>& sentences, std::size_t layer, std::int64_t head) {
  HeadScores sums;
  int tokens = 0, repeated = 0;
  for (const SentenceAttention& sentence : sentences) {
    const Tensor& weights = sentence.layers.at(layer);  // (heads, T, T)
    for (int t = 1; t < std::ssize(sentence.tokens); ++t) {
      sums.previous_token += weights.at({head, t, t - 1});
      ++tokens;
      const int follower = follower_of_same(sentence.tokens, t);
      if (follower < 0) continue;
      sums.induction += weights.at({head, t, follower});
      ++repeated;
    }
  }
  return {tokens ? sums.previous_token / tokens : no_score, repeated ? sums.induction / repeated : no_score};
}

}  // namespace

std::vector<std::vector<HeadScores>> head_scores(const std::vector<SentenceAttention>& sentences) {
  std::vector<std::vector<HeadScores>> scores;
  if (sentences.empty()) fail("head_scores: expected sentences, got none");
  for (std::size_t layer = 0; layer < sentences[0].layers.size(); ++layer) {
    scores.emplace_back();
    for (std::int64_t head = 0; head < sentences[0].layers[layer].size(0); ++head) {
      scores.back().push_back(scores_of(sentences, layer, head));
    }
  }
  return scores;
}

}  // namespace heed
