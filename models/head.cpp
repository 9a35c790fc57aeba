#include <heed/autograd/ops.h>
#include <heed/models/head.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace heed {
namespace {

constexpr double padding_logit = -1e30;  // e^padding_logit is 0

// states (B, T, d_model), candidates (B, C, 2) -> the mean over each candidate (B, C, d_model)
Tensor candidate_means(const Tensor& states, const Ids& candidates) {
  const std::int64_t B = states.size(0), T = states.size(1);
  if (candidates.shape().rank() != 3 || candidates.shape()[0] != B || candidates.shape()[2] != 2) {
    fail("CandidateChooser: expected candidates ({}, C, 2), got {}", B, to_string(candidates.shape()));
  }
  const std::int64_t C = candidates.shape()[1];
  std::vector<double> shares(static_cast<std::size_t>(B * C * T));  // weight of each token in a candidate's mean
  for (std::int64_t n = 0; n < B * C; ++n) {
    const std::int64_t begin = candidates[2 * n], end = candidates[2 * n + 1];
    if (begin > end || end > T) {
      fail("CandidateChooser: a candidate from token {} to {} does not lie in a text of {} tokens", begin, end, T);
    }
    for (std::int64_t t = std::max<std::int64_t>(begin, 0); t < end; ++t) {
      shares[static_cast<std::size_t>(n * T + t)] = 1.0 / static_cast<double>(end - begin);
    }
  }
  return matmul(tensor({B, C, T}, shares, states.dtype()), states);
}

ModelConfig config_of(HeadKind head, const TransformerConfig& transformer) {
  ModelConfig config = ModelConfig::of(head);
  config.transformer = transformer;
  return config;
}

ModelConfig config_of(HeadKind head, const TransformerConfig& transformer, const LogitsConfig& logits) {
  ModelConfig config = config_of(head, transformer);
  config.logits = logits;
  return config;
}

}  // namespace

ModelConfig ModelConfig::of(HeadKind head) { return {.head = head, .logits = {.bias = head != HeadKind::next_token}}; }

ModelConfig language_model(const TransformerConfig& transformer, const LogitsConfig& logits) {
  return config_of(HeadKind::next_token, transformer, logits);
}

ModelConfig masked_language_model(const TransformerConfig& transformer, const LogitsConfig& logits) {
  return config_of(HeadKind::masked_token, transformer, logits);
}

ModelConfig word_answerer(const TransformerConfig& transformer, const LogitsConfig& logits) {
  return config_of(HeadKind::word, transformer, logits);
}

ModelConfig candidate_chooser(const TransformerConfig& transformer, bool or_none, bool numbered_sentences) {
  ModelConfig config = config_of(HeadKind::candidate, transformer);
  config.or_none = or_none;
  config.numbered_sentences = numbered_sentences;
  return config;
}

ModelConfig text_classifier(const TransformerConfig& transformer, std::vector<std::string> classes) {
  ModelConfig config = config_of(HeadKind::text_class, transformer);
  config.transform = !transformer.causal;
  config.activation = Activation::tanh;
  config.classes = std::move(classes);
  return config;
}

ModelConfig bare_transformer(const TransformerConfig& transformer) { return config_of(HeadKind::none, transformer); }

Unembedding::Unembedding(Scope scope, const Transformer& transformer, const LogitsConfig& given, int width,
                         double deviation)
    : name(scope.name()), config(given) {
  if (!transformer.token_embedding) fail("Unembedding: expected a transformer with a vocabulary");
  const int words = transformer.config.vocabulary;
  const int embedded = transformer.config.embedded();
  if (config.tied && embedded != width)
    projection.emplace(scope / "output_projection", width, embedded, LinearOptions{.bias = false});
  weight = config.tied ? transformer.token_embedding->weight
                       : scope.parameter("unembedding", {words, width}, Init::normal(deviation));
  if (config.bias) bias = scope.parameter("output_bias", {words}, Init::zeros());
}

Tensor Unembedding::compared(const Tensor& states) const {
  const Tensor x = projection ? (*projection)(states) : states;
  return config.scale == 1 ? x : x * config.scale;
}

Tensor Unembedding::operator()(const Tensor& states, const Ids& words) const {
  const LayerScope scope(name);
  Tensor rows = weight, constants = bias;
  if (words.numel() > 0) {
    rows = embedding(weight, words);
    if (bias.defined()) constants = index_select(bias, words);
  }
  Tensor logits = linear(compared(states), transpose(rows), constants);
  if (config.soft_cap > 0) logits = tanh(logits / config.soft_cap) * config.soft_cap;
  Hook::show(name, "logits", logits);
  return logits;
}

Linearised Unembedding::linearised(std::int64_t word) const {
  const Tensor column = transpose(slice(weight, 0, word, word + 1));  // (d_model, 1)
  return {[column, by = *this](const Tensor& parts) { return matmul(by.compared(parts), column); },
          bias.defined() ? slice(bias, 0, word, word + 1) : Tensor()};
}

