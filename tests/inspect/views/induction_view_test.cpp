#include "inspect/views/induction_view.h"

#include "tests/catch.h"
#include "tests/inspect/sample.h"

#include <cmath>

using namespace heed;

namespace {

// a b a b: one layer of two heads; the first looks at the token before, the second at what followed the same token.
Dump repeated_dump() {
  const std::vector<double> previous{1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0.5, 0.5};
  const std::vector<double> induction{1, 0, 0, 0, 0, 1, 0, 0, 0, 0.75, 0.25, 0, 0, 0, 0.25, 0.75};
  std::vector<double> both = previous;
  both.insert(both.end(), induction.begin(), induction.end());
  return {100,
          {{.tokens = {"a", "b", "a", "b"},
            .query = 3,
            .antecedent = 2,
            .predicted = "a",
            .probability = 1,
            .layers = {tensor({2, 4, 4}, both)}}}};
}

}  // namespace

TEST_CASE("Heads are told that look at the token before, and that look at what followed the same token") {
  const auto scores = head_scores(repeated_dump());
  REQUIRE(scores.size() == 1);
  REQUIRE(scores[0].size() == 2);
  CHECK(scores[0][0].previous_token == Approx((1 + 1 + 0.5) / 3));
  CHECK(scores[0][0].induction == Approx((1 + 0.5) / 2));  // here what followed "a" is the token before
  CHECK(scores[0][1].previous_token == Approx((0 + 0.75 + 0.25) / 3));
  CHECK(scores[0][1].induction == Approx((0.75 + 0.25) / 2));
  CHECK(std::isnan(head_scores({0, {english_sentence()}})[0][0].induction));  // no word comes twice
}

TEST_CASE("The scores of every head are shown by step, with the loss there") {
  Metrics line;
  line.step = 100;
  line.held_out.loss = 1.25;
  CHECK(induction_view({repeated_dump()}, {line}, {}) ==
        "Largest scores at step 100: previous token 0.83 in layer 1 head 1, induction\n"
        "0.75 in layer 1 head 1.\n"
        "prev: mean weight from a token to the one before it; ind: to what followed the\n"
        "same token when it came before.\n"
        "\n"
        "                   layer 1.1   layer 1.2\n"
        "  step      loss   prev  ind   prev  ind\n"
        "   100    1.2500   0.83 0.75   0.33 0.50\n");
  CHECK(induction_view({repeated_dump()}, {}, {.terminal = {}, .layer = {}, .head = 2})
            .ends_with("                   layer 1.2\n"
                       "  step      loss   prev  ind\n"
                       "   100         -   0.33 0.50\n"));
}
