#include "run/whole_words.h"

#include "tests/catch.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("Pieces of words are told as whole words: weights summed, a query its word's last piece") {
  // The cupboard, it
  SentenceAttention pieces{.tokens = {"The", " cup", "board", ",", " it"},
                           .query = 4,
                           .antecedent = 2,
                           .predicted = "The  cup board",
                           .probability = 0.5,
                           .layers = {},
                           .candidates = {{0, 3}, {1, 2}}};
  pieces.layers.push_back(tensor({1, 5, 5}, {1,   0,   0,  0,   0,    //
                                             0,   1,   0,  0,   0,    // the first piece as a query does not count
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

TEST_CASE("A capital or a digit goes on with a word, a mark does not; no antecedent stays none") {
  SentenceAttention pieces{.tokens = {"Mc", "Donald", "'s", " R", "2", "_", "it"},
                           .query = 6,
                           .predicted = "",
                           .probability = 0.5,
                           .layers = {}};
  pieces.antecedent = -1;
  const SentenceAttention words = of_whole_words(pieces);
  CHECK(words.tokens == std::vector<std::string>{"McDonald's", "R2", "_", "it"});
  CHECK(words.query == 3);
  CHECK(words.antecedent == -1);
}
