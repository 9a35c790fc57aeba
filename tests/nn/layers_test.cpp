#include "tests/golden.h"
#include "tests/message.h"

#include <heed/nn/block.h>
#include <heed/nn/layers.h>
#include <heed/nn/norm.h>
#include <heed/nn/positions.h>

using namespace heed;

TEST_CASE("Layers and their gradients match PyTorch") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  const Golden golden("layers");
  Parameters parameters;
  const Scope scope(parameters, 1, dtype);
  const auto x = [&](const std::string& name) { return variable(golden(name + ".x", dtype)); };

  SECTION("Linear") {
    const Linear layer(scope, 4, 5);
    golden.load("linear", parameters);
    const Tensor input = x("linear");
    check_case(golden, "linear", joined({{"x", input}}, parameters), [&] { return layer(input); });
  }
  SECTION("Linear without bias") {
    const Linear layer(scope, 4, 5, {.bias = false});
    CHECK(parameters.size() == 1);
    golden.load("linear_without_bias", parameters);
    const Tensor input = x("linear_without_bias");
    check_case(golden, "linear_without_bias", joined({{"x", input}}, parameters), [&] { return layer(input); });
  }
  SECTION("Embedding") {
    const Embedding layer(scope, 6, 3);
    golden.load("embedding", parameters);
    check_case(golden, "embedding", joined({}, parameters), [&] { return layer(Ids({2, 2}, {2, 0, 2, 5})); });
  }
  SECTION("LayerNorm") {
    const Norm layer(scope, 6, {.epsilon = 1e-3});
    golden.load("layer_norm", parameters);
    const Tensor input = x("layer_norm");
    check_case(golden, "layer_norm", joined({{"x", input}}, parameters), [&] { return layer(input); });
  }
  SECTION("LearnedPositions") {
    const LearnedPositions layer(scope, 5, 4);
    golden.load("learned_positions", parameters);
    const Tensor input = x("learned_positions");
    check_case(golden, "learned_positions", joined({{"x", input}}, parameters), [&] { return layer(input); });
  }
  SECTION("sinusoidal positions") {
    CHECK(error(sinusoidal_positions(50, 8, dtype), golden("sinusoidal")) <= tolerance(dtype));
  }
}

TEST_CASE("Sinusoidal positions of an odd width end with a sine") {
  const Tensor all = sinusoidal_positions(3, 3, DType::float64);
  CHECK(all.shape() == Shape{3, 3});
  CHECK(all.at({2, 2}) == Approx(std::sin(2 / std::pow(10000.0, 2.0 / 3))));
}

TEST_CASE("LearnedPositions rejects a text longer than max_length") {
  Parameters parameters;
  const LearnedPositions positions(Scope(parameters, 1), 5, 4);
  CHECK(message([&] {
          positions(zeros({1, 6, 4}));
        }) == "LearnedPositions: the text has 6 tokens, but max_length is 5");
}

TEST_CASE("LearnedPositions with an offset reads later rows") {
  Parameters parameters, plain_parameters;
  const LearnedPositions positions(Scope(parameters, 1, DType::float64), 5, 4, 1, 2);
  const LearnedPositions plain(Scope(plain_parameters, 1, DType::float64), 7, 4);
  CHECK(parameters["weight"].to_vector() == plain_parameters["weight"].to_vector());
  const Tensor x = zeros({1, 3, 4}, DType::float64);
  CHECK(positions(x).to_vector() == plain(x, 2).to_vector());
  CHECK(positions(x, 2).to_vector() == plain(x, 4).to_vector());
  CHECK(message([&] { positions(x, 3); }) == "LearnedPositions: the text has 6 tokens, but max_length is 5");
}

TEST_CASE("The linear form of a Linear layer equals the layer, or a range of its columns") {
  Parameters parameters;
  const Linear layer(Scope(parameters, 1, DType::float64), 3, 5);
  Tensor(parameters["bias"]).copy_from(tensor({5}, {1, 2, 3, 4, 5}));
  const Tensor parts = tensor({2, 3}, {1, -2, 3, 0.5, 4, -1}, DType::float64), y = layer(sum(parts, {0}));
  const auto total = [&](const Linearised& form) { return sum(form.linear(parts), {0}) + form.constant; };
  CHECK(error(total(layer.linearised()), y) <= 1e-14);
  CHECK(error(total(layer.linearised(1, 4)), slice(y, 0, 1, 4)) <= 1e-14);
  const Linear without(Scope(parameters, 1) / "without", 3, 5, {.bias = false});
  CHECK_FALSE(without.linearised().constant.defined());
}

TEST_CASE("Linearised::then composes two linear forms") {
  const auto scaled = [](double factor, const Tensor& constant) {
    return Linearised{[factor](const Tensor& parts) { return parts * factor; }, constant};
  };
  const Tensor parts = ones({1, 2});
  const Tensor first = tensor({2}, {1, 2}), second = tensor({2}, {10, 20});
  const Linearised both = scaled(3, first).then(scaled(2, second));
  CHECK(both.linear(parts).to_vector() == std::vector<double>{6, 6});
  CHECK(both.constant.to_vector() == std::vector<double>{12, 24});
  CHECK(scaled(3, first).then(scaled(2, {})).constant.to_vector() == std::vector<double>{2, 4});
  CHECK(scaled(3, {}).then(scaled(2, second)).constant.to_vector() == std::vector<double>{10, 20});
  CHECK_FALSE(scaled(3, {}).then(scaled(2, {})).constant.defined());
}

