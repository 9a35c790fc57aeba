#pragma once
#include <heed/models/reading.h>

#include <string>
#include <vector>

namespace heed {

/// What a model did with one sentence: its answer and all attention weights.
struct SentenceAttention {
  std::vector<std::string> tokens;  // T
  int query = 0;                    // the token at which a word was predicted
  int antecedent = -1;              // the token that it refers to; -1: unknown
  std::string predicted;            // empty when the model has no answers
  double probability = 0;           // of `predicted`
  std::vector<Tensor> layers;       // weights (heads, T, T) per layer, float32; each row sums to 1
  std::vector<Span> candidates{};   // among which it chose, where it did
};

/// Runs the model on an example, unrecorded. Throws `NotFinite` when the answer is infinite or NaN, or the
/// weights of a model without answers.
SentenceAttention attend(const Model& model, const Vocabulary& vocabulary, const Example& example);

/// Returns the question that a sentence asks; its right answer is not known.
Example question(const SentenceAttention& sentence);

/// Joins the pieces of words: a piece that begins with a space, or that is not a letter or digit, begins a word. The weight of a
/// word is the sum over its pieces; as a query it is its last piece. Rows still sum to 1.
SentenceAttention of_whole_words(const SentenceAttention& pieces);

/// Throws `NotFinite` that names the first value within the model that is infinite or NaN while it reads `input`.
[[noreturn]] void fail_not_finite(const Model& model, const Questions& input);

}  // namespace heed
