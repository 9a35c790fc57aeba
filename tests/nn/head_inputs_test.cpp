#include "tests/catch.h"
#include "tests/message.h"

#include <heed/nn/head_inputs.h>

using namespace heed;

TEST_CASE("Heads with inputs of their own") {
  Parameters parameters;
  AttentionConfig config{.d_model = 8, .heads = 4, .kv_heads = 2, .bias = true, .window = 3};
  config.query_key_norm = GENERATE(QueryKeyNorm::none, QueryKeyNorm::heads, QueryKeyNorm::all);
  const RotaryEmbedding rotary(8, rotary_frequencies(2), RotaryPairs::halves, DType::float64);
  const MultiHeadAttention layer(Scope(parameters, 3, DType::float64) / "attention", config, rotary);
  Random random(5);
  const Tensor x = random_normal({2, 5, 8}, random, 0, 1, DType::float64);
  const Tensor y = random_normal({2, 5, 8}, random, 0, 1, DType::float64);
  const HeadInputs equal{shared_input(x, 4), shared_input(x, 2), shared_input(x, 2)};
  const Tensor z = weighted_values(layer, equal, Mask::causal());
  const Tensor output = layer(x, Mask::causal()).output;
  CHECK(max(abs(joined_output(layer, z) - output)).item() < 1e-12);
  CHECK(max(abs(sum(head_outputs(layer, z), 0) + layer.W_O.bias - output)).item() < 1e-12);

  // The tokens from 2 on alone, behind the keys and values of the first two.
  const Tensor first = slice(x, 1, 0, 2), rest = slice(x, 1, 2, 5);
  const EarlierTokens earlier{.K = layer.keys_of(first), .V = layer.values_of(first)};
  const HeadInputs equal_rest{shared_input(rest, 4), shared_input(rest, 2), shared_input(rest, 2)};
  const Tensor expected = slice(z, 2, 2, 5);
  CHECK(max(abs(weighted_values(layer, equal_rest, Mask::causal(), earlier) - expected)).item() < 1e-12);
  CHECK(max(abs(weighted_values(layer, rest, Mask::causal(), earlier) - expected)).item() < 1e-12);

  // Key head 1 serves the heads 2 and 3; another input of its keys, or of the query of head 3, changes these alone.
  const auto changed_heads = [&](const HeadInputs& inputs) {
    const Tensor change = weighted_values(layer, inputs, Mask::causal()) - z;
    return max(abs(change), {0, 2, 3}).to_vector();
  };
  HeadInputs other = equal;
  other.keys = stack({x, y});
  std::vector<double> change = changed_heads(other);
  CHECK((change[0] == 0 && change[1] == 0 && change[2] > 1e-3 && change[3] > 1e-3));
  other = equal;
  other.queries = stack({x, x, x, y});
  change = changed_heads(other);
  CHECK((change[0] == 0 && change[1] == 0 && change[2] == 0 && change[3] > 1e-3));
  other.queries = shared_input(x, 2);
  CHECK(message([&] { weighted_values(layer, other, {}); }) ==
        "attention: HeadInputs: expected queries (4, B, T, 8), got (2, 2, 5, 8)");
}
