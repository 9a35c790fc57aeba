#include <heed/autograd/ops.h>
#include <heed/explain/residual_parts.h>
#include <heed/explain/score_parts.h>
#include <heed/nn/hook.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace heed {
namespace {

using ScorePart = ScoreParts::Part;

// Returns the query or key of one head at one token as its parts and the sum of all biases: (P + 1, d_k).
class Projected {
 public:
  Projected(const TransformerBlock& block, const LayerTrace& seen, const ResidualParts& residual, int head)
      : block_(block), seen_(seen), residual_(residual), head_(head) {}
  Tensor query(std::int64_t token) const { return parts(token, &MultiHeadAttention::query_linearised); }
  Tensor key(std::int64_t token) const { return parts(token, &MultiHeadAttention::key_linearised); }

 private:
  using Form = Linearised (MultiHeadAttention::*)(int, const Tensor&, std::int64_t) const;
  Tensor parts(std::int64_t token, Form form) const {
    const Tensor input = reshape(slice(seen_.attention_input, 1, token, token + 1), {-1});
    const Tensor read = residual_.of(token);
    Linearised map = (block_.attention.*form)(head_, input, token);
    if (const auto& norm = block_.attention_norms.input) map = norm->linearised(sum(read, {0})).then(map);
    const Tensor rows = map.linear(read);
    return concat({rows, map.constant.defined() ? unsqueeze(map.constant, 0) : zeros({1, rows.size(1)}, rows.dtype())},
                  0);
  }

  const TransformerBlock& block_;
  const LayerTrace& seen_;
  const ResidualParts& residual_;
  int head_;
};

struct Read {
  double weight = 0, probability = 0;
};

// Returns the weight of one edge, and the probability of `word`, after subtracting `part` (d_model) from the input of
// `layer` at `token`.
Read read_without(const Model& model, const Batch& asked, const ScoreParts& edge, std::int64_t word, const Tensor& part,
                  int token) {
  const std::string before = residual_name(model.transformer(), edge.layer);
  const std::string weights = hook_name(model.transformer(), edge.layer, "weights");
  Read result;
  const Hook hook([&](const std::string& name, Tensor& value) {
    if (name == before) {
      std::vector<double> x = value.to_vector();
      const std::vector<double> taken = part.to_vector();
      for (std::size_t c = 0; c < taken.size(); ++c) x[static_cast<std::size_t>(token) * taken.size() + c] -= taken[c];
      value = tensor(value.shape(), x, value.dtype());
    } else if (name == weights) {
      result.weight = value.at({0, edge.head, edge.from, edge.to});
    }
  });
  const Tensor logits = model.run(asked).logits;
  if (model.head().exists()) result.probability = softmax(logits).at({0, word});
  return result;
}

void check_range(const char* what, int value, std::int64_t count) {
  if (value < 0 || value >= count) fail("score_parts: expected a {} from 0 to {}, got {}", what, count - 1, value);
}

// Returns the part of the residual with the largest difference from the reference.
int first_of(const std::vector<ScorePart>& parts) {
  const auto first = std::max_element(parts.begin(), parts.end() - 1,
                                      [](const ScorePart& a, const ScorePart& b) { return a.ahead < b.ahead; });
  return static_cast<int>(first - parts.begin());
}

// Keeps the largest products, in descending order.
void keep_largest(std::vector<ScoreParts::Product>& kept, const ScoreParts::Product& one) {
  const auto size = [](const ScoreParts::Product& product) { return std::abs(product.ahead); };
  if (kept.size() == max_products && size(one) <= size(kept.back())) return;
  kept.insert(std::ranges::upper_bound(kept, size(one), std::greater(), size), one);
  if (kept.size() > max_products) kept.pop_back();
}

// Adds up the products of the rows of q and those of k, and of their difference from k_reference, all (n, d_k).
void add_products(ScoreParts& result, const Tensor& q, const Tensor& k, const Tensor& k_reference) {
  constexpr std::int64_t rows = 64;  // at a time: n^2 products may not fit into memory
  for (std::int64_t first = 0; first < q.size(0); first += rows) {
    const Tensor some = slice(q, 0, first, std::min(first + rows, q.size(0)));
    const Tensor products = matmul(some, transpose(k));
    const std::vector<double> score = products.to_vector(),
                              ahead = (products - matmul(some, transpose(k_reference))).to_vector();
    for (std::size_t i = 0; i < score.size(); ++i) {
      const std::size_t p = static_cast<std::size_t>(first) + i / result.key.size(), r = i % result.key.size();
      for (ScorePart* part : {&result.query[p], &result.key[r]}) {
        part->score += score[i];
        part->ahead += ahead[i];
      }
      result.others.score += score[i];
      result.others.ahead += ahead[i];
      keep_largest(result.products, {static_cast<int>(p), static_cast<int>(r), score[i], ahead[i]});
    }
  }
  for (const ScoreParts::Product& product : result.products) {
    result.others.score -= product.score;
    result.others.ahead -= product.ahead;
  }
}

}  // namespace

