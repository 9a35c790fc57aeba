#include "formats/internal/config_json.h"
#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/random_models.h"
#include "tests/models/reference.h"
#include "tests/models/sample.h"

#include <heed/autograd/gradcheck/check.h>
#include <heed/models/reading.h>

#include <functional>

using namespace heed;

namespace {

constexpr int words_known = 9;

// A model in float64 whose gains are not 1 and whose biases are not 0.
struct ShakenModel {
  ModelConfig config;
  Parameters parameters;
  Model model;
  explicit ShakenModel(const ModelConfig& given) : config(given), model(Scope(parameters, 1, DType::float64), config) {
    shake_all(parameters);
  }
  ModelOutput answers(const Batch& asked, Compute compute = Compute::all) const {
    return model.run(asked, {.compute = compute});
  }
};

// Base configurations of decoders and encoders; all have several heads, several layers and an MLP.
TransformerConfig plain_shape(bool causal = false) {
  return {.vocabulary = words_known,
          .max_length = 8,
          .segments = 3,
          .layers = 3,
          .causal = causal,
          .block = {.attention = {.d_model = 8, .heads = 2}, .mlp = {.width = 12}}};
}
TransformerConfig rotary_shape() {
  TransformerConfig shape = plain_shape(true);
  shape.positions = Positions::rotary;
  return shape;
}
TransformerConfig windowed_shape() {
  TransformerConfig shape = rotary_shape();
  shape.block.attention.window = 2;
  return shape;
}
TransformerConfig normalised_shape() {
  TransformerConfig shape = plain_shape();
  shape.block.attention.query_key_norm = QueryKeyNorm::heads;
  return shape;
}

struct FieldCase {
  const char* name;
  TransformerConfig base;
  std::function<void(TransformerConfig&)> change;
};

std::vector<FieldCase> field_cases() {
  const TransformerConfig encoder = plain_shape(), decoder = plain_shape(true), rotary = rotary_shape(),
                          windowed = windowed_shape(), normalised = normalised_shape();
  TransformerConfig scaled = rotary, smooth = rotary;
  TransformerConfig parallel = encoder, narrow = encoder;
  parallel.block.parallel = true;
  narrow.embedding_width = 5;
  scaled.rotary.scaling = RotaryScaling::linear;
  scaled.rotary.factor = 2;
  smooth.rotary = {.base = 10, .scaling = RotaryScaling::llama3, .factor = 2, .original_length = 32};
  using C = TransformerConfig;
  return {
      {"layers", encoder, [](C& c) { c.layers = 2; }},
      {"causal", encoder, [](C& c) { c.causal = true; }},
      {"embedding_scale", encoder, [](C& c) { c.embedding_scale = 3; }},
      {"embedding_norm", encoder, [](C& c) { c.embedding_norm = true; }},
      {"positions: none", encoder, [](C& c) { c.positions = Positions::none; }},
      {"positions: sinusoidal", encoder, [](C& c) { c.positions = Positions::sinusoidal; }},
      {"positions: rotary", encoder, [](C& c) { c.positions = Positions::rotary; }},
      {"position_offset", encoder, [](C& c) { c.position_offset = 2, c.max_length = 6; }},
      {"segments", encoder, [](C& c) { c.segments = 0; }},
      {"rotary.base", rotary, [](C& c) { c.rotary.base = 100; }},
      {"rotary.fraction", rotary, [](C& c) { c.rotary.fraction = 0.5; }},
      {"rotary.pairs", rotary, [](C& c) { c.rotary.pairs = RotaryPairs::interleaved; }},
      {"rotary.scaling: linear", rotary, [](C& c) { c.rotary.scaling = RotaryScaling::linear, c.rotary.factor = 2; }},
      {"rotary.scaling: llama3", rotary,
       [](C& c) { c.rotary.scaling = RotaryScaling::llama3, c.rotary.factor = 2, c.rotary.original_length = 32; }},
      {"rotary.factor", scaled, [](C& c) { c.rotary.factor = 5; }},
      {"rotary.low_frequency", smooth, [](C& c) { c.rotary.low_frequency = 2; }},
      {"rotary.high_frequency", smooth, [](C& c) { c.rotary.high_frequency = 8; }},
      {"rotary.original_length", smooth, [](C& c) { c.rotary.original_length = 8; }},
      {"rotary.divisors", rotary,
       [](C& c) {
         c.rotary.divisors = {2, 5};
       }},
      {"rotary.amplitude", rotary, [](C& c) { c.rotary.amplitude = 1.25; }},
      {"heads", encoder, [](C& c) { c.block.attention.heads = 4; }},
      {"kv_heads", encoder, [](C& c) { c.block.attention.kv_heads = 1; }},
      {"d_k", encoder, [](C& c) { c.block.attention.d_k = 6; }},
      {"d_v", encoder, [](C& c) { c.block.attention.d_v = 3; }},
      {"bias", encoder, [](C& c) { c.block.attention.bias = true; }},
      {"output_bias", encoder, [](C& c) { c.block.attention.output_bias = false; }},
      {"tie: K_is_V", encoder, [](C& c) { c.block.attention.tie = Tie::K_is_V; }},
      {"tie: Q_is_K", encoder, [](C& c) { c.block.attention.tie = Tie::Q_is_K; }},
      {"query_key_norm: heads", encoder, [](C& c) { c.block.attention.query_key_norm = QueryKeyNorm::heads; }},
      {"query_key_norm: all", normalised, [](C& c) { c.block.attention.query_key_norm = QueryKeyNorm::all; }},
      {"query_key.kind", normalised, [](C& c) { c.block.attention.query_key.kind = NormKind::layer; }},
      {"query_key.epsilon", normalised, [](C& c) { c.block.attention.query_key.epsilon = 0.5; }},
      {"query_key.gain_offset", normalised, [](C& c) { c.block.attention.query_key.gain_offset = true; }},
      {"scale", encoder, [](C& c) { c.block.attention.scale = 2; }},
      {"soft_cap", encoder, [](C& c) { c.block.attention.soft_cap = 0.5; }},
      {"window", decoder, [](C& c) { c.block.attention.window = 2; }},
      {"window of an encoder", encoder, [](C& c) { c.block.attention.window = 2; }},
      {"full_attention_every", windowed, [](C& c) { c.full_attention_every = 2; }},
      {"full_attention_layers", windowed, [](C& c) { c.full_attention_layers = {0}; }},
      {"window_rotary_base", windowed, [](C& c) { c.window_rotary_base = 10; }},
      {"unrotated_layers", rotary, [](C& c) { c.unrotated_layers = {1}; }},
      {"shared_layers", encoder, [](C& c) { c.shared_layers = true; }},
      {"first_attention_norm", encoder, [](C& c) { c.first_attention_norm = false; }},
      {"divide_scores_by_layer", encoder, [](C& c) { c.divide_scores_by_layer = true; }},
      {"mlp.width", encoder, [](C& c) { c.block.mlp.width = 0; }},
      {"mlp.activation: gelu_tanh", encoder, [](C& c) { c.block.mlp.activation = Activation::gelu_tanh; }},
      {"mlp.activation: relu", encoder, [](C& c) { c.block.mlp.activation = Activation::relu; }},
      {"mlp.activation: relu2", encoder, [](C& c) { c.block.mlp.activation = Activation::relu2; }},
      {"mlp.activation: quick_gelu", encoder, [](C& c) { c.block.mlp.activation = Activation::quick_gelu; }},
      {"mlp.activation: silu", encoder, [](C& c) { c.block.mlp.activation = Activation::silu; }},
      {"mlp.gated", encoder, [](C& c) { c.block.mlp.gated = true; }},
      {"mlp.bias", encoder, [](C& c) { c.block.mlp.bias = false; }},
      {"norm.kind", encoder, [](C& c) { c.block.norm.kind = NormKind::rms; }},
      {"norm.kind: none", encoder, [](C& c) { c.block.norm.kind = NormKind::none; }},
      {"norm.epsilon", encoder, [](C& c) { c.block.norm.epsilon = 0.5; }},
      {"norm.gain_offset", encoder, [](C& c) { c.block.norm.gain_offset = true; }},
      {"norm.bias", encoder, [](C& c) { c.block.norm.bias = false; }},
      {"placement: after", encoder, [](C& c) { c.block.placement = NormPlacement::after; }},
      {"placement: output", encoder, [](C& c) { c.block.placement = NormPlacement::output; }},
      {"placement: both", encoder, [](C& c) { c.block.placement = NormPlacement::both; }},
      {"parallel", encoder, [](C& c) { c.block.parallel = true; }},
      {"shared_norm", parallel, [](C& c) { c.block.shared_norm = true; }},
      {"attention_norm", encoder, [](C& c) { c.block.attention_norm = false; }},
      {"residual_scale", encoder, [](C& c) { c.block.residual_scale = 0.5; }},
      {"embedding_width", encoder, [](C& c) { c.embedding_width = 5; }},
      {"projected_tokens", narrow, [](C& c) { c.projected_tokens = true; }},
      {"last_residual", encoder, [](C& c) { c.last_residual = false; }},
      {"final_norm", encoder, [](C& c) { c.final_norm = false; }},
  };
}

// Compares logits, and all gradients of their product with a cotangent, with those of the reference.
void check_against_reference(const ShakenModel& made, const Batch& asked, double allowed = 1e-10) {
  Random random(11);
  const Recording recording;
  const Tensor given = made.answers(asked).logits, expected = reference_logits(made.config, made.parameters, asked);
  CHECK(error(given, expected) <= allowed);
  std::vector<double> factors;  // 0 for the candidates that a text does not have
  for (const double logit : expected.to_vector()) factors.push_back(logit < -1e29 ? 0 : random.normal());
  const Tensor cotangent = tensor(given.shape(), factors, DType::float64);
  const Gradients g = backward(given, cotangent), h = backward(expected, cotangent);
  for (const auto& [name, parameter] : made.parameters) {
    CAPTURE(name);
    REQUIRE(g.contains(parameter) == h.contains(parameter));
    if (g.contains(parameter)) CHECK(error(g[parameter], h[parameter]) <= 100 * allowed);
  }
}

}  // namespace

