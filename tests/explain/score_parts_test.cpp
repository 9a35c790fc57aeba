#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/models/random_models.h"

#include <heed/explain/score_parts.h>
#include <heed/nn/hook.h>

#include <cmath>

using namespace heed;

namespace {

// Returns a model of three layers with an MLP, whose biases are not 0 and whose gains are not 1.
Model deep_model(ModelConfig config) {
  config.transformer.layers = 3;
  Model model = small_model(config);
  shake_all(model.parameters);
  return model;
}
Model deep_model(Positions positions, Tie tie, int sentences) {
  return deep_model(answerer_of(small_config(positions, tie, true, sentences)));
}

constexpr const char* tired_dog = "The dog didn't cross the street because it was too tired";

double sum_of(const std::vector<ScoreParts::Part>& parts, double ScoreParts::Part::*of) {
  double sum = 0;
  for (const ScoreParts::Part& part : parts) sum += part.*of;
  return sum;
}

}  // namespace

TEST_CASE("score_parts sums to the score over parts of query and key, to 1e-6") {
  for (const auto& [positions, tie, sentences] :
       {std::tuple{Positions::learned, Tie::none, 0}, std::tuple{Positions::sinusoidal, Tie::K_is_V, 2},
        std::tuple{Positions::none, Tie::Q_is_K, 0}}) {
    const Model model = deep_model(positions, tie, sentences);
    const Example example = question(model, tired_dog);
    for (int layer = 0; layer < 3; ++layer) {
      const ScoreParts parts = score_parts(model, example, layer, 1, {.to = 1});
      const SentenceAttention read = attend(model, example);
      const Tensor& weights = read.layers[static_cast<std::size_t>(layer)];
      CHECK(parts.weight == Approx(weights.at({1, 7, 1})).epsilon(1e-4));
      // The difference of two scores in a row is the logarithm of the ratio of their weights.
      double mean = 0;
      for (int key = 0; key < 11; ++key) mean += std::log(weights.at({1, 7, key})) / 11;
      CHECK(parts.score - parts.reference == Approx(std::log(weights.at({1, 7, 1})) - mean).epsilon(1e-3));
      const std::size_t embedded = 1U + (positions != Positions::none) + (sentences > 0);
      CHECK(parts.query.size() == embedded + static_cast<std::size_t>(layer) * (2 * 11 + 2) + 1);
      CHECK(parts.key.size() == parts.query.size());
      double products = parts.others.score, ahead = parts.others.ahead;
      for (const auto& product : parts.products) {
        products += product.score;
        ahead += product.ahead;
      }
      const double margin = 1e-6 * std::max(1.0, std::abs(parts.score));
      CHECK(std::abs(products - parts.score) < margin);
      CHECK(std::abs(ahead - (parts.score - parts.reference)) < margin);
      for (const auto* side : {&parts.query, &parts.key}) {
        CHECK(std::abs(sum_of(*side, &ScoreParts::Part::score) - parts.score) < margin);
        CHECK(std::abs(sum_of(*side, &ScoreParts::Part::ahead) - (parts.score - parts.reference)) < margin);
      }
      CHECK(read.predicted == parts.answer);
      CHECK(parts.probability == Approx(read.probability).epsilon(1e-4));
    }
  }
}

