#include "formats/internal/config_json.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/random_models.h"
#include "tests/models/sample.h"

#include <heed/explain/residual_parts.h>

#include <fmt/ranges.h>

using namespace heed;

namespace {

// Returns only the first text of random_batch(), with 6 tokens.
Batch one_question(std::uint64_t seed) {
  const Batch both = random_batch(14, Random(seed));
  const auto first = [](const Ids& ids, const Shape& shape) {
    return Ids(shape, {ids.data(), ids.data() + shape.numel()});
  };
  return {.tokens = first(both.tokens, {1, 6}),
          .lengths = {6},
          .segments = first(both.segments, {1, 6}),
          .query = first(both.query, {1}),
          .candidates = first(both.candidates, {1, 3, 2})};
}

std::string told(const ResidualParts& parts) {
  std::string text;
  for (const ResidualPart& part : parts.names()) {
    text += part.what;
    for (const int number : {part.layer, part.head, part.token}) text += number >= 0 ? fmt::format(" {}", number) : "";
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("ResidualParts sum to the residual stream at every layer and token, for random configurations") {
  RandomConfig draw(4);
  for (int i = 0; i < 150; ++i) {
    const ModelConfig config = draw(14);
    CAPTURE(i, format_json(to_json(config)));
    Parameters parameters;
    const Model model = Model(Scope(parameters, 1, DType::float64), config);
    shake_all(parameters);
    const Transformer& transformer = model.transformer();
    const Batch asked = one_question(static_cast<std::uint64_t>(i));
    const Trace seen = trace(model, asked);
    for (int layer = 0; layer <= transformer.config.layers; ++layer) {
      const Tensor& stream = layer < transformer.config.layers
                                 ? seen.layers[static_cast<std::size_t>(layer)].residual_in
                                 : seen.layers.back().residual_out;
      const ResidualParts parts(transformer, asked, seen, layer),
          summed(transformer, asked, seen, layer, Sources::summed);
      for (int token = 0; token < 6; ++token) {
        const Tensor rows = parts.of(token);
        CAPTURE(layer, token);
        REQUIRE(rows.shape() == Shape{std::ssize(parts.names()), 8});
        const Tensor fewer = summed.of(token);
        REQUIRE(fewer.shape() == Shape{std::ssize(summed.names()), 8});
        const Tensor difference = sum(fewer, {0}) - sum(rows, {0});
        REQUIRE(max(abs(difference)).item() < 1e-9);
        CHECK(error(sum(rows, {0}), reshape(slice(stream, 1, token, token + 1), {8})) <= 1e-6);
      }
    }
  }
}

TEST_CASE("Residual parts are named after the component that writes them, in the order of the rows") {
  TransformerConfig shape = small_config(Positions::learned, Tie::none, false, 3);
  shape.vocabulary = 14;
  shape.block.attention.heads = 1;
  Parameters parameters;
  const Batch asked{
      .tokens = Ids({1, 2}, {1, 2}), .lengths = {2}, .segments = Ids({1, 2}, {1, 0}), .query = Ids({1}, {1})};
  const auto names = [&](const ModelConfig& config, int layer) {
    parameters = Parameters();
    const Model model = Model(Scope(parameters, 1), config);
    const Trace seen = trace(model, asked);
    return told(ResidualParts(model.transformer(), asked, seen, layer));
  };
  CHECK(names(answerer_of(shape), 0) == "token\nposition\nsentence\n");
  CHECK(names(answerer_of(shape), 1) == "token\nposition\nsentence\nhead 0 0 0\nhead 0 0 1\nW_O bias 0\nMLP 0\n");
  CHECK(names(answerer_of(shape), 2) == "head 1 0 0\nhead 1 0 1\nW_O bias 1\nMLP 1\n");  // without the residual
  shape.embedding_norm = true;
  shape.block.placement = NormPlacement::after;
  CHECK(names(decoder_of(shape), 1) ==
        "token\nposition\nsentence\nnorm bias\nhead 0 0 0\nhead 0 0 1\nW_O bias 0\nnorm bias 0\nMLP 0\nnorm bias 0\n");
  shape.positions = Positions::rotary;
  shape.block.attention.d_k = 4;
  shape.block.placement = NormPlacement::both;
  shape.block.attention.output_bias = false;
  CHECK(names(decoder_of(shape), 1) == "token\nsentence\nnorm bias\nhead 0 0 0\nhead 0 0 1\nnorm bias 0\nMLP 0\n");
}

TEST_CASE("The residual parts before layer 0 are the scaled word vector and the position") {
  Parameters parameters;
  TransformerConfig shape = small_config();
  shape.vocabulary = 14;
  shape.position_offset = 2;
  const Model model = Model(Scope(parameters, 1, DType::float64), answerer_of(shape));
  const Batch asked{.tokens = Ids({1, 2}, {3, 5}), .query = Ids({1}, {1})};
  const Trace seen = trace(model, asked);
  const Tensor rows = ResidualParts(model.transformer(), asked, seen, 0).of(1);
  CHECK(error(slice(rows, 0, 0, 1), slice(parameters["words.weight"], 0, 5, 6) * std::sqrt(8.0)) <= 1e-14);
  CHECK(error(slice(rows, 0, 1, 2), slice(parameters["positions.weight"], 0, 3, 4)) <= 1e-14);
}

TEST_CASE("ResidualParts requires one text and an existing layer") {
  Parameters parameters;
  TransformerConfig shape = small_config();
  shape.vocabulary = 14;
  const Model model = Model(Scope(parameters, 1), answerer_of(shape));
  const Batch one{.tokens = Ids({1, 2}, {3, 5}), .query = Ids({1}, {1})};
  const Batch two{.tokens = Ids({2, 2}, {3, 5, 1, 2}), .query = Ids({2}, {1, 1})};
  const Trace of_one = trace(model, one), of_two = trace(model, two);
  const auto said = [&](const Batch& asked, const Trace& seen, int layer) {
    return message([&] { ResidualParts(model.transformer(), asked, seen, layer); });
  };
  CHECK(said(one, of_one, 3) == "ResidualParts: expected one text and a layer from 0 to 2, got 1 text and layer 3");
  CHECK(said(one, of_one, -1) == "ResidualParts: expected one text and a layer from 0 to 2, got 1 text and layer -1");
  CHECK(said(two, of_two, 0) == "ResidualParts: expected one text and a layer from 0 to 2, got 2 texts and layer 0");
}