TEST_CASE("Layers of size 0 throw an Error that names the parameter, and add none") {
  Parameters parameters;
  const Scope scope = Scope(parameters, 1) / "layer";
  const auto refused = [](const std::string& name, const std::string& shape) {
    return fmt::format("parameter '{}': every size must be positive, got {}", name, shape);
  };
  CHECK(message([&] { Linear(scope, 0, 2); }) == refused("layer.weight", "(0, 2)"));
  CHECK(message([&] { Linear(scope, 2, -1); }) == refused("layer.weight", "(2, -1)"));
  CHECK(message([&] { Embedding(scope, 0, 3); }) == refused("layer.weight", "(0, 3)"));
  CHECK(message([&] { Norm(scope, 0); }) == refused("layer.gain", "(0)"));
  CHECK(message([&] { LearnedPositions(scope, -5, 4); }) == refused("layer.weight", "(-5, 4)"));
  CHECK(message([&] { Linear(scope / "huge", 1 << 30, 1 << 30); }) ==
        "parameter 'layer.huge.weight': 4611686018427387904 bytes are more than this machine can address");
  CHECK(message([&] { sinusoidal_positions(1'000'000'000, 1'000'000'000); }).starts_with("sinusoidal_positions: "));
  CHECK(message([&] { sinusoidal_positions(-1, 4); }) == "sinusoidal_positions: sizes must be positive, got (-1, 4)");
  CHECK(parameters.size() == 0);
}

TEST_CASE("Rows of an embedding that are trained alone get the steps of the whole table") {
  std::vector<Tensor> tables;
  const Ids ids({4, 1, 4});
  for (const bool by_row : {true, false}) {
    Parameters parameters;
    const Embedding words(Scope(parameters, 1), 6, 3);
    if (by_row) parameters.freeze("");
    const Tensor rows = by_row ? variable(words(ids)) : Tensor();
    Gradients gradients;
    {
      const Recording recording;
      gradients = backward(sum(square(sin(by_row ? rows : words(ids)))));
    }
    if (by_row) {
      for (std::int64_t i = 0; i < ids.numel(); ++i) {
        const Tensor row = words.weight[ids[i]];
        row.copy_from(row - 0.1 * gradients[rows][i]);
      }
    } else {
      words.weight.copy_from(words.weight - 0.1 * gradients[words.weight]);
    }
    tables.push_back(words.weight.clone());
  }
  CHECK(max(abs(tables[0] - tables[1])).item() < 1e-6);
}

TEST_CASE("Embeddings reject a deviation that is negative or not finite") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  CHECK(message([&] { Embedding(scope, 2, 3, -1); }) ==
        "parameter 'weight': the deviation of its Init must be finite and at least 0, got -1");
  CHECK(message([&] { LearnedPositions(scope, 2, 3, std::nan("")); }) ==
        "parameter 'weight': the deviation of its Init must be finite and at least 0, got nan");
}

TEST_CASE("An Init that gives no finite numbers is refused") {
  const Tensor w = variable(ones({2, 2}));
  Random random(1);
  const auto error = [&](Init init) { return message([&] { assign(w, init, random); }); };
  CHECK(error(Init::uniform(-1)).ends_with("the bound of its Init must be finite and at least 0, got -1"));
  CHECK(error(Init::kaiming_uniform(1e200)).ends_with("the gain of its Init must be finite and at least 0, got inf"));
  CHECK(error(Init::orthogonal(std::nan(""))).ends_with("the gain of its Init must be finite, got nan"));
  CHECK(error(Init::orthogonal(-1)) == "no error");
  CHECK(message([] { static_cast<void>(Init::xavier(0, 0)); }) ==
        "Init::xavier: fans must be at least 0, and one of them above 0, got 0 and 0");
}

TEST_CASE("An error within a layer begins with the layer's name, once") {
  Parameters parameters;
  const Scope scope = Scope(parameters, 1) / "decoder" / 3;
  const std::string linear = "linear: inner dimensions must match: (2, 5) x (4, 6): 5 != 4";
  const Linear out(scope / "out", 4, 6);
  CHECK(message([&] { out(ones({2, 5})); }) == "decoder.3.out: " + linear);
  CHECK(message([&] { Linear(Scope(parameters, 1), 4, 6)(ones({2, 5})); }) == linear);
  CHECK(message([&] { Embedding(scope / "words", 2, 3)(Ids({1}, {2})); }) ==
        "decoder.3.words: embedding: id 2 at position 0 lies outside [0, 2)");
  CHECK(message([&] {
          LearnedPositions(scope / "positions", 5, 4)(zeros({1, 6, 4}));
        }) == "decoder.3.positions: LearnedPositions: the text has 6 tokens, but max_length is 5");
  CHECK(message([&] {
          Mlp(scope / "mlp", 4, {.width = 8, .activation = Activation::silu, .gated = true})(ones({2, 5}));
        }).starts_with("decoder.3.mlp."));

  const MultiHeadAttention attention(scope / "attention", {.d_model = 4});
  CHECK(message([&] {
          attention(ones({1, 2, 3}));
        }) == "decoder.3.attention: MultiHeadAttention: expected x (B, T, 4), got (1, 2, 3)");
  const TransformerBlock block(scope / 0, {.attention = {.d_model = 4}, .mlp = {.width = 8}});
  CHECK(message([&] {
          block.at(Ids({1}, {0}), ones({1, 2, 4}), Mask::causal(), {});
        }).starts_with("decoder.3.0: TransformerBlock::at: "));
  CHECK(message([&] { block(ones({1, 2, 3}), {}, {}); }).starts_with("decoder.3.0.attention_norm: layer_norm: "));
  CHECK(message([&] { fail("none is open"); }) == "none is open");
}