TEST_CASE("score_parts sums to the score with normalised, rotated and shared queries and keys") {
  TransformerConfig config = modern_config();
  config.block.attention.bias = true;
  const bool predicts_next = GENERATE(false, true);
  const Model model = deep_model(predicts_next ? ModelConfig(decoder_of(config)) : answerer_of(config));
  Example example = question(model, tired_dog, "it");
  example.antecedent = 1;
  example.distractor = 5;
  const Tensor weights = attend(model, example).layers[2];
  for (const int head : {0, 1}) {
    const ScoreParts parts = score_parts(model, example, 2, head, {.to = 1});
    CHECK(parts.weight == Approx(weights.at({head, 7, 1})).epsilon(1e-4));
    const double expected = std::log(weights.at({head, 7, 1}) / weights.at({head, 7, 5}));
    CHECK(parts.score - parts.reference == Approx(expected).epsilon(1e-3));
    for (const auto* side : {&parts.query, &parts.key}) {
      CHECK(side->size() == 1 + 2 * (2 * 11 + 1) + 1);  // word, heads and MLPs, biases
      CHECK(sum_of(*side, &ScoreParts::Part::score) == Approx(parts.score).epsilon(1e-6));
      CHECK(sum_of(*side, &ScoreParts::Part::ahead) == Approx(parts.score - parts.reference).epsilon(1e-6));
    }
  }
}

TEST_CASE("score_parts compares the score with that of the distractor, if there is one") {
  const Model model = deep_model(Positions::learned, Tie::none, 0);
  Example example = question(model, tired_dog);
  example.antecedent = 1;
  example.distractor = 5;
  const ScoreParts parts = score_parts(model, example, 2, 0);
  const Tensor weights = attend(model, example).layers[2];
  CHECK((parts.to == 1 && parts.rather == 5));
  const double ahead = std::log(weights.at({0, 7, 1}) / weights.at({0, 7, 5}));
  CHECK(parts.score - parts.reference == Approx(ahead).epsilon(1e-3));
  CHECK(sum_of(parts.query, &ScoreParts::Part::ahead) == Approx(ahead).epsilon(1e-3));
  CHECK(sum_of(parts.key, &ScoreParts::Part::ahead) == Approx(ahead).epsilon(1e-3));
}

TEST_CASE("score_parts gives the weight after the part with the largest difference is removed") {
  const Model model = deep_model(Positions::learned, Tie::none, 0);
  const Example example = question(model, tired_dog);
  const ScoreParts parts = score_parts(model, example, 0, 0, {.to = 1});
  REQUIRE(parts.cuts.size() == 2);
  for (const ScoreParts::Cut& cut : parts.cuts) {
    const auto& side = cut.of_query ? parts.query : parts.key;
    const ScoreParts::Part& first = side[static_cast<std::size_t>(cut.part)];
    for (std::size_t p = 0; p + 1 < side.size(); ++p) CHECK(side[p].ahead <= first.ahead);
    // By hand: subtract the vector of that token or position from the embedding.
    const int token = cut.of_query ? 7 : 1;
    const bool is_token = first.what == "token";
    const Tensor& table = model.parameters[is_token ? "words.weight" : "positions.weight"];
    const std::vector<double> all = table.to_vector();
    const int row = is_token ? model.vocabulary[example.tokens[static_cast<std::size_t>(token)]] : token;
    double weight = 0;
    const Hook hook([&](const std::string& name, Tensor& value) {
      if (name == "embedded") {
        std::vector<double> x = value.to_vector();
        for (std::size_t c = 0; c < 8; ++c) {
          x[static_cast<std::size_t>(token) * 8 + c] -=
              all[static_cast<std::size_t>(row) * 8 + c] * (is_token ? std::sqrt(8.0) : 1);
        }
        value = tensor(value.shape(), x);
      } else if (name == "encoder.0.attention.weights") {
        weight = value.at({0, 0, 7, 1});
      }
    });
    model.run(batch_of(model, example));
    CHECK(cut.weight == Approx(weight).epsilon(1e-4));
    CHECK(std::abs(cut.weight - parts.weight) > 1e-5);
  }
}

TEST_CASE("pointing_head has the largest weight on the antecedent, or the largest weight without one") {
  SentenceAttention sentence = english_sentence();
  sentence.antecedent = 10;
  CHECK((pointing_head(sentence).layer == 0 && pointing_head(sentence).head == 0));
  sentence.antecedent = -1;
  CHECK((pointing_head(sentence).layer == 1 && pointing_head(sentence).head == 1));
}
