#include "tests/catch.h"
#include "tests/models/writer.h"

#include <heed/models/lookup.h>

using namespace heed;
using Tokens = std::vector<std::int32_t>;

TEST_CASE("Lookup guesses what followed the longest earlier place that is like the end") {
  const Lookup lookup;
  CHECK(lookup.guess({1, 2, 3, 4, 5, 1, 2, 3}, 2) == Tokens{4, 5});
  CHECK(lookup.guess({9, 1, 2, 3, 4, 8, 1, 2, 3, 5, 9, 1, 2, 3}, 1) == Tokens{4});  // four tokens rather than three
  CHECK(lookup.guess({1, 2, 3, 4, 8, 1, 2, 3, 5, 1, 2, 3}, 1) == Tokens{5});        // the last of equal places
  CHECK(lookup.guess({1, 2, 1, 2, 1, 2}, 5) == Tokens{1, 2, 1, 2, 1});
  CHECK(lookup.guess({7, 7, 7, 7}, 3) == Tokens{7, 7, 7});
  CHECK(lookup.guess({1, 2, 3, 4, 2, 3}, 4).empty());
  CHECK(lookup.guess({}, 4).empty());
  CHECK(lookup.guess({1}, 4).empty());
  CHECK(lookup.guess({1, 2, 3, 4, 5, 1, 2, 3}, 0).empty());
  CHECK(lookup.guess({1, 2, 3, 4, 5, 1, 2, 3}, -1).empty());
}

TEST_CASE("Lookup needs more equal tokens after each wrong guess") {
  Lookup lookup;
  const Tokens text{1, 2, 3, 4, 5, 1, 2, 3};
  lookup.learn(15, 2);
  CHECK(lookup.needed() == 6);
  CHECK(lookup.guess(text, 2).empty());
  lookup.learn(0, 0);
  CHECK(lookup.needed() == 6);
  for (int i = 0; i < 10; ++i) lookup.learn(15, 0);
  CHECK(lookup.needed() == 48);
  const Tokens same(50, 1);
  CHECK(lookup.guess(same, 2) == Tokens{1, 1});
  lookup.learn(15, 3);
  CHECK(lookup.guess(text, 2) == Tokens{4, 5});
}

TEST_CASE("generate() writes the same text when it guesses, in fewer passes") {
  const auto generated = [](const Model& model, Generation wanted, bool speculate) {
    wanted.speculate = speculate;
    std::string text;
    const Generated result = generate(model, wanted, [&](std::string_view piece) {
      text += piece;
      return true;
    });
    return std::pair(text, result);
  };
  std::int64_t passes = 0, tokens = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const int context : {4, 24, 200}) {
      const Model model = writer("\n", context, seed);
      for (const auto& sampling : {Sampling{.temperature = 0}, Sampling{.temperature = 0.05}, Sampling{}}) {
        for (const char* stop : {"", "abba", "\n\n"}) {
          CAPTURE(seed, context, sampling.temperature, stop);
          const Generation wanted{
              .prompt = "abbaab\nabbaa", .tokens = 60, .sampling = sampling, .seed = seed, .stop = stop};
          const auto [alone, one_by_one] = generated(model, wanted, false);
          const auto [text, guessed] = generated(model, wanted, true);
          CHECK(text == alone);
          CHECK(guessed.tokens == one_by_one.tokens);
          CHECK(guessed.ended_by == one_by_one.ended_by);
          CHECK(one_by_one.passes == std::ssize(one_by_one.tokens));
          CHECK(guessed.passes <= one_by_one.passes + 2);
          if (context == 200 && sampling.temperature == 0)
            passes += guessed.passes, tokens += std::ssize(guessed.tokens);
        }
      }
    }
  }
  CHECK(3 * passes < 2 * tokens);
}
