#include "inspect/causal/score_parts.h"

#include "run/answers.h"

#include <heed/autograd/more_ops.h>
#include <heed/nn/hook.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace heed {
namespace {

using ScorePart = ScoreParts::Part;

// The model in float64: what is left of sums whose terms cancel is then right to 1e-6, too.
struct ExactModel {
  Parameters parameters;
  Reader reader;
  explicit ExactModel(const SavedModel& model) : reader(Scope(parameters, 0, DType::float64), model.reader->config) {
    for (const auto& [name, value] : parameters) Tensor(value).copy_from(model.parameters[name]);
  }
};

// Without its first axis of size 1.
Tensor squeezed(const Tensor& x) {
  std::vector<std::int64_t> sizes;
  for (int axis = 1; axis < x.rank(); ++axis) sizes.push_back(x.size(axis));
  return reshape(x, Shape(sizes));
}

Tensor one_row(const Tensor& x, std::int64_t row) { return slice(x, 0, row, row + 1); }

// What a layer reads, as a sum over who wrote it.
class WhoWrote {
 public:
  using Values = std::map<std::string, Tensor>;

  WhoWrote(const Reader& reader, const ReaderInput& input, const Values& values, int layer)
      : T_(input.tokens.shape()[1]) {
    const int d = reader.config.attention.d_model;
    const double scale = reader.config.predicts == Predicts::answer ? std::sqrt(d) : 1;  // as Reader scales words
    add({.what = "token"}, squeezed(reader.token_embedding(input.tokens)) * scale);
    if (reader.learned_positions) add({.what = "position"}, slice(reader.learned_positions->weight, 0, 0, T_));
    if (reader.config.positions == Positions::sinusoidal) {
      add({.what = "position"}, sinusoidal_positions(static_cast<int>(T_), d, DType::float64));
    }
    if (reader.sentence) add({.what = "sentence"}, squeezed((*reader.sentence)(input.sentences)));
    for (int l = 0; l < layer; ++l) add_layer(reader.encoder.blocks[static_cast<std::size_t>(l)], values, l);
  }

  const std::vector<ScorePart>& names() const { return names_; }

  // (parts, d_model): they sum to the vector of `token`.
  Tensor of(std::int64_t token) const {
    std::vector<Tensor> rows;
    for (const auto& [written, weights] : written_) {
      const bool attended = weights.defined();
      rows.push_back(attended ? transpose(one_row(weights, token)) * written : one_row(written, token));
    }
    return concat(rows, 0);
  }

 private:
  void add(const ScorePart& name, const Tensor& written) {
    names_.push_back(name);
    written_.push_back({written, {}});
  }

  void add_layer(const EncoderBlock& block, const Values& values, int layer) {
    const AttentionConfig& config = block.attention.config;
    const Tensor V = squeezed(values.at(block.name + ".attention.V"));              // (kv_heads, T, d_v)
    const Tensor weights = squeezed(values.at(block.name + ".attention.weights"));  // (heads, T, T)
    for (int head = 0; head < config.heads; ++head) {
      const Tensor W_O = slice(block.attention.W_O.weight, 0, head * config.d_v, (head + 1) * config.d_v);
      const Tensor V_of_head = squeezed(one_row(V, head / (config.heads / config.kv_heads)));
      written_.push_back({matmul(V_of_head, W_O), squeezed(one_row(weights, head))});
      for (int token = 0; token < T_; ++token) {
        names_.push_back({.what = "head", .layer = layer, .head = head, .token = token});
      }
    }
    const Tensor& bias = block.attention.W_O.bias;
    if (bias.defined()) add({.what = "W_O bias", .layer = layer}, broadcast_to(bias, {T_, config.d_model}));
    if (block.mlp) add({.what = "MLP", .layer = layer}, squeezed(values.at(block.name + ".mlp.out.output")));
  }

  // Of each token (T, d_model); with weights (T, T), of each token from each source token.
  struct Written {
    Tensor written, weights;
  };
  std::int64_t T_;
  std::vector<ScorePart> names_;
  std::vector<Written> written_;
};

// q or k of one head: each part behind the norms, turned by its token's position, and the biases' last: (parts + 1, d_k).
class Projected {
 public:
  Projected(const EncoderBlock& block, const Linear& linear, const std::optional<RMSNorm>& of_head, int head)
      : norm_(block.attention_norm), of_head_(of_head), rotary_(block.attention.rotary) {
    const int d_k = block.attention.config.d_k;
    W_ = slice(linear.weight, 1, head * d_k, (head + 1) * d_k);
    bias_ = norm_.bias.defined() ? matmul(reshape(norm_.bias, {1, norm_.bias.size(0)}), W_)
                                 : zeros({1, d_k}, DType::float64);
    if (linear.bias.defined()) bias_ = bias_ + slice(linear.bias, 0, head * d_k, (head + 1) * d_k);
  }
  Tensor operator()(const Tensor& parts, int token) const {  // (parts, d_model)
    const bool centred = norm_.kind == Norm::Kind::layer;
    const Tensor written = centred ? parts - mean(parts, {1}, true) : parts;
    const double deviation = std::sqrt(mean(square(sum(written, {0}))).item() + norm_.eps);
    Tensor result = concat({matmul(written * norm_.gain / deviation, W_), bias_}, 0);
    if (of_head_) {
      result = result * of_head_->gain / std::sqrt(mean(square(sum(result, {0}))).item() + of_head_->eps);
    }
    if (!rotary_) return result;
    const Tensor rows = unsqueeze(result, 1);  // each a text of one token
    return squeeze((*rotary_)(rows, token), 1);
  }

