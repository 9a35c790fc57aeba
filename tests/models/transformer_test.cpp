#include "tests/golden.h"
#include "tests/message.h"

#include <heed/models/transformer.h>

#include <fmt/format.h>

using namespace heed;

namespace {

// Returns a configuration without a vocabulary, for inputs that are vectors.
TransformerConfig of_vectors(int layers, int mlp, bool last = true) {
  return {.layers = layers,
          .positions = Positions::none,
          .block = {.attention = {.d_model = 8, .heads = 2, .bias = true}, .mlp = {.width = mlp}},
          .last_residual = last};
}

const Mask padding_mask = Mask::padding(std::vector{5, 3}, 5);

// Returns the parameters under their names without "encoder.".
Parameters unscoped(const Parameters& parameters) {
  Parameters result;
  for (const auto& [name, value] : parameters) result.add(name.substr(std::string("encoder.").size()), value);
  return result;
}

}  // namespace

TEST_CASE("The blocks and final norm of a Transformer and their gradients match PyTorch") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  const Golden golden("encoder");
  Parameters parameters;
  const Transformer transformer(Scope(parameters, 1, dtype), of_vectors(2, 12));
  Parameters inner = unscoped(parameters);
  golden.load("encoder", inner);
  const Tensor x = variable(golden("encoder.x", dtype));
  check_case(golden, "encoder", joined({{"x", x}}, inner), [&] { return transformer(x, padding_mask).output; });
}

TEST_CASE("Transformer::at gives the output and gradients of the whole text at one token") {
  const int layers = GENERATE(0, 1, 2), mlp = GENERATE(0, 12);
  const bool last = GENERATE(false, true);
  CAPTURE(layers, mlp, last);
  Parameters parameters;
  const Transformer transformer(Scope(parameters, 1, DType::float64), of_vectors(layers, mlp, last));
  const Tensor x = variable(Golden("encoder")("encoder.x"));
  const Ids query({2}, {3, 1});
  const auto differentiated = [&](auto output_of) {
    const Recording recording;
    const Tensor output = output_of();
    return std::pair(output.detach(), backward(sum(square(output + 1.0))));
  };
  const auto [rows, expected] = differentiated([&] { return select_rows(transformer(x, padding_mask).output, query); });
  const auto [at, gradients] = differentiated([&] { return transformer.at(query, x, padding_mask).output; });
  CHECK(error(at, rows) <= 1e-14);
  for (const auto& [name, variable] : joined({{"x", x}}, parameters)) {
    CAPTURE(name);
    CHECK(error(gradients[variable], expected[variable]) <= 1e-12);
  }
  CHECK(transformer.at(query, x, padding_mask).weights.empty());
  const Hidden all = transformer(x, padding_mask, {.weights = true}),
               some = transformer.at(query, x, padding_mask, {.weights = true});
  CHECK(all.last_input.defined() == (layers > 0));
  if (layers > 0) CHECK(some.last_input.to_vector() == all.last_input.to_vector());
  REQUIRE(some.weights.size() == all.weights.size());
  for (std::size_t layer = 0; layer < all.weights.size(); ++layer) {
    for (const std::int64_t b : {0, 1}) {
      const Tensor row = slice(slice(all.weights[layer], 0, b, b + 1), 2, query[b], query[b] + 1);
      CHECK(error(slice(some.weights[layer], 0, b, b + 1), reshape(row, {1, 2, 5})) <= 1e-14);
    }
  }
}

TEST_CASE("Transformer::at computes all tokens when their masks differ") {
  Parameters parameters;
  const Transformer transformer(Scope(parameters, 1), of_vectors(2, 0));
  const Tensor x = ones({2, 5, 8});
  const Ids query({2}, {3, 1});
  CHECK(error(transformer.at(query, x, Mask::causal()).output,
              select_rows(transformer(x, Mask::causal()).output, query)) == 0);
  CHECK(message([&] {
          transformer.at(query, x, Mask(Booleans({5, 5}, std::vector<std::uint8_t>(25, 1))));
        }) == "encoder.1.attention: attention: a mask of shape (5, 5) does not broadcast to the weights' (2, 2, 1, 5)");
}

TEST_CASE("A Transformer returns the attention weights of each layer on request") {
  Parameters parameters;
  const Transformer transformer(Scope(parameters, 1), of_vectors(3, 0));
  const Tensor x = ones({2, 5, 8});
  CHECK(transformer(x, padding_mask).weights.empty());
  const Hidden hidden = transformer(x, padding_mask, {.weights = true});
  REQUIRE(hidden.weights.size() == 3);
  for (const Tensor& weights : hidden.weights) {
    CHECK(weights.shape() == Shape{2, 2, 5, 5});
    CHECK(error(sum(weights, {-1}), ones({2, 2, 5})) <= 1e-6);
    CHECK(weights.at({1, 0, 2, 3}) == 0);  // beyond the second text's 3 tokens
  }
}

