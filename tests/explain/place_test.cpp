#include "formats/internal/config_json.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/random_models.h"

#include <heed/explain/intervention.h>

#include <algorithm>
#include <utility>

using namespace heed;

namespace {

using What = Place::What;

constexpr double exact = 1e-12;
constexpr int known_words = 14;

// A random model in float64, and two batches of texts that differ in their tokens.
struct Drawn {
  Model model;
  Batch texts = random_batch(known_words, Random(1)), others = random_batch(known_words, Random(2));
  Trace seen, of_others;
  explicit Drawn(RandomConfig& draw) : model(small_model(draw(known_words))) {
    shake_all(model.parameters);
    model = in_float64(model);
    others.segments = texts.segments;
    seen = trace(model, texts), of_others = trace(model, others);
  }
  Tensor logits(const std::vector<Intervention>& interventions) const {
    return logits_under(interventions, model, texts);
  }
  int layers() const { return model.layers(); }
  bool has_mlp() const { return model.transformer().config.block.mlp.width > 0; }
  const TransformerBlock& block(int layer) const { return model.transformer().blocks[static_cast<std::size_t>(layer)]; }
};

double difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return max(abs(a - b)).item() / std::max(1.0, max(abs(b)).item());
}

// The documented names of hooks.
std::string name_of_hook(What what, int layer) {
  const std::string block = fmt::format("encoder.{}", layer);
  switch (what) {
    case What::embeddings:
      return "words.output";
    case What::residual:
      return layer == 0 ? "embedded" : fmt::format("encoder.{}.output", layer - 1);
    case What::queries:
      return block + ".attention.Q";
    case What::keys:
      return block + ".attention.K";
    case What::values:
      return block + ".attention.V";
    case What::scores:
      return block + ".attention.scores";
    case What::weights:
      return block + ".attention.weights";
    case What::head_output:
      return block + ".attention.heads";
    case What::attention_output:
      return block + ".attention.output";
    case What::neurons:
      return block + ".mlp.hidden";
    case What::mlp_output:
      return block + ".mlp.out.output";
  }
  return "";
}

constexpr What kinds[] = {What::embeddings,       What::residual, What::queries,   What::keys,
                          What::values,           What::scores,   What::weights,   What::head_output,
                          What::attention_output, What::neurons,  What::mlp_output};

// One element of a value (B, heads or 1, T, n).
struct Element {
  std::int64_t text, head, token, feature;
};

Tensor value_seen(const Model& model, const Batch& texts, const std::string& name) {
  Tensor found;
  const Hook hook([&](const std::string& shown, const Tensor& value) {
    if (shown == name) found = value.clone();
  });
  (void)model.logits(texts);
  REQUIRE(found.defined());
  return found;
}

// Returns the logits when changed(element, value before) replaces the elements of a place.
template <class Changed>
Tensor by_hand(const Drawn& drawn, const Place& place, const std::string& name, const Changed& changed) {
  const auto has = [](const std::vector<int>& list, std::int64_t i) {
    return std::ranges::find(list, static_cast<int>(i)) != list.end();
  };
  const Hook hook([&](const std::string& shown, Tensor& value) {
    if (shown != name) return;
    std::vector<double> values = value.to_vector();
    const bool is_flat = value.rank() == 3;
    const std::int64_t heads = is_flat ? 1 : value.size(1), T = value.size(-2), n = value.size(-1);
    for (std::int64_t i = 0; i < value.numel(); ++i) {
      const Element at{i / (heads * T * n), i / (T * n) % heads, i / n % T, i % n};
      if (place.head >= 0 && at.head != place.head) continue;
      if (!place.features.empty() && !has(place.features, at.feature)) continue;
      if (!place.tokens.empty()) {
        const auto list = place.tokens.size() == 1 ? 0 : static_cast<std::size_t>(at.text);
        if (!has(place.tokens[list], at.token)) continue;
      }
      values[static_cast<std::size_t>(i)] = changed(at, values[static_cast<std::size_t>(i)]);
    }
    value = tensor(value.shape(), values, value.dtype());
  });
  return drawn.model.logits(drawn.texts);
}

double at(const Tensor& value, const Element& e) {
  return value.rank() == 3 ? value.at({e.text, e.token, e.feature}) : value.at({e.text, e.head, e.token, e.feature});
}

}  // namespace

