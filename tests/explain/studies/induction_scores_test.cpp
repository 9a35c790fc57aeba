#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"

#include <heed/explain/studies/induction_scores.h>

#include <cmath>

using namespace heed;

namespace {

// The text "a b a b" in one layer: head 0 attends to the previous token, head 1 is an induction head.
std::vector<SentenceAttention> repeated_sentences() {
  const std::vector<double> previous{1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0.5, 0.5};
  const std::vector<double> induction{1, 0, 0, 0, 0, 1, 0, 0, 0, 0.75, 0.25, 0, 0, 0, 0.25, 0.75};
  std::vector<double> both = previous;
  both.insert(both.end(), induction.begin(), induction.end());
  return {{.tokens = {"a", "b", "a", "b"},
           .query = 3,
           .antecedent = 2,
           .predicted = "a",
           .probability = 1,
           .layers = {tensor({2, 4, 4}, both)}}};
}

}  // namespace

TEST_CASE("head_scores measures attention to the previous token and induction") {
  const auto scores = head_scores(repeated_sentences());
  REQUIRE(scores.size() == 1);
  REQUIRE(scores[0].size() == 2);
  CHECK(scores[0][0].previous_token == Approx((1 + 1 + 0.5) / 3));
  CHECK(scores[0][0].induction ==
        Approx((1 + 0.5) / 2));  // here the token after the earlier "a" is also the previous token
  CHECK(scores[0][1].previous_token == Approx((0 + 0.75 + 0.25) / 3));
  CHECK(scores[0][1].induction == Approx((0.75 + 0.25) / 2));
  CHECK(std::isnan(head_scores({english_sentence()})[0][0].induction));  // no word is repeated
  CHECK(message([] { head_scores({}); }) == "head_scores: expected sentences, got none");
}
