#include "tests/catch.h"
#include "tests/message.h"

#include <heed/data/splits.h>

#include <algorithm>

using namespace heed;

namespace {

std::vector<std::int32_t> sorted(const Ids& a, const Ids& b) {
  std::vector<std::int32_t> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all);
  return all;
}

}  // namespace

TEST_CASE("pad_sequences pads to the longest sequence, or cuts to a length") {
  const auto [ids, lengths] = pad_sequences({{5, 1, 2}, {}, {7}}, -1);
  CHECK(ids.shape() == Shape{3, 3});
  CHECK(std::vector(ids.begin(), ids.end()) == std::vector<std::int32_t>{5, 1, 2, -1, -1, -1, 7, -1, -1});
  CHECK(lengths == std::vector<int>{3, 0, 1});
  const PaddedSequences cut = pad_sequences({{5, 1, 2}, {7}}, 0, 2);
  CHECK(std::vector(cut.ids.begin(), cut.ids.end()) == std::vector<std::int32_t>{5, 1, 7, 0});
  CHECK(cut.lengths == std::vector<int>{2, 1});
}

TEST_CASE("train_test_split divides all examples at random") {
  const std::vector<std::int32_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const TrainTest split = train_test_split(10, 0.25, Random(1)), again = train_test_split(10, 3, Random(1));
  CHECK(split.test.numel() == 3);
  CHECK(sorted(split.train, split.test) == all);
  CHECK(std::ranges::equal(split.train, again.train));
  CHECK_FALSE(std::ranges::equal(split.train, train_test_split(10, 3, Random(2)).train));
  CHECK(message([] { train_test_split(10, 10, Random(1)); }) ==
        "train_test_split: expected a share between 0 and 1 or a number from 1 to 9 for the test set, got 10");
}

TEST_CASE("Splits are the same in each version, and in Python") {
  const TrainTest split = train_test_split(10, 0.25, Random(1));
  CHECK(std::vector(split.train.begin(), split.train.end()) == std::vector<std::int32_t>{7, 1, 9, 0, 6, 3, 8});
  CHECK(std::vector(split.test.begin(), split.test.end()) == std::vector<std::int32_t>{4, 2, 5});
  const Ids fold = kfold(7, 3, Random(2))[2].test;
  CHECK(std::vector(fold.begin(), fold.end()) == std::vector<std::int32_t>{2, 6, 0});
}

TEST_CASE("kfold holds out each example once") {
  std::vector<std::int32_t> held_out;
  for (const TrainTest& fold : kfold(10, 3, Random(1))) {
    CHECK((fold.test.numel() == 3 || fold.test.numel() == 4));
    CHECK(sorted(fold.train, fold.test) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    held_out.insert(held_out.end(), fold.test.begin(), fold.test.end());
  }
  std::ranges::sort(held_out);
  CHECK(held_out == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(message([] { kfold(3, 4, Random(1)); }) == "kfold: expected 2 to 3 parts, got 4");
}