 private:
  const Norm& norm_;
  const std::optional<RMSNorm>& of_head_;
  const std::optional<RotaryPositions>& rotary_;
  Tensor W_, bias_;
};

struct Read {
  double weight = 0, probability = 0;
};

// The weight of one edge, and the probability of `word`, with `part` (d_model) taken out of what `layer` reads at `token`.
Read read_without(const Reader& reader, const ReaderInput& input, const ScoreParts& edge, std::int64_t word,
                  const Tensor& part, int token) {
  const std::string before =
      edge.layer == 0 ? "embedded" : reader.encoder.blocks[static_cast<std::size_t>(edge.layer) - 1].name + ".output";
  const std::string weights = reader.encoder.blocks[static_cast<std::size_t>(edge.layer)].name + ".attention.weights";
  Read result;
  const Hook hook([&](const std::string& name, Tensor& value) {
    if (name == before) {
      std::vector<double> x = value.to_vector();
      const std::vector<double> taken = part.to_vector();
      for (std::size_t c = 0; c < taken.size(); ++c) x[static_cast<std::size_t>(token) * taken.size() + c] -= taken[c];
      value = tensor(value.shape(), x, DType::float64);
    } else if (name == weights) {
      result.weight = value.at({0, edge.head, edge.from, edge.to});
    }
  });
  result.probability = softmax(reader(input).logits).at({0, word});
  return result;
}

void check_range(const char* what, int value, std::int64_t count) {
  if (value < 0 || value >= count) fail("score_parts: expected a {} from 0 to {}, got {}", what, count - 1, value);
}

// The part of the residual that is furthest ahead.
int first_of(const std::vector<ScorePart>& parts) {
  const auto first = std::max_element(parts.begin(), parts.end() - 1,
                                      [](const ScorePart& a, const ScorePart& b) { return a.ahead < b.ahead; });
  return static_cast<int>(first - parts.begin());
}

}  // namespace

