#include "nn/encoder.h"

#include "tests/golden.h"

using namespace heed;

namespace {
const AttentionShape shape{.d_model = 8, .heads = 2, .bias = Bias::yes};
const Mask mask = Mask::padding(std::vector{5, 3}, 5);
}  // namespace

TEST_CASE("EncoderBlock and its gradients are PyTorch's, with and without an MLP") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const int mlp = GENERATE(0, 12);
  CAPTURE(to_string(dtype), mlp);
  const std::string name = mlp ? "block_with_mlp" : "block";
  const Golden golden("encoder");
  Parameters parameters;
  const EncoderBlock block(Scope(parameters, 1, dtype), shape, mlp);
  golden.load(name, parameters);
  const Tensor x = variable(golden(name + ".x", dtype));
  check_case(golden, name, joined({{"x", x}}, parameters), [&] {
    const Attended attended = block(x, mask, Weights::yes);
    CHECK(error(attended.weights, golden(name + ".weights")) <= tolerance(dtype));
    return attended.output;
  });
}

TEST_CASE("Encoder and its gradients are PyTorch's") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  const Golden golden("encoder");
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1, dtype), 2, shape, 12);
  golden.load("encoder", parameters);
  const Tensor x = variable(golden("encoder.x", dtype));
  check_case(golden, "encoder", joined({{"x", x}}, parameters), [&] { return encoder(x, mask).output; });
}

TEST_CASE("Encoder gives the weights of each layer, when asked") {
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1), 3, shape, 0);
  const Tensor x = ones({2, 5, 8});
  CHECK(encoder(x, mask).weights.empty());
  const Encoded encoded = encoder(x, mask, Weights::yes);
  REQUIRE(encoded.weights.size() == 3);
  for (const Tensor& weights : encoded.weights) {
    CHECK(weights.shape() == Shape{2, 2, 5, 5});
    CHECK(error(sum(weights, {-1}), ones({2, 2, 5})) <= 1e-6);
    CHECK(weights.at({1, 0, 2, 3}) == 0);  // beyond the second text's 3 tokens
  }
}

TEST_CASE("Encoder's parameters are named by layer and role") {
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1) / "encoder", 2, {.d_model = 8, .heads = 2}, 12);
  std::vector<std::string> names;
  for (const auto& [name, value] : parameters) names.push_back(name);
  CHECK(names.size() == 2 * 13 + 2);
  for (const char* name :
       {"encoder.0.attention_norm.gain", "encoder.0.attention.W_Q.weight", "encoder.1.attention.W_O.bias",
        "encoder.1.mlp.norm.bias", "encoder.1.mlp.in.weight", "encoder.0.mlp.out.bias", "encoder.norm.gain"}) {
    CAPTURE(name);
    CHECK(parameters.contains(name));
  }
}
