#include "tests/catch.h"
#include "tests/explain/circuits/induction_by_hand.h"
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

TEST_CASE("repeated_scores measures tokens of a second copy of random sequences, with an interval") {
  for (const ModelConfig& config : {ModelConfig(decoder_of(modern_config())), ModelConfig(answerer_of(small_config())),
                                    ModelConfig(chooser_of(small_config()))}) {
    const Model model = small_model(config);
    const RepeatedScores found = repeated_scores(model);
    CHECK((found.sequences == 50 && found.min_length == 3 && found.max_length == 6));  // 12 positions
    REQUIRE((found.heads.size() == 2 && found.heads[1].size() == 2));
    for (const auto& layer : found.heads) {
      for (const RepeatedScores::Head& head : layer) {
        CHECK((head.induction.low <= head.induction.share && head.induction.share <= head.induction.high));
        CHECK((head.previous_token.share > 0 && head.previous_token.share < 1));
      }
    }
    CHECK_FALSE(found.is_induction(0, 0));  // it is not trained
    CHECK(std::isnan(found.right.share) != model.head().generates());
    CHECK(repeated_scores(model).heads[1][1].induction.share == found.heads[1][1].induction.share);
    CHECK(repeated_scores(model, 2).heads[1][1].induction.share != found.heads[1][1].induction.share);
  }
  TransformerConfig shortest = small_config();
  shortest.max_length = 9;
  const Model model = small_model(decoder_of(shortest));
  CHECK(message([&] { repeated_scores(model); }) ==
        "induction needs a model that reads 5 different tokens twice; this one knows 14 and reads 9 at once");
}

TEST_CASE("repeated_scores finds an induction head, and none that attends at a fixed distance") {
  const InductionByHand made(10);
  const RepeatedScores found = repeated_scores(made.model);
  CHECK(found.is_induction(1, 0));
  CHECK(found.right.low > 0.5);
  InductionByHand fixed(10);
  fixed.look_back(4, 10);  // behind the earlier copy in sequences of 5 tokens
  const RepeatedScores other = repeated_scores(fixed.model);
  CHECK(other.heads[0][0].induction.share < RepeatedScores::least);  // there in one of three lengths
  CHECK_FALSE(other.is_induction(0, 0));
}

TEST_CASE("An induction head is one whose interval lies above the least score") {
  RepeatedScores scores;
  scores.heads = {
      {{.previous_token = {}, .induction = {0.45, 0.39, 0.5}}, {.previous_token = {}, .induction = {0.5, 0.41, 0.6}}}};
  CHECK_FALSE(scores.is_induction(0, 0));
  CHECK(scores.is_induction(0, 1));
  CHECK(scores.is_undecided(0, 0));
  CHECK_FALSE(scores.is_undecided(0, 1));
}