TEST_CASE("Every verb changes every place as a plain loop over its values does, for random configurations") {
  RandomConfig draw(21);
  Random random(3);
  for (int i = 0; i < 60; ++i) {
    const Drawn drawn(draw);
    CAPTURE(i, format_json(to_json(drawn.model.config())));
    for (const What what : kinds) {
      if ((what == What::neurons || what == What::mlp_output) && !drawn.has_mlp()) continue;
      const int layer = what == What::embeddings ? 0 : static_cast<int>(random.below(drawn.layers()));
      CAPTURE(name_of(what), layer);
      const std::string name = name_of_hook(what, layer);
      const Tensor value = value_seen(drawn.model, drawn.texts, name),
                   other = value_seen(drawn.model, drawn.others, name);
      Place place{what, layer};
      const bool has_heads = value.rank() == 4;
      if (has_heads && random.below(3) > 0) place.head = static_cast<int>(random.below(value.size(1)));
      if (what == What::neurons || what == What::scores) place.features = {0, static_cast<int>(value.size(-1)) - 1};
      if (what == What::weights) place = place.to({1});
      const auto drawn_tokens = random.below(3);
      if (drawn_tokens == 1) place = place.at({0, 2});
      if (drawn_tokens == 2) place = place.at_each({{5, 1}, {}});
      const Tensor vector = random_normal({value.size(-1)}, random, 0, 1, DType::float64);
      const auto check = [&](const Intervention& intervention, const auto& changed) {
        const Tensor expected = by_hand(drawn, place, name, changed), found = drawn.logits({intervention});
        CHECK(difference(found, expected) < exact);
      };
      check(ablate(place), [](const Element&, double) { return 0.0; });
      check(ablate(place, vector), [&](const Element& e, double) { return vector.at({e.feature}); });
      check(patch(place, drawn.of_others), [&](const Element& e, double) { return at(other, e); });
      check(patch(place, drawn.of_others, {1, -1}), [&](const Element& e, double x) {
        return e.text == 1 ? x : at(other, {1, e.head, e.token, e.feature});
      });
      check(patch(place, std::vector<int>{-1, 0}), [&](const Element& e, double x) {
        return e.text == 0 ? x : at(value, {0, e.head, e.token, e.feature});
      });
      const Random drawing(static_cast<std::uint64_t>(i));
      check(resample(place, drawn.of_others, drawing), [&](const Element& e, double) {
        return at(other, {drawing.stream(static_cast<std::uint64_t>(e.text)).below(2), e.head, e.token, e.feature});
      });
      check(steer(place, vector, -0.5), [&](const Element& e, double x) { return x - 0.5 * vector.at({e.feature}); });
      check(replace(place, [](const Tensor& x) { return x * x; }), [](const Element&, double x) { return x * x; });
      if (place.tokens.size() < 2)
        check(in_text(1, ablate(place)), [](const Element& e, double x) { return e.text == 1 ? 0.0 : x; });
    }
  }
}

TEST_CASE("Patched values determine what is computed from them, for random configurations") {
  RandomConfig draw(22);
  for (int i = 0; i < 40; ++i) {
    const Drawn drawn(draw);
    CAPTURE(i, format_json(to_json(drawn.model.config())));
    const auto patched = [&](const Place& place) { return patch(place, drawn.of_others); };
    const int layer = i % drawn.layers();
    // The input of a layer, at all tokens, gives the other text's answer.
    CHECK(difference(drawn.logits({patched(Place::residual(layer))}), drawn.of_others.logits) < exact);
    CHECK(difference(drawn.logits({patched(Place::embeddings())}), drawn.of_others.logits) < exact);
    if (!drawn.model.head().chooses_candidates()) {  // candidates are read from the last layer's input
      CHECK(difference(drawn.logits({patched(Place::residual(drawn.layers()))}), drawn.of_others.logits) < exact);
    }
    // Nothing changes when a text is patched from itself.
    for (const What what : kinds) {
      if ((what == What::neurons || what == What::mlp_output) && !drawn.has_mlp()) continue;
      const Tensor same = drawn.logits({patch({what, what == What::embeddings ? 0 : -1}, drawn.seen)});
      CHECK(difference(same, drawn.seen.logits) == 0);
    }
    const Tensor heads = drawn.logits({patched(Place::head_output(layer))});
    const Intervention values = patched(Place::values(layer));
    CHECK(difference(drawn.logits({patched(Place::attention_output(layer))}), heads) < exact);
    CHECK(difference(drawn.logits({patched(Place::weights(layer)), values}), heads) < exact);
    CHECK(difference(drawn.logits({patched(Place::scores(layer)), values}), heads) < exact);
    CHECK(difference(drawn.logits({patched(Place::queries(layer)), patched(Place::keys(layer)), values}), heads) <
          exact);
    if (!drawn.has_mlp()) continue;
    const Tensor mlp = drawn.logits({patched(Place::mlp_output(layer))});
    CHECK(difference(drawn.logits({patched(Place::neurons(layer))}), mlp) < exact);
  }
}

