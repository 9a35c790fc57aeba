#pragma once
#include "tests/models/sample.h"

#include <heed/autograd/ops.h>
#include <heed/models/model.h>

#include <cmath>
#include <vector>

namespace heed {

/// Draws configurations of small models; every field takes several values, in all valid combinations.
class RandomConfig {
 public:
  explicit RandomConfig(std::uint64_t seed)
      : random_(Random(seed).stream("configurations")),
        newer_(Random(seed).stream("newer fields")),
        classes_(Random(seed).stream("classes")) {}

  ModelConfig operator()(int vocabulary) {
    const auto kind = random_.below(4);
    TransformerConfig shape = transformer(kind == 2 || (kind < 2 && chance()));
    shape.vocabulary = vocabulary;
    LogitsConfig logits{.tied = chance(), .bias = pick(false, true), .soft_cap = pick(0.0, 2.0)};
    shape.embedding_width = newer_.below(3) == 0 ? 5 : 0;
    shape.projected_tokens = rarely();
    if (rarely()) logits.scale = 0.5;
    if (kind == 0) return word_answerer(shape, logits);
    if (kind == 1) return candidate_chooser(shape, chance());
    if (kind == 2) return language_model(shape, logits);
    const Activation activation =
        pick(Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::quick_gelu);
    const bool has_classes = classes_.below(2) == 1;
    return with(has_classes ? text_classifier(shape, {"bad", "fair", "good"}) : masked_language_model(shape, logits),
                [&](ModelConfig& c) {
                  c.transform = chance();
                  c.activation = activation;
                  c.transform_bias = rarely() ? false : true;
                  c.transform_norm = has_classes && classes_.below(2) == 1;
                  c.class_bias = classes_.below(2) == 1;
                });
  }

 private:
  template <class... T>
  std::common_type_t<T...> pick(T... values) {
    const std::vector<std::common_type_t<T...>> all{values...};
    return all[static_cast<std::size_t>(random_.below(std::ssize(all)))];
  }
  bool chance() { return random_.below(2) == 1; }
  bool rarely() { return newer_.below(4) == 0; }

  NormConfig norm() {
    return {.kind = pick(NormKind::layer, NormKind::rms),
            .epsilon = pick(1e-5, 1e-2),
            .gain_offset = chance(),
            .bias = !rarely()};
  }
  AttentionConfig attention(bool causal) {
    AttentionConfig a{.d_model = 8, .heads = pick(1, 2, 4)};
    a.kv_heads = pick(0, 1, a.heads);
    a.d_k = pick(0, 2, 4, 6);
    a.d_v = pick(0, 3, 6);
    a.bias = pick(false, true);
    a.output_bias = pick(false, true);
    const AttentionConfig complete = a.complete();
    if (chance() && complete.d_k == complete.d_v) a.tie = Tie::K_is_V;
    if (chance() && complete.kv_heads == a.heads) a.tie = Tie::Q_is_K;
    a.query_key_norm = pick(QueryKeyNorm::none, QueryKeyNorm::heads, QueryKeyNorm::all);
    a.query_key = norm();
    a.scale = pick(0.0, 0.7);
    a.soft_cap = pick(0.0, 1.5);
    if (causal) a.window = pick(0, 0, 2, 4);
    if (!causal && rarely()) a.window = 2;
    return a;
  }
  TransformerConfig transformer(bool causal) {
    TransformerConfig c{.max_length = 12, .segments = pick(0, 0, 3), .layers = pick(1, 2, 3), .causal = causal};
    c.embedding_scale = pick(1.0, 2.5);
    c.embedding_norm = chance();
    c.positions = pick(Positions::none, Positions::learned, Positions::sinusoidal, Positions::rotary);
    c.position_offset = pick(0, 2);
    BlockConfig& block = c.block;
    block.attention = attention(causal);
    block.mlp = {.width = pick(0, 12),
                 .activation = pick(Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::relu,
                                    Activation::relu2, Activation::quick_gelu),
                 .gated = newer_.below(2) == 1,
                 .bias = pick(false, true)};
    block.norm = norm();
    block.placement = pick(NormPlacement::before, NormPlacement::after, NormPlacement::output, NormPlacement::both);
    block.parallel = block.placement == NormPlacement::before && chance();
    block.shared_norm = block.parallel && newer_.below(2) == 1;
    block.attention_norm = block.shared_norm || !rarely();
    block.residual_scale = rarely() ? 0.5 : 1;
    const bool may_grow = block.mlp.gated || block.mlp.activation == Activation::relu2;  // with powers of what it reads
    if (rarely() && !may_grow) block.norm.kind = NormKind::none;
    c.rotary = {.base = pick(10000.0, 100.0),
                .fraction = block.attention.complete().d_k > 2 ? pick(1.0, 0.5) : 1.0,
                .pairs = pick(RotaryPairs::halves, RotaryPairs::interleaved),
                .scaling = pick(RotaryScaling::none, RotaryScaling::linear, RotaryScaling::llama3),
                .factor = 4,
                .original_length = 16,
                .amplitude = pick(1.0, 1.25)};
    if (chance()) c.rotary.divisors.assign(rotary_frequencies(block.attention.complete().d_k, c.rotary).size(), 1.5);
    c.full_attention_every = pick(0, 2);
    if (chance()) c.full_attention_layers = {1};
    c.window_rotary_base = pick(0.0, 50.0);
    if (rarely()) c.unrotated_layers = {0, 2};
    c.divide_scores_by_layer = chance();
    c.shared_layers = rarely();
    c.first_attention_norm = c.shared_layers || block.shared_norm || !rarely();
    c.last_residual = pick(true, true, false);
    c.final_norm = chance();
    return c;
  }

  Random random_, newer_,
      classes_;  // the last two draw fields added later, so that the draws of the others do not change
};

/// Adds numbers to all parameters, so that no gain is 1 and no bias 0. They depend only on the parameter's name and
/// shape.
inline void shake_all(const Parameters& parameters, double deviation = 0.3) {
  for (const auto& [name, parameter] : parameters) {
    Random random = Random(7).stream(name);
    Tensor(parameter).copy_from(parameter + random_normal(parameter.shape(), random, 0, deviation, parameter.dtype()));
  }
}

/// Returns two texts of 6 and 4 tokens, among `vocabulary`, with all inputs that any model needs.
inline Batch random_batch(int vocabulary, Random random) {
  constexpr int B = 2, T = 6;
  const auto drawn = [&](std::int64_t n, int below) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < n; ++i) ids.push_back(static_cast<std::int32_t>(random.below(below)));
    return ids;
  };
  Batch batch{.tokens = Ids({B, T}, drawn(B * T, vocabulary)),
              .lengths = {6, 4},
              .query = Ids({B}, {5, 2}),
              .candidates = Ids({B, 3, 2}, {0, 2, 3, 4, 1, 4, 1, 2, 2, 4, -1, -1}),
              .answer = Ids({B}, drawn(B, vocabulary)),
              .chosen = Ids({B}, {2, 0})};
  batch.segments = Ids({B, T}, drawn(B * T, 3));
  return batch;
}

/// Returns such texts for the model: those that it tells the class of are asked where its head reads.
inline Batch random_batch(const Model& model, Random random) {
  Batch batch = random_batch(model.transformer().config.vocabulary, random);
  if (model.head().classifies()) batch.query = model.head().places(batch.lengths);
  return batch;
}

}  // namespace heed
