#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/sample.h"

#include <heed/autograd/machine.h>
#include <heed/optim/clip.h>
#include <heed/optim/optimizer.h>

#include <array>
#include <thread>

using namespace heed;

namespace {

const TransformerConfig answering_shape{
    .vocabulary = 9, .max_length = 6, .layers = 2, .block = {.attention = {.d_model = 8, .heads = 2}}};

std::vector<std::string> names_in(const Parameters& parameters) {
  std::vector<std::string> result;
  for (const auto& [name, value] : parameters) result.push_back(name);
  return result;
}

Batch asking(const Ids& tokens, std::vector<int> lengths, const Ids& query, const Ids& segments = {}) {
  return {.tokens = tokens, .lengths = std::move(lengths), .segments = segments, .query = query};
}

}  // namespace

TEST_CASE("The configuration of a word answerer determines its parameters") {
  TransformerConfig config = answering_shape;
  config.layers = 0;
  config.segments = 3;
  Parameters all, few, untied;
  const Model with_all(Scope(all, 1), answerer_of(config));
  CHECK(names_in(all) == std::vector<std::string>{"words.weight", "positions.weight", "sentences.weight",
                                                  "encoder.norm.gain", "encoder.norm.bias", "output_bias"});
  config.segments = 0;
  config.positions = Positions::sinusoidal;
  const Model with_few(Scope(few, 1), answerer_of(config));
  CHECK(names_in(few) ==
        std::vector<std::string>{"words.weight", "encoder.norm.gain", "encoder.norm.bias", "output_bias"});
  const Model with_matrix(Scope(untied, 1), word_answerer(config, {.tied = false}));
  CHECK(names_in(untied) ==
        std::vector<std::string>{"words.weight", "encoder.norm.gain", "encoder.norm.bias", "unembedding"});
}

TEST_CASE("Padding and other texts of a batch do not affect a text's logits and weights") {
  Parameters parameters;
  const Model model(Scope(parameters, 1, DType::float64), answerer_of(answering_shape));
  const auto alone = model.run(asking(Ids({1, 3}, {1, 2, 3}), {3}, Ids({1}, {2})), {.weights = true});
  const auto padded =
      model.run(asking(Ids({2, 5}, {1, 2, 3, 8, 7, 5, 4, 3, 2, 1}), {3, 5}, Ids({2}, {2, 0})), {.weights = true});
  CHECK(alone.logits.shape() == Shape{1, 9});
  CHECK(error(slice(padded.logits, 0, 0, 1), alone.logits) <= 1e-14);
  REQUIRE(padded.weights.size() == 2);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const Tensor first = slice(padded.weights[layer], 0, 0, 1);  // (1, heads, 5, 5)
    CHECK(error(slice(slice(first, 2, 0, 3), 3, 0, 3), alone.weights[layer]) <= 1e-14);
  }
}

TEST_CASE("A word answerer gives the same logits when it computes only the query") {
  TransformerConfig config = answering_shape;
  config.layers = GENERATE(0, 1, 2);
  config.block.mlp.width = GENERATE(0, 12);
  config.positions = GENERATE(Positions::learned, Positions::rotary);
  CAPTURE(config.layers, config.block.mlp.width, name_of(config.positions));
  Parameters parameters;
  const Model model(Scope(parameters, 1, DType::float64), answerer_of(config));
  const Batch input = asking(Ids({2, 5}, {1, 2, 3, 8, 7, 5, 4, 3, 2, 1}), {3, 5}, Ids({2}, {2, 0}));
  const ModelOutput output = model.run(input, {.compute = Compute::query, .weights = true});
  CHECK(error(output.logits, model.logits(input)) <= 1e-14);
  REQUIRE(output.weights.size() == static_cast<std::size_t>(config.layers));
  for (const Tensor& weights : output.weights) CHECK(weights.shape() == Shape{2, 2, 5});
}

TEST_CASE("Word order affects the logits only in a model with positions") {
  const Positions positions = GENERATE(Positions::none, Positions::learned, Positions::sinusoidal, Positions::rotary);
  TransformerConfig config = answering_shape;
  config.positions = positions;
  Parameters parameters;
  const Model model(Scope(parameters, 1, DType::float64), answerer_of(config));
  const Tensor logits = model.run(asking(Ids({2, 4}, {1, 2, 3, 4, 3, 1, 2, 4}), {4, 4}, Ids({2}, {3, 3}))).logits;
  const double difference = error(slice(logits, 0, 0, 1), slice(logits, 0, 1, 2));
  CHECK((difference > 1e-3) == (positions != Positions::none));
}

