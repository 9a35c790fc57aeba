#include <heed/autograd/ops.h>
#include <heed/explain/evaluation.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <numbers>
#include <numeric>

namespace heed {
namespace {

// Returns for each row of logits (B, C) whether its largest entry is at the answer.
std::vector<bool> are_right(const Tensor& logits, const Ids& answer) {
  const std::vector<double> values = logits.to_vector();
  std::vector<bool> right;
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    const auto row = values.begin() + b * logits.size(1), end = row + logits.size(1);
    right.push_back(std::max_element(row, end) - row == answer[b]);
  }
  return right;
}

// Appends the weights from the query to each token of the antecedent, for the examples from `first` on: by example,
// layer and head.
void append_weights(const ModelOutput& output, const NumberedExamples& examples, std::int64_t first,
                    std::vector<double>& weights) {
  for (std::int64_t b = 0; b < output.logits.size(0); ++b) {
    const Span antecedent = examples.antecedent_span(first + b);
    for (const Tensor& of_layer : output.weights) {  // (B, heads, T)
      for (std::int64_t head = 0; head < of_layer.size(1); ++head) {
        for (int token = std::max(antecedent.begin, 0); token < antecedent.end; ++token) {
          weights.push_back(of_layer.at({b, head, token}));
        }
      }
    }
  }
}

// Returns the sums of the weights that append_weights() appended for all examples, by layer and head.
std::vector<std::vector<double>> weight_totals(const std::vector<double>& weights, const NumberedExamples& examples,
                                               std::size_t layers, std::size_t heads) {
  std::vector<std::vector<double>> totals(layers, std::vector<double>(heads));
  auto weight = weights.begin();
  for (std::int64_t i = 0; i < examples.size(); ++i) {
    const Span antecedent = examples.antecedent_span(i);
    const int tokens = std::max(0, antecedent.end - std::max(antecedent.begin, 0));
    for (std::vector<double>& layer : totals) {
      for (double& total : layer) {
        for (int token = 0; token < tokens; ++token) total += *weight++;
      }
    }
  }
  return totals;
}

// Calls f(batch) for this process's share of the batches. When `between` throws Interrupted on one process, all throw it.
void for_own_batches(std::int64_t batches, const BetweenBatches& between, const GradientReducer& reducer,
                     const std::function<void(std::int64_t)>& f) {
  const Share own = reducer.own_part(batches);
  std::exception_ptr ended;
  try {
    for (std::int64_t batch = own.first; batch < own.end; ++batch) {
      if (between) between();
      f(batch);
    }
  } catch (const Interrupted&) {
    ended = std::current_exception();
  }
  const bool is_ended = reducer.any(ended != nullptr);
  if (ended) std::rethrow_exception(ended);
  if (is_ended) throw Interrupted();
}

double counterparts_right(const NumberedExamples& examples, const std::vector<double>& right) {
  int pairs = 0, both = 0;
  for (std::int64_t i = 0; i < examples.size(); ++i) {
    const int counterpart = examples.counterpart(i);
    if (counterpart < i) continue;
    ++pairs;
    both += right[static_cast<std::size_t>(i)] > 0 && right[static_cast<std::size_t>(counterpart)] > 0;
  }
  return pairs ? static_cast<double>(both) / pairs : Evaluation::unknown;
}

std::int64_t labels_in(const Ids& labels) {
  return std::count_if(labels.data(), labels.data() + labels.numel(), [](std::int32_t label) { return label >= 0; });
}

double total(const std::vector<double>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

// Returns how many rows of logits (N, C) that have a label have their largest entry at the label.
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

std::optional<Evaluation::BestHead> Evaluation::best_head() const {
  std::optional<BestHead> best;
  for (std::size_t layer = 0; layer < antecedent_weight.size(); ++layer) {
    for (std::size_t head = 0; head < antecedent_weight[layer].size(); ++head) {
      const double weight = antecedent_weight[layer][head];
      if (weight > (best ? best->weight : -1)) best = {layer, head, weight};
    }
  }
  return best;
}

std::int64_t windows_at_once(std::int64_t context, std::int64_t vocabulary) {
  constexpr std::int64_t max_logits = 1 << 22;
  return std::max<std::int64_t>(1, max_logits / (context * vocabulary));
}

Evaluation evaluate(const Model& model, const Corpus& corpus, const BetweenBatches& between,
                    const GradientReducer& reducer) {
  const std::int64_t windows = held_out_windows(corpus);
  const std::int64_t B = windows_at_once(corpus.context, model.transformer().config.vocabulary);
  std::vector<double> sums, counts, right;  // per batch: sums of losses; numbers of predictions and of right ones
  for_own_batches((windows + B - 1) / B, between, reducer, [&](std::int64_t batch) {
    const Batch part = held_out_windows(corpus, batch * B, std::min(windows, (batch + 1) * B));
    const Tensor whole = model.logits(part);  // (B, T, vocabulary)
    const Tensor logits = reshape(whole, {-1, whole.size(2)});
    counts.push_back(static_cast<double>(labels_in(part.targets)));
    sums.push_back(cross_entropy(logits, part.targets).item() * counts.back());
    right.push_back(static_cast<double>(right_predictions(logits, part.targets)));
  });
  const double sum = total(reducer.gather(sums)), predicted = total(reducer.gather(counts));
  Evaluation result;
  result.loss = sum / predicted;
  result.accuracy = total(reducer.gather(right)) / predicted;
  result.perplexity = std::exp(result.loss);
  if (corpus.held_out_bytes > 0 && corpus.mask < 0) {
    result.bits_per_byte = sum / std::numbers::ln2 / static_cast<double>(corpus.held_out_bytes);
  }
  return result;
}

Evaluation evaluate(const Model& model, const NumberedExamples& examples, const BetweenBatches& between,
                    const GradientReducer& reducer) {
  constexpr std::int64_t examples_a_batch = 128;
  std::vector<double> sums, counts;    // per batch: of the losses; of the answers that have a logit
  std::vector<double> right, weights;  // per example; in the order of append_weights()
  const TransformerConfig& transformer = model.transformer().config;
  const std::int64_t batches = (examples.size() + examples_a_batch - 1) / examples_a_batch;
  for_own_batches(batches, between, reducer, [&](std::int64_t number) {
    const std::int64_t begin = number * examples_a_batch, end = std::min(examples.size(), begin + examples_a_batch);
    const Batch batch = examples.batch(begin, end);
    const ModelOutput output = model.run(batch, {.compute = Compute::query, .weights = true});
    const Ids answers = model.labels(batch);
    counts.push_back(static_cast<double>(labels_in(answers)));
    sums.push_back(cross_entropy(output.logits, answers).item() * counts.back());
    const std::vector<bool> answered = are_right(output.logits, answers);
    right.insert(right.end(), answered.begin(), answered.end());
    append_weights(output, examples, begin, weights);
  });
  Evaluation result{.loss = total(reducer.gather(sums)) / total(reducer.gather(counts))};
  right = reducer.gather(right);
  result.antecedent_weight =
      weight_totals(reducer.gather(weights), examples, static_cast<std::size_t>(transformer.layers),
                    static_cast<std::size_t>(transformer.heads()));
  const double count = static_cast<double>(examples.size());
  result.accuracy = static_cast<double>(std::count(right.begin(), right.end(), 1.0)) / count;
  result.counterpart_accuracy = counterparts_right(examples, right);
  int with_antecedent = 0;
  for (std::int64_t i = 0; i < examples.size(); ++i) with_antecedent += examples.antecedent(i) >= 0;
  for (std::vector<double>& layer : result.antecedent_weight) {
    for (double& weight : layer) weight = with_antecedent ? weight / with_antecedent : Evaluation::unknown;
  }
  return result;
}

}  // namespace heed