ScoreParts score_parts(const SavedModel& model, const Example& example, int layer, int head, int from, int to) {
  const ExactModel exact(model);
  const Reader& reader = exact.reader;
  const auto T = static_cast<int>(example.tokens.size());
  check_range("layer", layer, reader.config.layers);
  check_range("head", head, reader.config.attention.heads);
  const ReaderInput input = reader_input(reader, model.vocabulary, example);
  WhoWrote::Values values;
  {
    const Hook hook([&](const std::string& name, Tensor& value) { values[name] = value; });
    reader(input);
  }
  const EncoderBlock& block = reader.encoder.blocks[static_cast<std::size_t>(layer)];
  const Tensor weights = squeezed(values.at(block.name + ".attention.weights"));
  const Tensor scores = squeezed(values.at(block.name + ".attention.scores"));

  ScoreParts result;
  result.tokens = example.tokens;
  result.layer = layer;
  result.head = head;
  result.from = from >= 0 ? from : example.query;
  check_range("token", result.from, T);
  const std::vector<double> row = slice(squeezed(one_row(weights, head)), 0, result.from, result.from + 1).to_vector();
  const auto largest = static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
  const bool to_antecedent = result.from == example.query && example.antecedent >= 0;
  result.to = to >= 0 ? to : to_antecedent ? example.antecedent : largest;
  check_range("token", result.to, T);
  result.weight = row[static_cast<std::size_t>(result.to)];
  result.score = scores.at({head, result.from, result.to});
  const std::vector<double> probabilities = softmax(values.at("logits")).to_vector();
  const auto word = std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin();
  result.answer = answer_text(reader, model.vocabulary, example, static_cast<int>(word));
  result.probability = probabilities[static_cast<std::size_t>(word)];

  const WhoWrote residual(reader, input, values, layer);
  const AttentionConfig& sizes = block.attention.config;
  const Projected query(block, block.attention.W_Q, block.attention.q_norm, head);
  const Projected key(block, block.attention.W_K, block.attention.k_norm, head / (sizes.heads / sizes.kv_heads));
  result.rather = to_antecedent && result.to == example.antecedent ? example.distractor : -1;
  Tensor k_to, k_mean;  // (parts + 1, d_k)
  for (int j = 0; j < T; ++j) {
    const Tensor k = key(residual.of(j), j);
    if (j == result.to) k_to = k;
    k_mean = k_mean.defined() ? k_mean + k / static_cast<double>(T) : k / static_cast<double>(T);
  }
  const Tensor q = query(residual.of(result.from), result.from) / std::sqrt(sizes.d_k);
  const Tensor k_reference = result.rather >= 0 ? key(residual.of(result.rather), result.rather) : k_mean;
  const Tensor products = matmul(q, transpose(k_to)), reference = matmul(q, transpose(k_reference));
  result.reference = sum(reference).item();
  const double total = sum(products).item();
  if (!(std::abs(total - result.score) <= 1e-6 * std::max(1.0, std::abs(result.score)))) {
    fail("the parts of the score of '{}' for '{}' sum to {:.9g}, but the model gives {:.9g}",
         example.tokens[static_cast<std::size_t>(result.to)], example.tokens[static_cast<std::size_t>(result.from)],
         total, result.score);
  }

  const std::vector<double> score = products.to_vector(), ahead = (products - reference).to_vector();
  result.query = result.key = residual.names();
  result.query.push_back({.what = "bias"});
  result.key.push_back({.what = "bias"});
  const std::size_t n = result.query.size();
  for (std::size_t p = 0; p < n; ++p) {
    for (std::size_t r = 0; r < n; ++r) {
      for (ScorePart* part : {&result.query[p], &result.key[r]}) {
        part->score += score[p * n + r];
        part->ahead += ahead[p * n + r];
      }
    }
  }
  std::vector<std::size_t> order(n * n);
  std::iota(order.begin(), order.end(), 0);
  const auto shown = std::min(order.size(), most_products);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown), std::greater(),
                            [&](std::size_t i) { return std::abs(ahead[i]); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t at = order[i];
    if (i < shown) {
      result.products.push_back({static_cast<int>(at / n), static_cast<int>(at % n), score[at], ahead[at]});
    } else {
      result.others.score += score[at];
      result.others.ahead += ahead[at];
    }
  }
  for (const bool of_query : {true, false}) {
    const int part = first_of(of_query ? result.query : result.key), token = of_query ? result.from : result.to;
    const Read read = read_without(reader, input, result, word, one_row(residual.of(token), part), token);
    result.cuts.push_back({of_query, part, read.weight, read.probability});
  }
  return result;
}

double weight_on_antecedent(const SentenceAttention& sentence, int layer, int head) {
  const Tensor& weights = sentence.layers[static_cast<std::size_t>(layer)];
  const auto weight = [&](int key) { return weights.at({head, sentence.query, key}); };
  double sum = 0, largest = 0;
  for (int key = 0; key < weights.size(2); ++key) largest = std::max(largest, weight(key));
  if (sentence.antecedent < 0) return largest;
  Span span{sentence.antecedent, sentence.antecedent + 1};
  for (const Span& candidate : sentence.candidates) {
    if (candidate.begin < span.end && span.begin < candidate.end) span = candidate;
  }
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

Json score_parts_json(const ScoreParts& parts) {
  const auto list = [](const std::vector<ScorePart>& side) {
    Json result = Json::array();
    for (const auto& [what, layer, head, token, score, ahead] : side) {
      Json one = {{"what", what}, {"score", score}, {"ahead", ahead}};
      if (layer >= 0) one["layer"] = layer;
      if (head >= 0) one["head"] = head;
      if (token >= 0) one["token"] = token;
      result.push_back(std::move(one));
    }
    return result;
  };
  Json products = Json::array(), cuts = Json::array();
  for (const auto& [query, key, score, ahead] : parts.products) {
    products.push_back({{"query", query}, {"key", key}, {"score", score}, {"ahead", ahead}});
  }
  for (const auto& [of_query, part, weight, probability] : parts.cuts) {
    cuts.push_back(
        {{"of", of_query ? "query" : "key"}, {"part", part}, {"weight", weight}, {"probability", probability}});
  }
  return {{"tokens", parts.tokens},
          {"layer", parts.layer},
          {"head", parts.head},
          {"from", parts.from},
          {"to", parts.to},
          {"score", parts.score},
          {"rather", parts.rather >= 0 ? Json(parts.rather) : Json()},
          {"reference_score", parts.reference},
          {"weight", parts.weight},
          {"answer", parts.answer},
          {"probability", parts.probability},
          {"query", list(parts.query)},
          {"key", list(parts.key)},
          {"products", std::move(products)},
          {"other_products", {{"score", parts.others.score}, {"ahead", parts.others.ahead}}},
          {"cuts", std::move(cuts)}};
}

}  // namespace heed
