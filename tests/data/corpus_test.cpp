#include "tests/catch.h"
#include "tests/message.h"

#include <heed/data/corpus.h>

#include <algorithm>
#include <set>

using namespace heed;

namespace {

std::vector<int> values_of(const Ids& ids) { return {ids.data(), ids.data() + ids.numel()}; }

// 0, 1, 2, ...
TokenNumbers counted(int count) {
  TokenNumbers numbers;
  for (int i = 0; i < count; ++i) numbers.add(i);
  return numbers;
}

}  // namespace

TEST_CASE("TokenNumbers uses the fewest bytes that hold the largest number, and keeps all values") {
  TokenNumbers numbers(100);
  for (int i = 0; i < 100; ++i) numbers.add(i);
  CHECK(numbers.bytes() == 100);
  numbers.add(256);
  CHECK(numbers.bytes() >= 202);
  CHECK(numbers.bytes() < 404);
  numbers.add(70000);
  CHECK(numbers.bytes() >= 408);
  CHECK(numbers.size() == 102);
  for (int i = 0; i < 100; ++i) CHECK(numbers[i] == i);
  CHECK((numbers[100] == 256 && numbers[101] == 70000));
}

TEST_CASE("training_windows begin anywhere in a text, and next holds the following token of each token") {
  const Corpus corpus{.train = counted(20), .held_out = counted(11), .context = 4};
  std::set<int> begins;
  for (int step = 0; step < 200; ++step) {
    const Batch windows = training_windows(corpus, 3, step, Random(1));
    REQUIRE(windows.tokens.shape() == Shape{3, 4});
    for (std::int64_t i = 0; i < 12; ++i) {
      CHECK(windows.targets[i] == windows.tokens[i] + 1);
      CHECK(windows.tokens[i] == windows.tokens[i / 4 * 4] + i % 4);
    }
    begins.insert(windows.tokens[0]);
  }
  CHECK(begins.size() == 16);  // 0 to 15: the last window ends with 18, and its next is 19
  CHECK(values_of(training_windows(corpus, 3, 7, Random(1)).tokens) ==
        values_of(training_windows(corpus, 3, 7, Random(1)).tokens));
  CHECK(values_of(training_windows(corpus, 8, 7, Random(1)).tokens) !=
        values_of(training_windows(corpus, 8, 8, Random(1)).tokens));
}

TEST_CASE("held_out_windows predict each held-out token except the first once") {
  for (const int count : {2, 3, 5, 6, 9, 10, 11}) {
    const Corpus corpus{.train = counted(20), .held_out = counted(count), .context = 4};
    CAPTURE(count);
    std::vector<int> predicted;
    for (std::int64_t i = 0; i < held_out_windows(corpus); ++i) {
      for (const int next : values_of(held_out_windows(corpus, i, i + 1).targets)) {
        if (next >= 0) predicted.push_back(next);
      }
    }
    REQUIRE(std::ssize(predicted) == count - 1);
    for (int i = 0; i + 1 < count; ++i) CHECK(predicted[static_cast<std::size_t>(i)] == i + 1);
  }
}

TEST_CASE("Functions of Corpus reject a text shorter than a window and windows out of range") {
  Corpus corpus{counted(8), counted(1), 8};
  const auto refused = [&](int B) { return message([&] { training_windows(corpus, B, 0, Random(1)); }); };
  const std::string expected = "training_windows: expected B and context from 1 and more tokens than context, got ";
  CHECK(refused(2) == expected + "B 2, context 8 and 8 tokens");
  corpus.train.add(8);
  CHECK(training_windows(corpus, 2, 0, Random(1)).tokens.numel() == 16);
  CHECK(refused(0) == expected + "B 0, context 8 and 9 tokens");
  CHECK(held_out_windows(corpus) == 0);
  CHECK(message([&] { held_out_windows(corpus, 0, 1); }) == "held_out_windows: [0, 1) does not lie in the 0 windows");
  CHECK(message([&] { held_out_windows(corpus, -1, 0); }) == "held_out_windows: [-1, 0) does not lie in the 0 windows");
  corpus.context = 0;
  CHECK(message([&] { held_out_windows(corpus); }) == "Corpus: its context must be at least 1, got 0");
  CHECK(message([&] { corpus.train.add(-1); }) == "TokenNumbers: expected a number from 0, got -1");
}