TEST_CASE("Each field of TransformerConfig changes the logits according to its formula") {
  const Batch asked = random_batch(words_known, Random(3));
  for (const FieldCase& field : field_cases()) {
    CAPTURE(field.name);
    TransformerConfig changed = field.base;
    field.change(changed);
    const ShakenModel before(word_answerer(field.base)), after(word_answerer(changed));
    for (const auto& [name, parameter] : after.parameters) {  // gains may start at 0
      const bool is_common = before.parameters.contains(name) && before.parameters[name].shape() == parameter.shape();
      if (is_common) Tensor(parameter).copy_from(before.parameters[name]);
    }
    CHECK(error(after.answers(asked).logits, before.answers(asked).logits) > 1e-4);
    check_against_reference(after, asked);
  }
}

TEST_CASE("Each field of a kind of model changes the logits according to its formula") {
  const TransformerConfig encoder = plain_shape(), decoder = plain_shape(true);
  TransformerConfig narrow = encoder;
  narrow.embedding_width = 5;
  const std::vector<std::pair<ModelConfig, ModelConfig>> pairs{
      {word_answerer(encoder), word_answerer(encoder, {.tied = false, .bias = true})},
      {word_answerer(encoder), word_answerer(encoder, {.bias = false})},
      {language_model(decoder), language_model(decoder, {.bias = true})},
      {language_model(decoder), language_model(decoder, {.soft_cap = 1.5})},
      {language_model(decoder), language_model(decoder, {.bias = true, .scale = 0.5})},
      {language_model(decoder), language_model(decoder, {.tied = false})},
      {masked_language_model(encoder),
       with(masked_language_model(encoder), [&](ModelConfig& c) { c.transform = false; })},
      {masked_language_model(encoder),
       with(masked_language_model(encoder), [&](ModelConfig& c) { c.activation = Activation::silu; })},
      {masked_language_model(encoder), masked_language_model(encoder, {.soft_cap = 1})},
      {masked_language_model(encoder),
       with(masked_language_model(encoder), [&](ModelConfig& c) { c.transform_bias = false; })},
      {classifier_of(encoder), text_classifier(encoder, {"bad", "fair", "good"})},
      {classifier_of(encoder), with(classifier_of(encoder), [&](ModelConfig& c) { c.transform_bias = false; })},
      {classifier_of(encoder), with(classifier_of(encoder), [&](ModelConfig& c) { c.class_bias = false; })},
      {classifier_of(encoder), with(classifier_of(encoder), [&](ModelConfig& c) { c.activation = Activation::relu; })},
      {text_classifier(encoder, {"bad", "good"}),
       with(text_classifier(encoder, {"bad", "good"}), [&](ModelConfig& c) { c.transform = false; })},
      {masked_language_model(encoder), masked_language_model(narrow)},
      {word_answerer(encoder), word_answerer(narrow, {.tied = false})},
      {candidate_chooser(encoder), candidate_chooser(encoder, true)}};
  const Batch asked = random_batch(words_known, Random(4));
  for (const auto& [base, changed] : pairs) {
    CAPTURE(format_json(to_json(changed)));
    const ShakenModel before(base), after(changed);
    CHECK(error(after.answers(asked).logits, before.answers(asked).logits) > 1e-4);
    check_against_reference(before, asked);
    check_against_reference(after, asked);
  }
}

