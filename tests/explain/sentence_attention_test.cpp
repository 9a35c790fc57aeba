#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/explain/sentence_attention.h>

using namespace heed;

TEST_CASE("of_whole_words merges pieces: it sums the weights, and the last piece acts as query") {
  // The cupboard, it
  SentenceAttention pieces{.tokens = {"The", " cup", "board", ",", " it"},
                           .query = 4,
                           .antecedent = 2,
                           .predicted = "The cupboard",
                           .probability = 0.5,
                           .layers = {},
                           .candidates = {{0, 3}, {1, 2}}};
  pieces.layers.push_back(tensor({1, 5, 5}, {1,   0,   0,  0,   0,    //
                                             0,   1,   0,  0,   0,    // the first piece of a word is not used as query
                                             .25, .25, 0,  .25, .25,  //
                                             0,   0,   0,  1,   0,    //
                                             .1,  .2,  .3, .15, .25}));
  const SentenceAttention words = of_whole_words(pieces);
  CHECK(words.tokens == std::vector<std::string>{"The", "cupboard", ",", "it"});
  CHECK(words.query == 3);
  CHECK(words.antecedent == 1);
  CHECK(words.candidates == std::vector<Span>{{0, 2}, {1, 2}});
  CHECK(words.predicted == "The cupboard");
  REQUIRE(words.layers.size() == 1);
  CHECK(words.layers[0].shape() == Shape{1, 4, 4});
  CHECK(words.layers[0].at({0, 3, 1}) == Approx(0.5));
  CHECK(words.layers[0].at({0, 3, 3}) == Approx(0.25));
  CHECK(words.layers[0].at({0, 1, 1}) == Approx(0.25));
  CHECK(words.layers[0].at({0, 1, 0}) == Approx(0.25));
  for (int word = 0; word < 4; ++word) {
    CHECK(sum(slice(words.layers[0], 1, word, word + 1)).item() == Approx(1));
  }
}

TEST_CASE("of_whole_words adds capitals and digits to a word, and keeps an unknown antecedent") {
  SentenceAttention pieces{.tokens = {"Mc", "Donald", "'s", " ", "R", "2", "_", "it"},
                           .query = 7,
                           .predicted = "",
                           .probability = 0.5,
                           .layers = {}};
  pieces.antecedent = -1;
  const SentenceAttention words = of_whole_words(pieces);
  CHECK(words.tokens == std::vector<std::string>{"McDonald's", "R2", "_", "it"});
  CHECK(words.query == 3);
  CHECK(words.antecedent == -1);
}

namespace {
constexpr const char* famous = "The animal didn't cross the street because it was too tired";
}

TEST_CASE("attend returns the model's weights, prediction and probability") {
  const Model model = small_model();
  const Example example = question(model, famous);
  const SentenceAttention sentence = attend(model, example);
  const ModelOutput output = model.run(batch_of(model, example), {.weights = true});
  REQUIRE(sentence.layers.size() == 2);
  for (std::size_t l = 0; l < 2; ++l) {
    CHECK(sentence.layers[l].shape() == Shape{2, 11, 11});
    CHECK(sentence.layers[l].to_vector() == output.weights[l].to_vector());
  }
  double total = 0;
  for (const double logit : output.logits.to_vector()) total += std::exp(logit);
  const double logit = output.logits.at({0, model.vocabulary[sentence.predicted]});
  CHECK(sentence.probability == Approx(std::exp(logit) / total));
  CHECK(logit == Approx(max(output.logits).item()));
}

TEST_CASE("attend returns the candidate that a model chooses") {
  const Model model = small_model(chooser_of(small_config(), true));
  const Example example = question(model, "The [animal] didn't cross [the street] because it was too tired");
  const SentenceAttention sentence = attend(model, example);
  CHECK(sentence.candidates == std::vector<Span>{{1, 2}, {4, 6}});
  const std::vector<std::string> possible{"animal", "the street", "(none)"};
  CHECK(std::ranges::find(possible, sentence.predicted) != possible.end());
}

TEST_CASE("attend throws for values that are not finite, and names the first of them") {
  Model model = small_model();
  const Tensor gain = model.parameters["encoder.1.attention_norm.gain"];
  Tensor(gain).copy_from(zeros(gain.shape()) + 3.4e38);
  CHECK(message([&] { attend(model, question(model, famous)); })
            .starts_with("the model computes values that are not finite, the first of them in "
                         "encoder.1.attention_norm.output (1, 11, 8): its weights are too large"));
}

TEST_CASE("question() turns a SentenceAttention back into an example with sentence numbers") {
  SentenceAttention sentence = english_sentence();
  sentence.tokens = {"the", "dog", ".", "was", "it", "?"};
  sentence.query = 4;
  sentence.candidates = {{0, 2}};
  const Example example = question(sentence);
  CHECK(example.tokens == sentence.tokens);
  CHECK((example.query == 4 && example.antecedent == 1));
  CHECK(example.sentences == std::vector<int>{1, 1, 1, 0, 0, 0});
  CHECK(example.candidates == sentence.candidates);
}