OutputHead::OutputHead(Scope scope, const Transformer& transformer, const ModelConfig& given)
    : name(scope.name()), config(given) {
  const TransformerConfig& t = config.transformer;
  const double unit = 1 / std::sqrt(t.d_model()), usual = EmbeddingInit().tokens;
  switch (config.head) {
    case HeadKind::none:
      break;
    case HeadKind::word:
      unembedding.emplace(scope, transformer, config.logits, t.d_model(), unit);
      break;
    case HeadKind::next_token:
      unembedding.emplace(scope, transformer, config.logits, t.d_model(), usual);
      if (!t.causal) fail("LanguageModel: expected a causal transformer");
      break;
    case HeadKind::masked_token:
      if (config.transform) {
        const Scope place = scope / "transform";
        transform.emplace(Transform{Linear(place / "dense", t.d_model(), t.embedded(), {.bias = config.transform_bias}),
                                    Norm::make_if(true, place / "norm", t.embedded(), t.block.norm)});
      }
      unembedding.emplace(scope, transformer, config.logits, config.transform ? t.embedded() : t.d_model(), usual);
      if (t.causal) fail("MaskedLanguageModel: expected a transformer that is not causal");
      break;
    case HeadKind::text_class: {
      const std::set<std::string> names(config.classes.begin(), config.classes.end());
      if (names.size() < 2 || names.size() < config.classes.size()) {
        fail("TextClassifier: expected at least two classes of different names, got {}",
             config.classes.empty() ? "none" : listed(config.classes));
      }
      if (config.transform) {
        const Scope place = scope / "pooler";
        transform.emplace(Transform{Linear(place / "dense", t.d_model(), t.d_model(), {.bias = config.transform_bias}),
                                    Norm::make_if(config.transform_norm, place / "norm", t.d_model(), t.block.norm)});
      }
      classifier.emplace(scope / "classifier", t.d_model(), static_cast<int>(std::ssize(config.classes)),
                         LinearOptions{.bias = config.class_bias});
      break;
    }
    case HeadKind::candidate:
      pointer.emplace(scope / "candidates" / "pointer", t.d_model(), t.d_model(), LinearOptions{.bias = false});
      if (config.or_none) none = (scope / "candidates").parameter("none", {t.d_model()}, Init::normal(1));
      if (t.layers < 1) fail("CandidateChooser: expected a transformer with layers, got none");
      break;
  }
}

const char* OutputHead::purpose() const {
  switch (config.head) {
    case HeadKind::none:
      return "has no head";
    case HeadKind::next_token:
      return "predicts the next token";
    case HeadKind::masked_token:
      return "predicts hidden tokens";
    case HeadKind::text_class:
      return "tells the class of a text";
    default:
      return "answers questions about sentences";
  }
}

Ids OutputHead::places(std::span<const int> lengths) const {
  std::vector<std::int32_t> places;
  for (const int length : lengths) places.push_back(config.transformer.causal ? length - 1 : 0);
  return Ids({std::ssize(lengths)}, std::move(places));
}

Tensor OutputHead::transformed(const Tensor& states) const {
  if (!transform) return states;
  const Tensor y = activated(config.activation, transform->dense(states));
  return transform->norm ? (*transform->norm)(y) : y;
}

Tensor OutputHead::token_logits(const Tensor& states, const Ids& words) const {
  return (*unembedding)(transformed(states), words);
}

Tensor OutputHead::answer_logits(const Hidden& at_query, const Ids& candidates, const Ids& words) const {
  const Tensor& states = at_query.output;
  if (unembedding) return token_logits(states, words);
  if (classifier) {
    Tensor logits = (*classifier)(transformed(states));
    Hook::show(name, "logits", logits);
    return logits;
  }
  const std::int64_t B = states.size(0), d = states.size(1);
  if (!pointer) return Tensor({B, 0}, states.dtype());
  const Tensor means = candidate_means(layer_norm(at_query.last_input, {}, {}), candidates);  // (B, C, d)
  const std::int64_t C = means.size(1);
  const Tensor sought = (*pointer)(states) / std::sqrt(d);  // (B, d_model)
  std::vector<std::uint8_t> is_padding;
  for (std::int64_t n = 0; n < B * C; ++n) is_padding.push_back(candidates[2 * n] < 0);
  Tensor logits = masked_fill(reshape(matmul(means, reshape(sought, {B, d, 1})), {B, C}),
                              Booleans({B, C}, std::move(is_padding)), padding_logit);
  if (none.defined()) logits = concat({logits, matmul(sought, reshape(none, {d, 1}))}, 1);
  Hook::show(name, "logits", logits);
  return logits;
}

Linearised OutputHead::linearised(const AnswerPoint& point, int index) const {
  if (pointer) {
    const std::int64_t d = config.transformer.d_model(), C = point.candidates.shape()[1];
    const Tensor means = candidate_means(layer_norm(point.last_input, {}, {}), point.candidates);  // (1, C, d)
    const Tensor compared = index < C ? reshape(slice(means, 1, index, index + 1), {d, 1}) : reshape(none, {d, 1});
    return pointer->linearised().then({[=](const Tensor& parts) { return matmul(parts, compared) / std::sqrt(d); }});
  }
  const auto column = [index](const Tensor& logits) { return slice(logits, 1, index, index + 1); };
  const Linearised to_logit = classifier ? classifier->linearised().then({column}) : unembedding->linearised(index);
  if (!transform) return to_logit;
  // The activation f scales each feature by f(x) / x; this factor is fixed.
  const Tensor x = transform->dense(point.state), y = activated(config.activation, x);
  const Booleans is_zero = equal(x, zeros(x.shape(), x.dtype()));
  const Tensor share = masked_fill(y / masked_fill(x, is_zero, 1), is_zero, 0);
  const Linearised activation{[share](const Tensor& parts) { return parts * share; }};
  return transform->dense.linearised()
      .then(activation)
      .then(transform->norm ? transform->norm->linearised(y).then(to_logit) : to_logit);
}

}  // namespace heed