TEST_CASE("Windows of sequences are whole sequences that predict only after a repeated token") {
  Corpus corpus;
  corpus.held_out = counted(10);
  corpus.context = 4;
  corpus.is_sequences = true;
  for (const int number : {7, 8, 7, 8, 7, 1, 2, 3, 1, 2}) corpus.train.add(number);
  int seen = 0;
  for (int step = 0; step < 20; ++step) {
    const Batch windows = training_windows(corpus, 1, step, Random(1));
    const bool is_first = windows.tokens[0] == 7;
    seen |= is_first ? 1 : 2;
    CHECK(values_of(windows.tokens) == (is_first ? std::vector<int>{7, 8, 7, 8} : std::vector<int>{1, 2, 3, 1}));
    CHECK(values_of(windows.targets) == (is_first ? std::vector<int>{-1, -1, 8, 7} : std::vector<int>{-1, -1, -1, 2}));
  }
  CHECK(seen == 3);
  CHECK(held_out_windows(corpus) == 2);
  CHECK(values_of(held_out_windows(corpus, 1, 2).tokens) == std::vector<int>{5, 6, 7, 8});
}

TEST_CASE("training_windows of masked text hide at least one token of each batch") {
  Corpus corpus{.train = counted(20), .held_out = counted(11), .context = 4};
  corpus.mask = corpus.replacements = 20;
  corpus.before = {21}, corpus.behind = {22};
  std::set<int> places;
  int chosen = 0;  // batches with one hidden token, which is the mask
  for (int step = 0; step < 200; ++step) {
    const Batch windows = training_windows(corpus, 2, step, Random(1));
    const std::vector<int> tokens = values_of(windows.tokens), hidden = values_of(windows.targets);
    CHECK(values_of(training_windows(corpus, 2, step, Random(1)).tokens) == tokens);
    REQUIRE(std::ranges::count(hidden, -1) < 8);
    for (std::size_t i = 0; i < 8; ++i) {
      if (hidden[i] < 0) continue;
      CHECK((i % 4 == 1 || i % 4 == 2));
      if (std::ranges::count(hidden, -1) == 7 && tokens[i] == 20) ++chosen, places.insert(static_cast<int>(i));
    }
  }
  CHECK(chosen > 100);  // 0.85 to the power of 4 is 0.52
  CHECK((places.contains(1) && places.contains(2)));

  for (const int tokens : {2, 3, 5, 8}) {
    CAPTURE(tokens);
    corpus.context = 12;  // 10 of the text
    corpus.held_out = counted(tokens);
    const Batch whole = held_out_windows(corpus, 0, held_out_windows(corpus));
    const std::vector<int> short_hidden = values_of(whole.targets);
    REQUIRE(std::ranges::count_if(short_hidden, [](int token) { return token >= 0; }) > 0);
    for (std::size_t i = 0; i < short_hidden.size(); ++i) {
      if (short_hidden[i] >= 0) CHECK(short_hidden[i] == static_cast<int>(i) - 1);  // behind the first special token
    }
  }
  corpus.context = 4;
  corpus.held_out = counted(2001);
  const Batch held_out = held_out_windows(corpus, 0, held_out_windows(corpus));  // 1000 windows of 2 tokens
  const std::vector<int> hidden = values_of(held_out.targets);
  CHECK(std::ranges::count_if(hidden, [](int token) { return token >= 0; }) == Approx(300).margin(50));
}