ScoreParts score_parts(const Model& model, const Example& example, int layer, int head, const ScoreOptions& options) {
  const std::optional<Model> copy = options.in_float64 ? std::optional(in_float64(model)) : std::nullopt;
  const Model& used = copy ? *copy : model;
  const auto T = static_cast<int>(example.tokens.size());
  check_range("layer", layer, used.layers());
  check_range("head", head, used.heads());
  const Batch asked = batch_of(used, example);
  const Trace seen = trace(used, asked);
  const LayerTrace& in_layer = seen.layers[static_cast<std::size_t>(layer)];
  const TransformerBlock& block = used.transformer().blocks[static_cast<std::size_t>(layer)];

  ScoreParts result;
  result.tokens = example.tokens;
  result.layer = layer;
  result.head = head;
  result.from = options.from >= 0 ? options.from : example.query;
  check_range("token", result.from, T);
  const std::vector<double> row =
      slice(slice(in_layer.weights, 1, head, head + 1), 2, result.from, result.from + 1).to_vector();
  const auto largest = static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
  const bool to_antecedent = result.from == example.query && example.antecedent >= 0;
  result.to = options.to >= 0 ? options.to : to_antecedent ? example.antecedent : largest;
  check_range("token", result.to, T);
  result.weight = row[static_cast<std::size_t>(result.to)];
  result.score = in_layer.scores.at({0, head, result.from, result.to});
  std::int64_t word = -1;
  if (used.head().exists()) {
    const std::vector<double> probabilities = softmax(seen.logits).to_vector();
    word = std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin();
    result.answer = answer_text(used, example, static_cast<int>(word));
    result.probability = probabilities[static_cast<std::size_t>(word)];
  }

  const bool are_many = std::int64_t{layer} * used.heads() * T > max_head_parts;
  const ResidualParts residual(used.transformer(), asked, seen, layer, are_many ? Sources::summed : Sources::each);
  const Projected projected(block, in_layer, residual, head);
  result.rather = options.rather.value_or(to_antecedent && result.to == example.antecedent ? example.distractor : -1);
  if (result.rather >= 0) check_range("token", result.rather, T);
  Tensor k_to, k_mean;  // (parts + 1, d_k)
  for (int j = 0; j < T; ++j) {
    const Tensor k = projected.key(j);
    if (j == result.to) k_to = k;
    k_mean = k_mean.defined() ? k_mean + k / static_cast<double>(T) : k / static_cast<double>(T);
  }
  const Tensor q = projected.query(result.from) * block.attention.score_scale();
  const Tensor k_reference = result.rather >= 0 ? projected.key(result.rather) : k_mean;
  const Tensor whole = sum(q, {0});
  result.reference = sum(whole * sum(k_reference, {0})).item();
  const double total = sum(whole * sum(k_to, {0})).item();
  const double tolerance = options.in_float64 ? 1e-6 : 1e-2;
  if (!(std::abs(total - result.score) <= tolerance * std::max(1.0, std::abs(result.score)))) {
    fail("the parts of the score of '{}' for '{}' sum to {:.9g}, but the model gives {:.9g}",
         example.tokens[static_cast<std::size_t>(result.to)], example.tokens[static_cast<std::size_t>(result.from)],
         total, result.score);
  }

  for (const auto& [what, part_layer, part_head, token] : residual.names()) {
    result.query.push_back({.what = what, .layer = part_layer, .head = part_head, .token = token});
  }
  result.key = result.query;
  result.query.push_back({.what = "bias"});
  result.key.push_back({.what = "bias"});
  add_products(result, q, k_to, k_reference);
  for (const bool of_query : {true, false}) {
    const int part = first_of(of_query ? result.query : result.key), token = of_query ? result.from : result.to;
    const Tensor taken = slice(residual.of(token), 0, part, part + 1);
    const Read read = read_without(used, asked, result, word, taken, token);
    result.cuts.push_back({of_query, part, read.weight, read.probability});
  }
  return result;
}

Span antecedent_span(int antecedent, const std::vector<Span>& candidates) {
  for (const Span& candidate : candidates) {
    if (candidate.begin <= antecedent && antecedent < candidate.end) return candidate;
  }
  return antecedent < 0 ? Span{} : Span{antecedent, antecedent + 1};
}

double weight_on_antecedent(const SentenceAttention& sentence, int layer, int head) {
  const Tensor& weights = sentence.layers[static_cast<std::size_t>(layer)];
  const auto weight = [&](int key) { return weights.at({head, sentence.query, key}); };
  double sum = 0, largest = 0;
  for (int key = 0; key < weights.size(2); ++key) largest = std::max(largest, weight(key));
  if (sentence.antecedent < 0) return largest;
  const Span span = antecedent_span(sentence.antecedent, sentence.candidates);
  for (int key = span.begin; key < span.end; ++key) sum += weight(key);
  return sum;
}

ScoredHead pointing_head(const SentenceAttention& sentence) {
  ScoredHead best{0, 0};
  double most = -1;
  for (int layer = 0; layer < std::ssize(sentence.layers); ++layer) {
    for (int head = 0; head < sentence.layers[static_cast<std::size_t>(layer)].size(0); ++head) {
      const double weight = weight_on_antecedent(sentence, layer, head);
      if (weight > most) best = {layer, head};
      most = std::max(most, weight);
    }
  }
  return best;
}

}  // namespace heed
