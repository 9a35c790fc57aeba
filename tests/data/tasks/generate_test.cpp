#include "tests/catch.h"
#include "tests/message.h"

#include <heed/data/tasks/generate.h>

#include <algorithm>
#include <set>

using namespace heed;
using Words = std::vector<std::string>;

TEST_CASE("split_pairs holds out a fifth of the pairs, and every noun and adjective is in both sets") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const PairSplit split = split_pairs(12, 10, Random(seed));
    REQUIRE(split.train.size() == 12);
    REQUIRE(split.held_out.size() == 12);
    std::set<int> train, held_out;
    for (std::size_t noun = 0; noun < 12; ++noun) {
      CHECK(split.train[noun].size() == 8);
      CHECK(split.held_out[noun].size() == 2);
      std::vector<int> all = split.train[noun];
      all.insert(all.end(), split.held_out[noun].begin(), split.held_out[noun].end());
      std::sort(all.begin(), all.end());
      CHECK(all == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
      train.insert(split.train[noun].begin(), split.train[noun].end());
      held_out.insert(split.held_out[noun].begin(), split.held_out[noun].end());
    }
    CHECK(split.held_out[0][0] == 0);
    CHECK(train.size() == 10);
    CHECK(held_out.size() == 10);
  }
}

TEST_CASE("draw() draws numbers without repetition, after those to keep") {
  const std::vector<int> drawn = draw("x", 50, 60, 3, Random(1));
  CHECK(std::vector<int>(drawn.begin(), drawn.begin() + 3) == std::vector<int>{0, 1, 2});
  CHECK(std::set<int>(drawn.begin(), drawn.end()).size() == 50);
  CHECK(*std::max_element(drawn.begin(), drawn.end()) < 60);
  CHECK(drawn == draw("x", 50, 60, 3, Random(1)));
  CHECK(drawn != draw("x", 50, 60, 3, Random(2)));
  CHECK(draw("x", 2, 60, 3, Random(1)) == std::vector<int>{0, 1});
  CHECK(draw("x", 0, 60, 0, Random(1)).empty());
  CHECK(message([] { draw("data.sentences", 61, 60, 0, Random(1)); }) ==
        "data.sentences: expected 0 to 60, got 61: no more exist");
  CHECK(message([] { draw("data.sentences", -1, 60, 0, Random(1)); }) == "data.sentences: expected 0 to 60, got -1");
}

TEST_CASE("fill() replaces the placeholders of a shape by words") {
  CHECK(fill("The {animal} saw the {animal}", {{"{animal}", "dog"}}) == Words{"The", "dog", "saw", "the", "dog"});
  CHECK(fill("it", {}) == Words{"it"});
}

TEST_CASE("Digits splits a number digit by digit") {
  Digits digit{2 + 3 * (4 + 5 * 6)};
  CHECK(digit(3) == 2);
  CHECK(digit(5) == 4);
  CHECK(digit(7) == 6);
}
