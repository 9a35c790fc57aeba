#include "tests/golden.h"
#include "tests/message.h"

#include <heed/nn/reader.h>
#include <heed/optim/optimizer.h>

using namespace heed;

namespace {

const ReaderConfig small_reader{.vocabulary = 9, .max_length = 6, .layers = 2, .attention = {.d_model = 8, .heads = 2}};

std::vector<std::string> names(const Parameters& parameters) {
  std::vector<std::string> result;
  for (const auto& [name, value] : parameters) result.push_back(name);
  return result;
}

}  // namespace

TEST_CASE("A Reader's parameters follow its shape") {
  ReaderConfig config = small_reader;
  config.layers = 0;
  config.sentences = 3;
  Parameters all, few;
  const Reader with_all(Scope(all, 1), config);
  CHECK(names(all) == std::vector<std::string>{"words.weight", "positions.weight", "sentences.weight",
                                               "encoder.norm.gain", "encoder.norm.bias", "output_bias"});
  config.sentences = 0;
  config.positions = Positions::sinusoidal;
  const Reader with_few(Scope(few, 1), config);
  CHECK(names(few) ==
        std::vector<std::string>{"words.weight", "encoder.norm.gain", "encoder.norm.bias", "output_bias"});
}

TEST_CASE("Padding and neighbours leave a text's logits and weights as they are") {
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), small_reader);
  const auto alone = reader({Ids({1, 3}, {1, 2, 3}), {3}, Ids({1}, {2}), {}}, Weights::yes);
  const auto padded = reader({Ids({2, 5}, {1, 2, 3, 8, 7, 5, 4, 3, 2, 1}), {3, 5}, Ids({2}, {2, 0}), {}}, Weights::yes);
  CHECK(alone.logits.shape() == Shape{1, 9});
  CHECK(error(slice(padded.logits, 0, 0, 1), alone.logits) <= 1e-14);
  REQUIRE(padded.weights.size() == 2);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const Tensor first = slice(padded.weights[layer], 0, 0, 1);  // (1, heads, 5, 5)
    CHECK(error(slice(slice(first, 2, 0, 3), 3, 0, 3), alone.weights[layer]) <= 1e-14);
  }
}

TEST_CASE("A Reader computed at the query alone gives the same logits") {
  ReaderConfig config = small_reader;
  config.layers = GENERATE(0, 1, 2);
  config.mlp = GENERATE(0, 12);
  CAPTURE(config.layers, config.mlp);
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), config);
  const ReaderInput input{Ids({2, 5}, {1, 2, 3, 8, 7, 5, 4, 3, 2, 1}), {3, 5}, Ids({2}, {2, 0}), {}};
  const Reader::Output output = reader.at_query(input, Weights::yes);
  CHECK(error(output.logits, reader(input).logits) <= 1e-14);
  REQUIRE(output.weights.size() == static_cast<std::size_t>(config.layers));
  for (const Tensor& weights : output.weights) CHECK(weights.shape() == Shape{2, 2, 5});
}

TEST_CASE("Word order matters to a Reader with positions, and only to it") {
  const Positions positions = GENERATE(Positions::none, Positions::learned, Positions::sinusoidal);
  ReaderConfig config = small_reader;
  config.positions = positions;
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), config);
  const Tensor logits = reader({Ids({2, 4}, {1, 2, 3, 4, 3, 1, 2, 4}), {4, 4}, Ids({2}, {3, 3}), {}}).logits;
  const double difference = error(slice(logits, 0, 0, 1), slice(logits, 0, 1, 2));
  CHECK((difference > 1e-3) == (positions != Positions::none));
}

TEST_CASE("A Reader tells sentences apart when it has an embedding for them") {
  ReaderConfig config = small_reader;
  config.sentences = 2;
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), config);
  const Ids tokens({2, 3}, {1, 2, 3, 1, 2, 3}), query({2}, {2, 2});
  const Tensor logits = reader({tokens, {3, 3}, query, Ids({2, 3}, {1, 1, 0, 1, 0, 0})}).logits;
  CHECK(error(slice(logits, 0, 0, 1), slice(logits, 0, 1, 2)) > 1e-3);
}

TEST_CASE("Logits of an untrained Reader have a variance of about 1") {
  ReaderConfig config{.vocabulary = 400, .max_length = 8, .layers = 2, .attention = {.d_model = 64, .heads = 4}};
  Parameters parameters;
  const Reader reader(Scope(parameters, 1), config);
  const Tensor logits = reader({Ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}), {8}, Ids({1}, {4}), {}}).logits;
  CHECK(mean(square(logits)).item() == Approx(1).margin(0.4));
}

TEST_CASE("A Reader learns to answer") {
  Parameters parameters;
  const Reader reader(Scope(parameters, 1), small_reader);
  Optimizer optimizer(parameters, {});
  // The answer is the first word or the second, as the third says.
  const ReaderInput input{
      Ids({4, 4}, {1, 2, 5, 7, 1, 2, 6, 7, 2, 1, 5, 7, 2, 1, 6, 7}), {4, 4, 4, 4}, Ids({4}, {3, 3, 3, 3}), {}};
  const Ids answers({4}, {1, 2, 2, 1});
  double loss = 0;
  for (int step = 0; step < 150; ++step) {
    const Recording recording;
    const Tensor mean_loss = cross_entropy(reader(input).logits, answers);
    optimizer.step(backward(mean_loss), 0.01);
    loss = mean_loss.item();
  }
  CHECK(loss < 0.02);
}

TEST_CASE("Texts that do not fit a Reader are errors") {
  Parameters parameters;
  const Reader reader(Scope(parameters, 1), small_reader);
  CHECK(message([&] {
          reader({Ids({1, 7}, {1, 1, 1, 1, 1, 1, 1}), {7}, Ids({1}, {0}), {}});
        }) == "positions: a text has 7 tokens, but max_length is 6");
  CHECK(message([&] {
          reader({Ids({2, 1}, {1, 1}), {1}, Ids({2}, {0, 0}), {}});
        }) == "Reader: expected tokens (B, T) and B lengths, got (2, 1) and 1 lengths");
}