TEST_CASE("Logits and gradients of random configurations equal the formulas") {
  RandomConfig draw(1);
  for (int i = 0; i < 150; ++i) {
    const ModelConfig config = draw(words_known);
    CAPTURE(i, format_json(to_json(config)));
    const ShakenModel made(config);
    const Batch asked = random_batch(words_known, Random(static_cast<std::uint64_t>(i)));
    check_against_reference(made, asked, 1e-9);
    CHECK(error(made.answers(asked, Compute::query).logits, made.answers(asked).logits) <= 1e-10);
  }
}

TEST_CASE("The gradient of a loss equals its numerical derivative for random configurations") {
  RandomConfig draw(2);
  for (int i = 0; i < 60; ++i) {
    const ModelConfig config = draw(words_known);
    CAPTURE(i, format_json(to_json(config)));
    const ShakenModel made(config);
    const Batch examples = random_batch(words_known, Random(static_cast<std::uint64_t>(i)));
    Batch batch = examples;
    if (made.model.head().classifies()) batch.answer = Ids({2, 0});
    if (made.model.head().has_token_logits()) {
      batch = {.tokens = examples.tokens, .targets = Ids({12}, {3, -1, 5, -1, 0, 6, 2, 8, 1, 7, -1, -1})};
    }
    Gradients gradients;
    {
      const Recording recording;
      gradients = backward(made.model.loss(batch));
    }
    // Along one direction through all parameters.
    Random random(5);
    std::vector<Tensor> begin, direction;
    double slope = 0;
    const double length = std::sqrt(static_cast<double>(made.parameters.numel()));
    for (const auto& [name, parameter] : made.parameters) {
      begin.push_back(parameter.clone());
      direction.push_back(random_normal(parameter.shape(), random, 0, 1 / length, DType::float64));
      if (gradients.contains(parameter)) slope += sum(gradients[parameter] * direction.back()).item();
    }
    const double expected = derivative(
        [&](const Tensor& step) {
          for (std::size_t p = 0; const auto& [name, parameter] : made.parameters) {
            Tensor(parameter).copy_from(begin[p] + direction[p] * step.item());
            ++p;
          }
          return made.model.loss(batch);
        },
        0, 2e-4);
    CHECK(slope == Approx(expected).epsilon(1e-6).margin(1e-9));
  }
}

