#pragma once
#include <heed/models/reading.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace heed {

/// Returns the indices of the `most` largest values, the largest first.
template <class T>
std::vector<std::size_t> largest_of(std::span<const T> values, std::size_t most) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t count = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(count);
  return order;
}

/// A possible answer.
struct Prediction {
  std::string answer;
  double probability;
};

/// A model's answer to one sentence, and all its attention weights.
struct SentenceAttention {
  std::vector<std::string> tokens;      ///< T
  int query = 0;                        ///< the token at which a word was predicted
  int antecedent = -1;                  ///< the token that it refers to; -1: unknown
  std::string predicted;                ///< empty when the model cannot answer
  double probability = 0;               ///< of `predicted`
  std::vector<Tensor> layers;           ///< weights (heads, T, T) per layer, float32; each row sums to 1
  std::vector<Span> candidates{};       ///< among which it chose, where it did
  std::string answer{};                 ///< the correct answer; empty: unknown
  std::vector<Prediction> likeliest{};  ///< the five most probable tokens, from a model that predicts tokens
};

/// Runs the model on an example, unrecorded. Throws `NotFinite` when the answer is infinite or NaN, or the
/// weights of a model without answers.
SentenceAttention attend(const Model& model, const Example& example);

/// Returns the question of a sentence; its correct answer is unknown.
Example question(const SentenceAttention& sentence);

/// Joins subwords to words: a subword that starts with a space, or that is not a letter or digit, starts a word. The
/// weight of a word is the sum over its subwords; as a query a word is its last subword. Rows still sum to 1.
SentenceAttention of_whole_words(const SentenceAttention& pieces);

/// Throws `NotFinite` that names the first infinite or NaN value inside the model for `input`.
[[noreturn]] void fail_not_finite(const Model& model, const Batch& input);

}  // namespace heed
