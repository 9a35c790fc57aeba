#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/random_models.h"
#include "tests/models/sample.h"

#include <heed/autograd/ops.h>
#include <heed/explain/token_circuits.h>
#include <heed/explain/trace.h>

using namespace heed;

TEST_CASE("The QK circuit equals the first layer's scores without positions, minus the row means") {
  const Model model = in_float64(small_model(Positions::none));
  shake_all(model.parameters);
  const std::vector<std::int32_t> tokens{3, 1, 4, 2};
  const Batch asked{.tokens = Ids({1, 4}, tokens), .lengths = {4}, .query = Ids({1}, {3})};
  const Trace seen = trace(model, asked);
  const TokenCircuits found = token_circuits(model, Ids({4}, tokens), 0, 1);
  const Tensor scores = reshape(slice(seen.layers[0].scores, 1, 1, 2), {4, 4});
  const std::vector<double> expected = (scores - mean(scores, {-1}, true)).to_vector(),
                            values = found.attends.to_vector();
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(values[i] == Approx(expected[i]).margin(1e-9));
}

TEST_CASE("The OV circuits of all heads sum to the logits of a model that reads one token") {
  // The last layer has no residual connection and no bias: with one token, its state is the output of the heads.
  TransformerConfig config = small_config(Positions::none);
  config.layers = 1;
  config.final_norm = false;
  config.block.mlp.width = 0;
  config.block.attention.output_bias = false;
  config.block.residual_scale = 0.5;
  const Model model = in_float64(small_model(answerer_of(config)));
  shake_all(model.parameters);
  const Batch asked{.tokens = Ids({1, 1}, {5}), .lengths = {1}, .query = Ids({1}, {0})};
  Tensor logits = model.logits(asked);  // (1, vocabulary)
  const Tensor& bias = model.head().unembedding->bias;
  if (bias.defined()) logits = logits - bias;
  Tensor raised;
  for (int head = 0; head < model.heads(); ++head) {
    const Tensor one = token_circuits(model, Ids({1}, {5}), 0, head).raises;
    raised = raised.defined() ? raised + one : one;
  }
  const std::vector<double> expected = (logits - mean(logits, {-1}, true)).to_vector(), values = raised.to_vector();
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(values[i] == Approx(expected[i]).margin(1e-9));
}

TEST_CASE("token_circuits rejects a head that the model does not have") {
  const Model model = small_model();
  CHECK(message([&] { token_circuits(model, Ids({1}, {0}), 2, 0); }) ==
        "token_circuits: no layer 2 head 0 in a model of 2 layers with 2 heads (from 0)");
}
