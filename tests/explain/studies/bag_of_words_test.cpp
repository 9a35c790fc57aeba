#include "tests/catch.h"
#include "tests/explain/studies/bagged.h"

#include <heed/explain/studies/bag_of_words.h>

#include <cmath>
#include <string>

using namespace heed;

TEST_CASE("BagOfWords learns which words predict a position, and which candidates are often correct") {
  std::vector<Example> training;
  for (int i = 0; i < 30; ++i) {
    training.push_back(bagged("big", 0));
    training.push_back(bagged("tiny", 1));
    training.push_back(bagged("was", 1, "tea"));
  }
  const BagOfWords bag(training, bagged_words());
  const std::vector<Example> test{bagged("big", 0), bagged("tiny", 0), bagged("was", 0, "tea")};
  CHECK(bag.answers(test, bagged_words()) == std::vector<int>{0, 1, 1});
  Example turned = bagged("big", 0);  // the position counts, not the index of the candidate
  std::swap(turned.candidates[0], turned.candidates[1]);
  CHECK(bag.answers({turned}, bagged_words()) == std::vector<int>{1});
}

TEST_CASE("BagOfWords accepts varying numbers of candidates, and an empty list of examples") {
  std::vector<Example> training;
  for (int i = 0; i < 30; ++i) {
    training.push_back(bagged("big", 0));
    Example three = bagged("tiny", 0);
    three.candidates.push_back({1, 2});
    choose(three, 2);
    training.push_back(three);
  }
  const BagOfWords bag(training, bagged_words());
  // "tiny" predicts the third candidate, which the last example does not have.
  CHECK(bag.answers({training[0], training[1], bagged("tiny", 0)}, bagged_words())[1] == 2);
  CHECK(bag.answers({training[0], training[1], bagged("tiny", 0)}, bagged_words())[2] < 2);
  CHECK(bag.answers({training[0]}, bagged_words()) == std::vector<int>{0});
  CHECK(bag.answers({}, bagged_words()).empty());
}

TEST_CASE("BagOfWords reaches the minimum of its loss") {
  // One word predicts the position correctly in 3 of 4 examples. Up to the weight decay, the difference of the logits
  // at the minimum is log(3 / 1).
  std::vector<Example> training;
  for (int i = 0; i < 200; ++i) {
    training.push_back(bagged("big", i % 4 == 0));
    training.push_back(bagged("tiny", i % 4 != 0));
  }
  const BagOfWords bag(training, bagged_words());
  const Tensor &place = bag.parameters()["place"], &own = bag.parameters()["own"];
  double difference = own.at({1, 0}) - own.at({3, 0});  // cup, jam
  for (const std::string word : {"cup", "hid", "jam", "it", "big"}) {
    difference += place.at({bagged_words()[word], 0}) - place.at({bagged_words()[word], 1});
  }
  CHECK(difference == Approx(std::log(3.0)).margin(0.05));
}

TEST_CASE("BagOfWords can answer that no candidate is correct if its training data has such answers") {
  std::vector<Example> training;
  for (int i = 0; i < 30; ++i) {
    training.push_back(bagged("big", 0));
    training.push_back(bagged("tiny", -1));
  }
  CHECK(BagOfWords(training, bagged_words()).answers({bagged("big", 0), bagged("tiny", 0)}, bagged_words()) ==
        std::vector<int>{0, -1});
}
