#include "formats/internal/config_json.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/random_models.h"
#include "tests/models/sample.h"

#include <heed/autograd/record.h>
#include <heed/explain/trace.h>

using namespace heed;

namespace {

// Returns row query[b] of each text: (B, d).
Tensor at_queries(const Tensor& x, const Batch& asked) { return select_rows(x, asked.query); }

void check_layer(const TransformerBlock& block, const LayerTrace& layer, const Mask& mask) {
  const MultiHeadAttention& attention = block.attention;
  const std::int64_t B = layer.residual_in.size(0), T = layer.residual_in.size(1);
  const int H = attention.config.heads, kv_heads = attention.config.kv_heads;
  CHECK(layer.q.shape() == Shape{B, H, T, attention.config.d_k});
  CHECK(layer.k.shape() == Shape{B, kv_heads, T, attention.config.d_k});
  CHECK(layer.v.shape() == Shape{B, kv_heads, T, attention.config.d_v});
  CHECK(layer.scores.shape() == Shape{B, H, T, T});
  CHECK(error(layer.attention_input, block.attention_norms.of_input(layer.residual_in)) <= 1e-12);
  CHECK(error(layer.q, attention.queries_of(layer.attention_input)) <= 1e-12);
  CHECK(error(layer.k, attention.keys_of(layer.attention_input)) <= 1e-12);
  CHECK(error(layer.v, attention.values_of(layer.attention_input)) <= 1e-12);
  const AttentionResult output = attention(layer.attention_input, mask, {.weights = true});
  CHECK(error(layer.weights, output.weights) <= 1e-12);
  CHECK(error(layer.attention_output, output.output) <= 1e-12);
  const Tensor joined = reshape(transpose(layer.head_output, 1, 2), {B, T, H * attention.config.d_v});
  CHECK(error(attention.W_O(joined), layer.attention_output) <= 1e-12);
  const Tensor first = slice(slice(layer.q, 1, H - 1, H), 2, 0, 1), key = slice(layer.k, 1, kv_heads - 1, kv_heads);
  const Tensor score = matmul(first, transpose(key)) * attention.score_scale();
  CHECK(error(slice(slice(layer.scores, 1, H - 1, H), 2, 0, 1), score) <= 1e-12);
  CHECK(error(layer.residual_out, block(layer.residual_in, mask).output) <= 1e-12);
  REQUIRE(layer.mlp_output.defined() == block.mlp.has_value());
  if (!block.mlp) {
    CHECK(layer.residual_out.to_vector() == layer.attended.to_vector());
    return;
  }
  CHECK(error(block.mlp->out(layer.mlp_hidden), layer.mlp_output) <= 1e-12);
  if (block.config.placement == NormPlacement::before) {
    const Tensor added = layer.mlp_output * block.config.residual_scale;
    CHECK(error(layer.attended + added, layer.residual_out) <= 1e-12);
  }
}

}  // namespace

TEST_CASE("trace holds the values that the model computes, for random configurations") {
  RandomConfig draw(3);
  for (int i = 0; i < 100; ++i) {
    const ModelConfig config = draw(14);
    CAPTURE(i, format_json(to_json(config)));
    Parameters parameters;
    const Scope scope(parameters, 1, DType::float64);
    const Model model = Model(i % 2 ? scope / "model" : scope, config);  // the scope's name makes no difference
    shake_all(parameters);
    const Batch asked = random_batch(model, Random(static_cast<std::uint64_t>(i)));
    const Transformer& transformer = model.transformer();
    const Trace seen = trace(model, asked);
    const ModelOutput own = model.run(asked, {.weights = true});
    CHECK(error(seen.logits, own.logits) <= 1e-12);
    CHECK(error(seen.embedded, transformer.embed(asked)) <= 1e-12);
    REQUIRE(seen.layers.size() == own.weights.size());
    for (std::size_t l = 0; l < seen.layers.size(); ++l) {
      const LayerTrace& layer = seen.layers[l];
      CHECK(error(layer.weights, own.weights[l]) <= 1e-12);
      const Tensor& before = l == 0 ? seen.embedded : seen.layers[l - 1].residual_out;
      CHECK(layer.residual_in.to_vector() == before.to_vector());
      check_layer(transformer.blocks[l], layer, transformer.mask_of(asked));
    }
    const Tensor last = at_queries(seen.layers.back().residual_out, asked);
    CHECK(error(seen.state, transformer.final_norm ? (*transformer.final_norm)(last) : last) <= 1e-12);
  }
}

TEST_CASE("check_weights_fit rejects a text whose weights exceed the memory") {
  ModelConfig config = language_model(gpt2(2, 2, 8));
  config.transformer.max_length = 12;
  const Model model = small_model(config);
  CHECK_NOTHROW(check_weights_fit(model.transformer(), Ids({1, 100}, std::vector<std::int32_t>(100))));
  constexpr std::int64_t tokens = 4'000'000;
  CHECK(
      message([&] {
        check_weights_fit(model.transformer(), Ids({1, tokens}, std::vector<std::int32_t>(tokens)));
      }).starts_with("the text has 4000000 tokens: the weights of 2 layers with 2 heads take 256000.0 GB, more than"));
}

TEST_CASE("trace is not recorded, and leaves no hook open") {
  Parameters parameters;
  TransformerConfig shape = small_config();
  shape.vocabulary = 14;
  const Model model(Scope(parameters, 1), decoder_of(shape));
  const Recording recording;
  const Trace seen = trace(model, {.tokens = Ids({1, 3}, {1, 2, 3}), .query = Ids({1}, {2}), .candidates = {}});
  CHECK(seen.logits.tape_node() == TapeNode{});
  CHECK(seen.layers[1].weights.tape_node() == TapeNode{});
  CHECK_FALSE(Hook::is_open());
}