TEST_CASE("The parameters of a Transformer are named by layer and role") {
  Parameters parameters;
  TransformerConfig config = of_vectors(2, 12);
  config.block.attention.bias = false;
  const Transformer transformer(Scope(parameters, 1), config);
  CHECK(parameters.size() == 2 * 13 + 2);
  for (const char* name :
       {"encoder.0.attention_norm.gain", "encoder.0.attention.W_Q.weight", "encoder.1.attention.W_O.bias",
        "encoder.1.mlp.norm.bias", "encoder.1.mlp.in.weight", "encoder.0.mlp.out.bias", "encoder.norm.gain"}) {
    CAPTURE(name);
    CHECK(parameters.contains(name));
  }
  Parameters all;
  config.positions = Positions::learned, config.vocabulary = 9, config.max_length = 6, config.segments = 2,
  config.position_offset = 2, config.layers = 0;
  config.embedding_norm = true, config.final_norm = false;
  const Transformer whole(Scope(all, 1), config);
  std::vector<std::string> names;
  for (const auto& [name, value] : all) names.push_back(name + " " + to_string(value.shape()));
  CHECK(names == std::vector<std::string>{"words.weight (9, 8)", "positions.weight (8, 8)", "sentences.weight (2, 8)",
                                          "embedding_norm.gain (8)", "embedding_norm.bias (8)"});
}

TEST_CASE("gpt2(), bert() and llama() have the parameters of these architectures") {
  const auto names = [](TransformerConfig config) {
    config.vocabulary = 9, config.max_length = 6;
    Parameters parameters;
    const Transformer transformer(Scope(parameters, 1), config);
    std::vector<std::string> result;
    for (const auto& [name, value] : parameters) result.push_back(name + " " + to_string(value.shape()));
    return result;
  };
  const TransformerConfig of_gpt2 = gpt2(1, 2, 8), of_bert = bert(1, 2, 8), of_llama = llama(1, 4, 2, 8, 12);
  CHECK((of_gpt2.causal && of_llama.causal && !of_bert.causal));
  CHECK(of_gpt2.block.mlp.activation == Activation::gelu_tanh);
  CHECK(of_bert.block.mlp.activation == Activation::gelu);
  CHECK(of_bert.block.placement == NormPlacement::after);
  CHECK((of_gpt2.block.norm.epsilon == 1e-5 && of_bert.block.norm.epsilon == 1e-12));
  const std::vector<std::string> attention{"encoder.0.attention_norm.gain (8)",     "encoder.0.attention_norm.bias (8)",
                                           "encoder.0.attention.W_Q.weight (8, 8)", "encoder.0.attention.W_Q.bias (8)",
                                           "encoder.0.attention.W_K.weight (8, 8)", "encoder.0.attention.W_K.bias (8)",
                                           "encoder.0.attention.W_V.weight (8, 8)", "encoder.0.attention.W_V.bias (8)",
                                           "encoder.0.attention.W_O.weight (8, 8)", "encoder.0.attention.W_O.bias (8)",
                                           "encoder.0.mlp.norm.gain (8)",           "encoder.0.mlp.norm.bias (8)",
                                           "encoder.0.mlp.in.weight (8, 32)",       "encoder.0.mlp.in.bias (32)",
                                           "encoder.0.mlp.out.weight (32, 8)",      "encoder.0.mlp.out.bias (8)"};
  std::vector<std::string> expected{"words.weight (9, 8)", "positions.weight (6, 8)", "encoder.norm.gain (8)",
                                    "encoder.norm.bias (8)"};
  expected.insert(expected.end(), attention.begin(), attention.end());
  CHECK(names(of_gpt2) == expected);
  expected = {"words.weight (9, 8)", "positions.weight (6, 8)", "sentences.weight (2, 8)", "embedding_norm.gain (8)",
              "embedding_norm.bias (8)"};
  expected.insert(expected.end(), attention.begin(), attention.end());
  CHECK(names(of_bert) == expected);
  CHECK(names(of_llama) ==
        std::vector<std::string>{"words.weight (9, 8)", "encoder.norm.gain (8)", "encoder.0.attention_norm.gain (8)",
                                 "encoder.0.attention.W_Q.weight (8, 8)", "encoder.0.attention.W_K.weight (8, 4)",
                                 "encoder.0.attention.W_V.weight (8, 4)", "encoder.0.attention.W_O.weight (8, 8)",
                                 "encoder.0.mlp.norm.gain (8)", "encoder.0.mlp.gate.weight (8, 12)",
                                 "encoder.0.mlp.in.weight (8, 12)", "encoder.0.mlp.out.weight (12, 8)"});
}