TEST_CASE("Ablated places are those of a model without the parameters that make them") {
  RandomConfig draw(23);
  for (int i = 0; i < 40; ++i) {
    const Drawn drawn(draw);
    CAPTURE(i, format_json(to_json(drawn.model.config())));
    const TransformerConfig& config = drawn.model.transformer().config;
    const AttentionConfig attention = config.block.attention.complete();
    const int layer = config.shared_layers ? -1 : i % drawn.layers();  // shared parameters change in all layers
    const std::string block = fmt::format("encoder.{}.", std::max(layer, 0));
    // Returns the logits without the rows [begin, end) of a matrix, or without columns, and without a bias.
    const auto without = [&](const std::string& name, bool columns, std::int64_t begin, std::int64_t end, bool bias) {
      const NoRecording unrecorded;
      Tensor weight = drawn.model.parameters[block + name + ".weight"];
      const Tensor kept = weight.clone();
      std::vector<double> values = weight.to_vector();
      for (std::int64_t e = 0; e < weight.numel(); ++e) {
        const std::int64_t at = columns ? e % weight.size(1) : e / weight.size(1);
        if (at >= begin && at < end) values[static_cast<std::size_t>(e)] = 0;
      }
      weight.copy_from(tensor(weight.shape(), values, weight.dtype()));
      const std::string bias_name = block + name + ".bias";
      const bool has_bias = bias && drawn.model.parameters.contains(bias_name);
      Tensor vector = has_bias ? drawn.model.parameters[bias_name] : Tensor();
      const Tensor kept_bias = has_bias ? vector.clone() : Tensor();
      if (has_bias) {
        Tensor of_part = columns ? slice(vector, 0, begin, end) : vector;
        of_part.copy_from(zeros(of_part.shape(), of_part.dtype()));
      }
      const Tensor logits = drawn.logits({});
      weight.copy_from(kept);
      if (has_bias) vector.copy_from(kept_bias);
      return logits;
    };
    const int d_v = attention.d_v, head = attention.heads - 1, kv_head = attention.kv_heads - 1;
    CHECK(difference(drawn.logits({ablate(Place::attention_output(layer))}),
                     without("attention.W_O", false, 0, attention.heads * d_v, true)) < exact);
    CHECK(difference(drawn.logits({ablate(Heads{layer, head})}),
                     without("attention.W_O", false, head * d_v, (head + 1) * d_v, false)) < exact);
    if (attention.tie != Tie::K_is_V) {
      CHECK(difference(drawn.logits({ablate(Place::values(layer, kv_head))}),
                       without("attention.W_V", true, kv_head * d_v, (kv_head + 1) * d_v, true)) < exact);
    }
    if (!drawn.has_mlp()) continue;
    const int width = config.block.mlp.width;
    CHECK(difference(drawn.logits({ablate(Place::mlp_output(layer))}), without("mlp.out", false, 0, width, true)) <
          exact);
    CHECK(difference(drawn.logits({ablate(Place::neurons(layer, {3, 4}))}), without("mlp.out", false, 3, 5, false)) <
          exact);
  }
}

TEST_CASE("A direction is worth what it is mapped to by the layers behind it") {
  RandomConfig draw(24);
  Random random(5);
  for (int i = 0; i < 30; ++i) {
    const Drawn drawn(draw);
    CAPTURE(i, format_json(to_json(drawn.model.config())));
    const int layer = i % drawn.layers(), head = i % drawn.model.heads();
    const TransformerBlock& block = drawn.block(layer);
    const AttentionConfig& attention = block.attention.config;
    const auto direction = [&](std::int64_t n) { return random_normal({n}, random, 0, 1, DType::float64); };
    const Tensor of_stream = direction(attention.d_model);
    const LayerInput moved{layer, drawn.seen.layers[static_cast<std::size_t>(layer)].residual_in + of_stream * 2};
    const Tensor steered = drawn.logits({steer(Place::residual(layer), of_stream, 2)});
    CHECK(difference(steered, drawn.model.run(drawn.texts, {.from = moved}).logits) < exact);
    const LayerInput from{layer, drawn.seen.layers[static_cast<std::size_t>(layer)].residual_in};
    const Intervention of_input = steer(Place::residual(layer), of_stream, 2);
    CHECK(difference(logits_under({of_input}, drawn.model, drawn.texts, from), steered) < exact);

    const Tensor of_head = reshape(direction(attention.d_v), {1, -1});
    CHECK(difference(drawn.logits({steer(Place::head_output(layer, head), of_head)}),
                     drawn.logits(
                         {steer(Place::attention_output(layer), block.attention.head_output(head, of_head))})) < exact);
    // One number more in each score of a query changes no weight; weights of 1/2 more of one key bring half of its value.
    if (attention.soft_cap == 0) {
      CHECK(difference(drawn.logits({steer(Place::scores(layer), tensor({1}, {3.0}, DType::float64))}),
                       drawn.seen.logits) < exact);
    }
    const Tensor value = drawn.seen.layers[static_cast<std::size_t>(layer)].v;
    const int key = 1, kv_head = head / (attention.heads / attention.kv_heads);
    const Tensor brought = slice(slice(value, 1, kv_head, kv_head + 1), 2, key, key + 1);  // (B, 1, 1, d_v)
    CHECK(difference(drawn.logits({steer(Place::weights(layer, head).to({key}), tensor({1}, {0.5}, DType::float64))}),
                     drawn.logits({steer(Place::head_output(layer, head), brought, 0.5)})) < exact);
    if (!block.mlp) continue;
    const Tensor of_mlp = direction(block.mlp->in.weight.size(1));
    CHECK(difference(drawn.logits({steer(Place::neurons(layer), of_mlp)}),
                     drawn.logits(
                         {steer(Place::mlp_output(layer),
                                matmul(reshape(of_mlp, {1, -1}), block.mlp->out.weight.to(DType::float64)))})) < exact);
  }
}