TEST_CASE("A model with sentence embeddings distinguishes sentences") {
  TransformerConfig config = answering_shape;
  config.segments = 2;
  Parameters parameters;
  const Model model(Scope(parameters, 1, DType::float64), answerer_of(config));
  const Ids tokens({2, 3}, {1, 2, 3, 1, 2, 3}), query({2}, {2, 2});
  const Tensor logits = model.run(asking(tokens, {3, 3}, query, Ids({2, 3}, {1, 1, 0, 1, 0, 0}))).logits;
  CHECK(error(slice(logits, 0, 0, 1), slice(logits, 0, 1, 2)) > 1e-3);
}

TEST_CASE("Logits of an untrained word answerer have a variance of about 1") {
  Parameters parameters;
  const Model model(
      Scope(parameters, 1),
      answerer_of(
          {.vocabulary = 400, .max_length = 8, .layers = 2, .block = {.attention = {.d_model = 64, .heads = 4}}}));
  const Tensor logits = model.run(asking(Ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}), {8}, Ids({1}, {4}))).logits;
  CHECK(mean(square(logits)).item() == Approx(1).margin(0.4));
}

TEST_CASE("A word answerer learns to answer four questions") {
  Parameters parameters;
  const Model model(Scope(parameters, 1), answerer_of(answering_shape));
  Optimizer optimizer(parameters, {});
  // The third word determines whether the answer is the first or the second.
  const Batch batch{.tokens = Ids({4, 4}, {1, 2, 5, 7, 1, 2, 6, 7, 2, 1, 5, 7, 2, 1, 6, 7}),
                    .lengths = {4, 4, 4, 4},
                    .query = Ids({4}, {3, 3, 3, 3}),
                    .answer = Ids({4}, {1, 2, 2, 1})};
  CHECK(model.loss(batch).item() == Approx(cross_entropy(model.logits(batch), batch.answer).item()).epsilon(1e-6));
  double last = 0;
  for (int step = 0; step < 150; ++step) {
    const Recording recording;
    const Tensor mean_loss = model.loss(batch);
    optimizer.step(backward(mean_loss), 0.01);
    last = mean_loss.item();
  }
  CHECK(last < 0.02);
}

namespace {

// Returns the parameters of a model after ten steps with dropout on random texts.
std::vector<Tensor> trained_answerer(std::uint64_t seed) {
  TransformerConfig config = answering_shape;
  config.block.mlp.width = 64;
  config.block.attention.d_model = 32;
  Parameters parameters;
  const Model model(Scope(parameters, seed), answerer_of(config));
  Optimizer optimizer(parameters, {});
  Random random(seed);
  for (int step = 0; step < 10; ++step) {
    std::vector<std::int32_t> tokens(64 * 6);
    for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random.below(9));
    const Batch input =
        asking(Ids({64, 6}, tokens), std::vector<int>(64, 6), Ids({64}, std::vector<std::int32_t>(64, 2)));
    const Recording recording;
    const Tensor logits = model.run(input, {.drop = {0.1, &random}}).logits;
    Gradients gradients = backward(cross_entropy(logits, Ids({64}, std::vector<std::int32_t>(64, 3))));
    clip_by_global_norm(gradients, 1);
    optimizer.step(gradients, 0.01);
  }
  std::vector<Tensor> values;
  for (const auto& [name, value] : parameters) values.push_back(value.detach());
  return values;
}

}  // namespace

TEST_CASE("Models trained concurrently on separate threads equal models trained alone") {
  const int before = threads();
  set_threads(2);
  std::array<std::vector<Tensor>, 3> together;
  std::vector<std::thread> crowd;
  for (std::size_t i = 0; i < together.size(); ++i) {
    crowd.emplace_back([&together, i] { together[i] = trained_answerer(i + 1); });
  }
  for (std::thread& one : crowd) one.join();
  set_threads(before);
  for (std::size_t i = 0; i < together.size(); ++i) {
    const std::vector<Tensor> alone = trained_answerer(i + 1);
    REQUIRE(together[i].size() == alone.size());
    for (std::size_t k = 0; k < alone.size(); ++k) CHECK(together[i][k].to_vector() == alone[k].to_vector());
  }
}

TEST_CASE("A word answerer rejects texts that do not fit it") {
  Parameters parameters;
  const Model model(Scope(parameters, 1), answerer_of(answering_shape));
  CHECK(message([&] {
          model.run(asking(Ids({1, 7}, {1, 1, 1, 1, 1, 1, 1}), {7}, Ids({1}, {0})));
        }) == "positions: LearnedPositions: the text has 7 tokens, but max_length is 6");
  CHECK(message([&] {
          model.run(asking(Ids({2, 1}, {1, 1}), {1}, Ids({2}, {0, 0})));
        }) == "Transformer: expected tokens (B, T) and B lengths, got (2, 1) and 1 lengths");
}