TEST_CASE("A Transformer rejects impossible configurations and texts") {
  Parameters parameters;
  int made = 0;
  const auto make = [&](const TransformerConfig& config) {
    return message([&] { Transformer(Scope(parameters, 1) / std::to_string(++made), config); });
  };
  CHECK(make(of_vectors(-1, 0)) == "Transformer: expected at least 0 layers, got -1");
  TransformerConfig config = of_vectors(1, 0);
  config.block.residual_scale = std::numeric_limits<double>::infinity();
  CHECK(make(config) == "TransformerBlock: residual_scale must be finite, got inf");
  const Transformer vectors(Scope(parameters, 1) / "vectors", of_vectors(1, 0));
  CHECK(message([&] {
          vectors({Ids({1, 2}, {0, 1})});
        }) == "vectors: Transformer: without a vocabulary, call it with vectors (B, T, 8)");
  CHECK(message([&] {
          vectors.at(Ids({1}, {7}), ones({1, 2, 8}), Mask::causal());
        }).starts_with("vectors: select_rows: "));
  config = of_vectors(1, 0);
  config.positions = Positions::learned, config.vocabulary = 9, config.max_length = 6;
  const Transformer transformer(Scope(parameters, 1) / "tokens", config);
  CHECK(message([&] {
          transformer({Ids({1, 7}, std::vector<std::int32_t>(7, 1))});
        }) == "tokens.positions: LearnedPositions: the text has 7 tokens, but max_length is 6");
  CHECK(message([&] {
          transformer({.tokens = Ids({2, 1}, {1, 1}), .lengths = {1}});
        }) == "tokens: Transformer: expected tokens (B, T) and B lengths, got (2, 1) and 1 lengths");
  Cache cache;
  CHECK(message([&] {
          transformer.append(Ids({1, 1}, {1}), cache);
        }) == "tokens: Transformer::append: the model is not causal");
  config.causal = true;
  const Transformer causal(Scope(parameters, 1) / "causal", config);
  CHECK(message([&] { causal.append(Ids({1}, {1}), cache); }) ==
        "causal: Transformer::append: expected tokens (B, T), got (1)");
  cache.resize(static_cast<std::size_t>(config.layers) + 1);
  for (KeyValueCache& layer : cache) layer.append(zeros({1, 1, 1, 2}), zeros({1, 1, 1, 2}));
  CHECK(message([&] {
          causal.append(Ids({1, 1}, {1}), cache);
        }) == fmt::format("causal: Transformer::append: expected a cache of {} layers, got one of {}", config.layers,
                          config.layers + 1));
}

TEST_CASE("A Transformer of vectors knows their positions") {
  TransformerConfig config = of_vectors(1, 12);
  config.positions = GENERATE(Positions::learned, Positions::sinusoidal, Positions::rotary, Positions::none);
  config.max_length = 4;
  CAPTURE(name_of(config.positions));
  Parameters parameters;
  const Transformer transformer(Scope(parameters, 1, DType::float64), config);
  Random random(1);
  const Tensor x = random_normal({1, 4, 8}, random, 0, 1, DType::float64);
  const Tensor swapped = index_select(x, Ids({4}, {0, 2, 1, 3}), 1);
  const Tensor y = transformer(x, {}).output, other = transformer(swapped, {}).output;
  const double difference = max(abs(index_select(other, Ids({4}, {0, 2, 1, 3}), 1) - y)).item();
  CHECK((difference < 1e-12) == (config.positions == Positions::none));
  CHECK(error(transformer.at(Ids({1}, {2}), x, {}).output, select_rows(y, Ids({1}, {2}))) < 1e-12);
  CHECK(message([&] {
          transformer(concat({x, x}, 1), {});
        }) == "Transformer: the input has 8 vectors, but max_length is 4");
  CHECK(message([&] {
          transformer(zeros({1, 4, 7}), {});
        }) == "Transformer: expected vectors (B, T, 8), got (1, 4, 7)");
  config = of_vectors(1, 12);
  config.positions = Positions::learned;
  CHECK(message([&] { Transformer(Scope(parameters, 1) / "other", config); }) ==
        "Transformer: learned positions need max_length, the number of tokens in the longest text, got 0; choose "
        "Positions::none for a model without positions");
}

TEST_CASE("A causal Transformer is causal whatever the mask") {
  TransformerConfig config = of_vectors(2, 12);
  config.causal = true;
  Parameters parameters;
  const Transformer transformer(Scope(parameters, 1, DType::float64), config);
  const Tensor x = Golden("encoder")("encoder.x");
  CHECK(transformer(x, {}).output.to_vector() == transformer(x, Mask::causal()).output.to_vector());
  const Tensor first = slice(x, 1, 0, 2);
  CHECK(error(transformer(first, {}).output, slice(transformer(x, {}).output, 1, 0, 2)) < 1e-12);
  CHECK(error(transformer.at(Ids({2}, {1, 1}), x, {}).output, transformer(first, {}).output.view({2, 8}, {16, 1}, 8)) <
        1e-12);
}
