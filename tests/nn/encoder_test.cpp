#include "tests/golden.h"
#include "tests/message.h"

#include <heed/nn/encoder.h>

using namespace heed;

namespace {
const AttentionConfig config{.d_model = 8, .heads = 2, .bias = Bias::yes};
const Mask mask = Mask::padding(std::vector{5, 3}, 5);
}  // namespace

TEST_CASE("EncoderBlock and its gradients are PyTorch's, with and without an MLP") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const int mlp = GENERATE(0, 12);
  CAPTURE(to_string(dtype), mlp);
  const std::string name = mlp ? "block_with_mlp" : "block";
  const Golden golden("encoder");
  Parameters parameters;
  const EncoderBlock block(Scope(parameters, 1, dtype), config, mlp);
  golden.load(name, parameters);
  const Tensor x = variable(golden(name + ".x", dtype));
  check_case(golden, name, joined({{"x", x}}, parameters), [&] {
    const AttentionResult attended = block(x, mask, Weights::yes);
    CHECK(error(attended.weights, golden(name + ".weights")) <= tolerance(dtype));
    return attended.output;
  });
}

TEST_CASE("Encoder and its gradients are PyTorch's") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  const Golden golden("encoder");
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1, dtype), 2, config, 12);
  golden.load("encoder", parameters);
  const Tensor x = variable(golden("encoder.x", dtype));
  check_case(golden, "encoder", joined({{"x", x}}, parameters), [&] { return encoder(x, mask).output; });
}

TEST_CASE("What an Encoder gives at one token of each text is that row of its output, and so are the gradients") {
  const int layers = GENERATE(0, 1, 2), mlp = GENERATE(0, 12);
  const Residual last = GENERATE(Residual::no, Residual::yes);
  CAPTURE(layers, mlp, last == Residual::yes);
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1, DType::float64), layers, config, mlp, last);
  const Tensor x = variable(Golden("encoder")("encoder.x"));
  const Ids query({2}, {3, 1});
  const auto differentiated = [&](auto output_of) {
    const Recording recording;
    const Tensor output = output_of();
    return std::pair(output.detach(), backward(sum(square(output + 1.0))));
  };
  const auto [rows, expected] = differentiated([&] { return select_rows(encoder(x, mask).output, query); });
  const auto [at, gradients] = differentiated([&] { return encoder.at(query, x, mask).output; });
  CHECK(error(at, rows) <= 1e-14);
  for (const auto& [name, variable] : joined({{"x", x}}, parameters)) {
    CAPTURE(name);
    CHECK(error(gradients[variable], expected[variable]) <= 1e-12);
  }
  CHECK(encoder.at(query, x, mask).weights.empty());
  const Encoded all = encoder(x, mask, Weights::yes), some = encoder.at(query, x, mask, Weights::yes);
  REQUIRE(some.weights.size() == all.weights.size());
  for (std::size_t layer = 0; layer < all.weights.size(); ++layer) {
    for (const std::int64_t b : {0, 1}) {
      const Tensor row = slice(slice(all.weights[layer], 0, b, b + 1), 2, query[b], query[b] + 1);
      CHECK(error(slice(some.weights[layer], 0, b, b + 1), reshape(row, {1, 2, 5})) <= 1e-14);
    }
  }
}

TEST_CASE("An Encoder needs a mask that is the same for all tokens, to be computed at one of them") {
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1), 2, config, 0);
  const Tensor x = ones({2, 5, 8});
  const Ids query({2}, {3, 1});
  CHECK(error(encoder.at(query, x, Mask::causal()).output, select_rows(encoder(x, Mask::causal()).output, query)) ==
        0);  // then all are computed
  CHECK(message([&] { encoder.blocks[0].at(query, x, Mask::causal(), Weights::no); }) ==
        "EncoderBlock::at: a causal mask is not the same for all tokens of a text");
  CHECK(message([&] {
          encoder.at(query, x, Mask(Booleans({5, 5}, std::vector<std::uint8_t>(25, 1))));
        }) == "attention: a mask of shape (5, 5) does not broadcast to the weights' (2, 2, 1, 5)");
}

TEST_CASE("Encoder gives the weights of each layer, when asked") {
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1), 3, config, 0);
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

TEST_CASE("An encoder of negative sizes is an error") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  CHECK(message([&] { EncoderBlock(scope, {.d_model = 4}, -8); }) ==
        "EncoderBlock: expected an MLP's width, or 0 for none, got -8");
  CHECK(message([&] { Encoder(scope, -1, {.d_model = 4}, 0); }) == "Encoder: expected layers from 0 up, got -1");
}

TEST_CASE("A dropout outside [0, 1), or without random numbers, is an error") {
  Random random(1);
  const Tensor x = ones({3});
  for (const double p : {-0.1, 1.0, 2.0, std::nan("")}) {
    CHECK(message([&] { Dropout{p, &random}(x); }) == fmt::format("dropout: p must lie in [0, 1), got {}", p));
  }
  CHECK(message([&] { Dropout{0.5}(x); }) == "Dropout: p is 0.5, but no random numbers were given");
  CHECK(Dropout{0, &random}(x).to_vector() == x.to_vector());
}
