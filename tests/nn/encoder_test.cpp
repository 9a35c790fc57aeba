#include "tests/golden.h"
#include "tests/message.h"

#include <heed/nn/encoder.h>
#include <heed/nn/reader.h>

using namespace heed;

namespace {
const AttentionConfig attention_config{.d_model = 8, .heads = 2, .bias = Bias::yes};
const Mask mask = Mask::padding(std::vector{5, 3}, 5);
}  // namespace

TEST_CASE("EncoderBlock and its gradients are PyTorch's, with and without an MLP") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const int mlp = GENERATE(0, 12);
  CAPTURE(to_string(dtype), mlp);
  const std::string name = mlp ? "block_with_mlp" : "block";
  const Golden golden("encoder");
  Parameters parameters;
  const EncoderBlock block(Scope(parameters, 1, dtype), attention_config, mlp);
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
  const Encoder encoder(Scope(parameters, 1, dtype), 2, attention_config, 12);
  golden.load("encoder", parameters);
  const Tensor x = variable(golden("encoder.x", dtype));
  check_case(golden, "encoder", joined({{"x", x}}, parameters), [&] { return encoder(x, mask).output; });
}

TEST_CASE("What an Encoder gives at one token of each text is that row of its output, and so are the gradients") {
  const int layers = GENERATE(0, 1, 2), mlp = GENERATE(0, 12);
  const Residual last = GENERATE(Residual::no, Residual::yes);
  CAPTURE(layers, mlp, last == Residual::yes);
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1, DType::float64), layers, attention_config, mlp, last);
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
  const Encoder encoder(Scope(parameters, 1), 2, attention_config, 0);
  const Tensor x = ones({2, 5, 8});
  const Ids query({2}, {3, 1});
  CHECK(error(encoder.at(query, x, Mask::causal()).output, select_rows(encoder(x, Mask::causal()).output, query)) ==
        0);  // then all are computed
  CHECK(message([&] { encoder.blocks[0].at(query, x, Mask::causal(), Weights::no); }) ==
        "0: EncoderBlock::at: a causal mask is not the same for all tokens of a text");
  CHECK(message([&] {
          encoder.at(query, x, Mask(Booleans({5, 5}, std::vector<std::uint8_t>(25, 1))));
        }) == "1.attention: attention: a mask of shape (5, 5) does not broadcast to the weights' (2, 2, 1, 5)");
}

TEST_CASE("Encoder gives the weights of each layer, when asked") {
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1), 3, attention_config, 0);
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

TEST_CASE("Norms placed after normalise what a part gives and was given") {
  const Norm::Kind kind = GENERATE(Norm::Kind::layer, Norm::Kind::rms);
  Parameters parameters;
  const Scope scope(parameters, 1, DType::float64);
  const Encoder encoder(scope, 1, {.d_model = 8, .heads = 2}, 12, Residual::yes,
                        {.norm = kind, .activation = Activation::relu, .placement = NormPlacement::after});
  const EncoderBlock& block = encoder.blocks[0];
  Random random(4);
  for (const auto& [name, parameter] : parameters) {  // gains and biases that are not 1 and 0
    Tensor(parameter).copy_from(random_normal(parameter.shape(), random, 0, 1, DType::float64));
  }
  const Tensor x = variable(random_normal({2, 5, 8}, random, 0, 1, DType::float64));
  const Recording recording;
  const auto normed = [&](const Norm& norm, const Tensor& y) {
    return kind == Norm::Kind::rms ? rms_norm(y, norm.gain, norm.eps) : layer_norm(y, norm.gain, norm.bias, norm.eps);
  };
  const Tensor attended = normed(block.attention_norm, x + block.attention(x).output);
  const Tensor y = normed(block.mlp->norm, attended + block.mlp->out(relu(block.mlp->in(attended))));
  const Tensor expected = normed(encoder.norm, y), given = encoder(x).output;
  CHECK(error(given, expected) <= 1e-13);
  const Gradients g = backward(sum(given * x)), h = backward(sum(expected * x));
  for (const auto& [name, parameter] : joined({{"x", x}}, parameters))
    CHECK(error(g[parameter], h[parameter]) <= 1e-12);
  const Ids query({2}, {3, 0});
  CHECK(error(encoder.at(query, x).output, select_rows(given, query)) <= 1e-13);
  const Tensor causal = block(x, Mask::causal(), Weights::no).output;
  KeyValueCache past;
  const NoRecording none;
  for (std::int64_t t = 0; t < 5; ++t) {
    CHECK(error(block.go_on(slice(x, 1, t, t + 1), past), slice(causal, 1, t, t + 1)) <= 1e-13);
  }
}

TEST_CASE("Dropout takes the weights of attention, and what the first layer reads, where it is told to") {
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 1, DType::float64), {.d_model = 6, .heads = 1});
  Random random(5), a = random.stream("dropout"), b = a;
  const Tensor x = variable(random_normal({2, 4, 6}, random, 0, 1, DType::float64));
  const Recording recording;
  const Dropout drop{.random = &a, .attention = 0.4};
  const AttentionResult given = layer(x, Mask::causal(), Weights::yes, drop);
  const Tensor Q = layer.queries_of(x), K = layer.keys_of(x), V = reshape(layer.W_V(x), {2, 1, 4, 6});
  const Tensor dropped = dropout(attention(Q, K, V, Mask::causal(), Weights::yes).weights, 0.4, b);
  const Tensor expected = layer.W_O(reshape(matmul(dropped, V), {2, 4, 6}));
  CHECK(error(given.output, expected) <= 1e-13);
  CHECK(error(given.weights, dropped.detach()) <= 1e-13);
  CHECK(min(dropped).item() == 0);
  CHECK(error(backward(sum(given.output))[x], backward(sum(expected))[x]) <= 1e-12);
  CHECK(message([&] { layer(x, {}, Weights::no, {.random = &a, .attention = -1}); }) ==
        "dropout: p must lie in [0, 1), got -1");

  const Reader reader(Scope(parameters, 2) / "reader",
                      {.vocabulary = 7, .max_length = 4, .predicts = Predicts::next, .attention = {.d_model = 6}});
  const Ids tokens({1, 3}, {1, 5, 2});
  b = a;
  const Tensor read = dropout(reader.embed({tokens, {3}, {}, {}}), 0.5, b);
  const Tensor logits = matmul(reader.encoder(read, Mask::causal()).output, transpose(reader.unembedding));
  CHECK(error(reader.next(tokens, {.random = &a, .embedding = 0.5}), logits.detach()) <= 1e-6);
  CHECK(error(reader.next(tokens), logits.detach()) > 1e-3);
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

TEST_CASE("A block with rotary positions is not computed at one token, and one of no known activation not at all") {
  Parameters parameters;
  AttentionConfig turned = attention_config;
  turned.rotary = 8;
  const EncoderBlock block(Scope(parameters, 1) / "turned", turned, 0);
  const Tensor x = ones({2, 5, 8});
  CHECK(message([&] {
          block.at(Ids({2}, {3, 1}), x, mask, Weights::no);
        }) == "turned: EncoderBlock::at: tokens that are turned by their positions are computed with the others");
  const EncoderBlock other(Scope(parameters, 1) / "other", attention_config, 12, Residual::yes,
                           {.activation = static_cast<Activation>(99)});
  CHECK(message([&] { other(x, mask, Weights::no); }) == "other: Mlp: 99 is no activation");
}
