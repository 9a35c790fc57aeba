#include "train/evaluation.h"

#include "train/experiment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace heed {
namespace {

// Which rows of logits (B, C) have their largest entry at the answer.
std::vector<bool> are_right(const Tensor& logits, const Ids& answer) {
  const std::vector<double> values = logits.to_vector();
  std::vector<bool> right;
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    const auto row = values.begin() + b * logits.size(1), end = row + logits.size(1);
    right.push_back(std::max_element(row, end) - row == answer[b]);
  }
  return right;
}

// Adds the weights from the query to the antecedent, of the examples from `first` on, to totals[layer][head].
void add_weights(const Answers& output, const NumberedExamples& examples, std::int64_t first,
                 std::vector<std::vector<double>>& totals) {
  totals.resize(output.weights.size());
  for (std::size_t layer = 0; layer < totals.size(); ++layer) {
    const Tensor& weights = output.weights[layer];  // (B, heads, T)
    totals[layer].resize(static_cast<std::size_t>(weights.size(1)));
    for (std::int64_t b = 0; b < weights.size(0); ++b) {
      const Span antecedent = examples.antecedent_span(first + b);
      for (std::size_t head = 0; head < totals[layer].size(); ++head) {
        for (int token = std::max(antecedent.begin, 0); token < antecedent.end; ++token) {
          totals[layer][head] += weights.at({b, static_cast<std::int64_t>(head), token});
        }
      }
    }
  }
}

double twins_right(const NumberedExamples& examples, const std::vector<bool>& right) {
  int pairs = 0, both = 0;
  for (std::int64_t i = 0; i < examples.size(); ++i) {
    const int twin = examples.twin(i);
    if (twin < i) continue;
    ++pairs;
    both += right[static_cast<std::size_t>(i)] && right[static_cast<std::size_t>(twin)];
  }
  return pairs ? static_cast<double>(both) / pairs : Evaluation::unknown;
}

// How many rows of logits (N, C) have their largest entry at the label, of those that have one.
std::int64_t right_predictions(const Tensor& logits, const Ids& labels) {
  const Tensor rows = contiguous(logits).to(DType::float32);
  const std::int64_t C = rows.size(1);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const float* row = rows.data<float>() + i * C;
    right += labels[i] >= 0 && std::max_element(row, row + C) - row == labels[i];
  }
  return right;
}

}  // namespace

std::int64_t windows_at_once(std::int64_t context, std::int64_t vocabulary) {
  constexpr std::int64_t most_logits = 1 << 22;
  return std::max<std::int64_t>(1, most_logits / (context * vocabulary));
}

Evaluation evaluate(const Model& model, const Corpus& corpus, const BetweenBatches& between) {
  const std::int64_t windows = held_out_windows(corpus);
  const std::int64_t B = windows_at_once(corpus.context, transformer_of(model).config.vocabulary);
  double sum = 0;
  std::int64_t predicted = 0, right = 0;
  for (std::int64_t begin = 0, end; begin < windows; begin = end) {
    if (between) between();
    end = std::min(windows, begin + B);
    const Windows part = held_out_windows(corpus, begin, end);
    const Tensor whole = token_logits(model, part.tokens);  // (B, T, vocabulary)
    const Tensor logits = reshape(whole, {-1, whole.size(2)});
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < part.next.numel(); ++i) counted += part.next[i] >= 0;
    sum += cross_entropy(logits, part.next).item() * static_cast<double>(counted);
    right += right_predictions(logits, part.next);
    predicted += counted;
  }
  Evaluation result;
  result.loss = sum / static_cast<double>(predicted);
  result.accuracy = static_cast<double>(right) / static_cast<double>(predicted);
  result.perplexity = std::exp(result.loss);
  if (corpus.held_out_bytes > 0 && corpus.mask < 0) {
    result.bits_per_byte = sum / std::numbers::ln2 / static_cast<double>(corpus.held_out_bytes);
  }
  return result;
}

Evaluation evaluate(const Model& model, const NumberedExamples& examples, const BetweenBatches& between) {
  constexpr std::int64_t examples_a_batch = 128;
  Evaluation result{.loss = 0};
  std::vector<bool> right;
  for (std::int64_t begin = 0, end; begin < examples.size(); begin = end) {
    if (between) between();
    end = std::min(examples.size(), begin + examples_a_batch);
    const Batch batch = examples.batch(begin, end);
    const Answers output = answer(model, questions(batch), Compute::query, Weights::yes);
    const Ids answers = right_answers(model, batch);
    result.loss += cross_entropy(output.logits, answers).item() * static_cast<double>(end - begin);
    const std::vector<bool> answered = are_right(output.logits, answers);
    right.insert(right.end(), answered.begin(), answered.end());
    add_weights(output, examples, begin, result.antecedent_weight);
  }
  const double count = static_cast<double>(examples.size());
  result.loss /= count;
  result.accuracy = static_cast<double>(std::count(right.begin(), right.end(), true)) / count;
  result.twin_accuracy = twins_right(examples, right);
  int with_antecedent = 0;
  for (std::int64_t i = 0; i < examples.size(); ++i) with_antecedent += examples.antecedent(i) >= 0;
  for (std::vector<double>& layer : result.antecedent_weight) {
    for (double& weight : layer) weight = with_antecedent ? weight / with_antecedent : Evaluation::unknown;
  }
  return result;
}

}  // namespace heed
