#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/explain/sentence_attention.h>
#include <heed/explain/trace.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

bool begins_word(const std::string& piece, const std::string& before) {
  if (before == " ") return false;
  const auto is_of_words = [](char c) {
    return c < 0 || c == '\'' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return piece[0] == ' ' || !is_of_words(piece[0]) || !is_of_words(before.back());
}

// Names a candidate as answer_text() does.
std::string told(const std::vector<std::string>& tokens, Span span) { return text_of(Example{.tokens = tokens}, span); }

std::vector<Prediction> likeliest(const Model& model, const Example& example,
                                  const std::vector<double>& probabilities) {
  std::vector<Prediction> result;
  for (const std::size_t word : largest_of<double>(probabilities, 5)) {
    result.push_back({answer_text(model, example, static_cast<int>(word)), probabilities[word]});
  }
  return result;
}

}  // namespace

SentenceAttention attend(const Model& model, const Example& example) {
  const Batch input = batch_of(model, example);
  check_weights_fit(model.transformer(), input.tokens);
  const ModelOutput output = model.run(input, {.weights = true});
  SentenceAttention result{.tokens = example.tokens,
                           .query = example.query,
                           .antecedent = example.antecedent,
                           .predicted = "",
                           .probability = 0,
                           .layers = {},
                           .candidates = example.candidates,
                           .answer = example.answer};
  if (model.head().exists()) {
    const std::vector<double> probabilities = softmax(output.logits.to(DType::float64)).to_vector();
    if (!std::isfinite(probabilities[0])) fail_not_finite(model, input);  // softmax makes NaN of all when one is not
    const auto best = std::max_element(probabilities.begin(), probabilities.end());
    result.predicted = answer_text(model, example, static_cast<int>(best - probabilities.begin()));
    result.probability = *best;
    if (model.head().has_token_logits()) result.likeliest = likeliest(model, example, probabilities);
  } else if (!is_finite(output.weights.back())) {
    fail_not_finite(model, input);
  }
  for (const Tensor& weights : output.weights) {  // (1, heads, T, T)
    result.layers.push_back(reshape(weights, {weights.size(1), weights.size(2), weights.size(3)}).to(DType::float32));
  }
  return result;
}

Example question(const SentenceAttention& sentence) {
  Example example;
  example.tokens = sentence.tokens;
  example.query = sentence.query;
  example.antecedent = sentence.antecedent;
  example.sentences = sentence_numbers(sentence.tokens);
  example.candidates = sentence.candidates;
  return example;
}

SentenceAttention of_whole_words(const SentenceAttention& pieces) {
  SentenceAttention result = pieces;
  result.tokens.clear();
  result.layers.clear();
  std::vector<int> word_of;
  for (std::size_t i = 0; i < pieces.tokens.size(); ++i) {
    const std::string& piece = pieces.tokens[i];
    if (i == 0 || begins_word(piece, pieces.tokens[i - 1])) {
      result.tokens.push_back(piece.size() > 1 && piece[0] == ' ' ? piece.substr(1) : piece);
    } else {
      std::string& word = result.tokens.back();
      word = word == " " ? piece : word + piece;
    }
    word_of.push_back(static_cast<int>(result.tokens.size()) - 1);
  }
  const auto word = [&](int piece) { return piece < 0 ? -1 : word_of[static_cast<std::size_t>(piece)]; };
  result.query = word(pieces.query);
  result.antecedent = word(pieces.antecedent);
  for (Span& span : result.candidates) {
    const bool is_answer = told(pieces.tokens, span) == pieces.predicted;
    span = {word(span.begin), word(span.end - 1) + 1};
    if (is_answer) result.predicted = told(result.tokens, span);
  }
  const std::int64_t T = std::ssize(pieces.tokens), W = std::ssize(result.tokens);
  for (const Tensor& layer : pieces.layers) {  // (heads, T, T)
    const std::vector<double> weights = layer.to_vector();
    std::vector<double> of_words(static_cast<std::size_t>(layer.size(0) * W * W));
    for (std::int64_t head = 0; head < layer.size(0); ++head) {
      for (int query = 0; query < T; ++query) {
        if (query + 1 < T && word(query + 1) == word(query)) continue;  // only the last subword counts as the query
        double* const row = of_words.data() + (head * W + word(query)) * W;
        const double* const from = weights.data() + (head * T + query) * T;
        for (int key = 0; key < T; ++key) row[word(key)] += from[key];
      }
    }
    result.layers.push_back(tensor({layer.size(0), W, W}, of_words));
  }
  return result;
}

void fail_not_finite(const Model& model, const Batch& input) {
  std::string first = "logits";
  {
    bool found = false;
    const Hook hook([&](const std::string& name, const Tensor& value) {
      if (found || is_finite(value)) return;
      found = true;
      first = fmt::format("{} {}", name, to_string(value.shape()));
    });
    model.run(input);
  }
  throw NotFinite(
      fmt::format("the model computes values that are not finite, the first of them in {}: its weights are too "
                  "large; the file is damaged, or its training diverged",
                  first));
}

}  // namespace heed