TEST_CASE("The loss of masked tokens does not depend on the padding of the batch") {
  const ShakenModel made(masked_language_model(plain_shape()));
  const auto& model = made.model;
  const auto with_padding = [&](std::int32_t padding) {
    return model
        .loss({.tokens = Ids({2, 4}, {1, 2, 3, 4, 5, 6, padding, padding}),
               .lengths = {4, 2},
               .segments = Ids({2, 4}, {0, 0, 1, 1, 2, 0, 0, 0}),
               .targets = Ids({8}, {-1, 3, -1, -1, 2, -1, -1, -1})})
        .item();
  };
  const double first = model
                           .loss({.tokens = Ids({1, 4}, {1, 2, 3, 4}),
                                  .lengths = {4},
                                  .segments = Ids({1, 4}, {0, 0, 1, 1}),
                                  .targets = Ids({4}, {-1, 3, -1, -1})})
                           .item();
  const double second = model
                            .loss({.tokens = Ids({1, 2}, {5, 6}),
                                   .lengths = {2},
                                   .segments = Ids({1, 2}, {2, 0}),
                                   .targets = Ids({2}, {2, -1})})
                            .item();
  CHECK(with_padding(0) == Approx((first + second) / 2));
  CHECK(with_padding(7) == Approx(with_padding(0)));
}

TEST_CASE("A masked language model reads all tokens as segment 0 when none are given") {
  TransformerConfig shape = bert(2, 2, 8);
  shape.vocabulary = words_known, shape.max_length = 8;
  const ShakenModel made(masked_language_model(shape));
  const auto& model = made.model;
  const Ids tokens({1, 4}, {1, 2, 3, 4}), masked({1, 4}, {-1, 5, -1, 6});
  const Ids zero({1, 4}, {0, 0, 0, 0}), one({1, 4}, {0, 0, 1, 1});
  const Tensor all = model.logits({.tokens = tokens, .segments = zero});
  CHECK(all.shape() == Shape{1, 4, 9});
  CHECK(model.logits({.tokens = tokens}).to_vector() == all.to_vector());
  CHECK(error(model.logits({.tokens = tokens, .segments = one}), all) > 1e-3);
  CHECK(model.loss({.tokens = tokens, .targets = masked}).item() == Approx(cross_entropy(all, masked).item()));
  Shape computed;
  {
    const Hook hook([&](const std::string& name, const Tensor& value) {
      if (name == "logits") computed = value.shape();
    });
    model.loss({.tokens = tokens, .targets = masked});
  }
  CHECK(computed == Shape{2, 9});  // only the masked tokens
  CHECK(message([&] {
          model.loss({.tokens = tokens, .targets = Ids({3}, {1, 2, 3})});
        }) == "MaskedLanguageModel: expected 4 labels, got 3");
  CHECK(message([&] {
          model.logits({.tokens = tokens, .segments = Ids({1, 3}, {0, 0, 0})});
        }) == "Transformer: expected segments (1, 4), got (1, 3)");
}
