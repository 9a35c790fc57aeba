#include "views/induction_view.h"

#include "tests/catch.h"
#include "tests/inspect/sample.h"

using namespace heed;

namespace {

// a b a b: one layer of two heads. The first attends to the previous token, the second to the token that followed an
// earlier occurrence.
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

TEST_CASE("induction_view shows the scores of every head and the loss per step") {
  Metrics line;
  line.step = 100;
  line.held_out.loss = 1.25;
  CHECK(induction_view({repeated_dump()}, {line}, {}) ==
        "Largest scores in the watched sentences at step 100: previous token 0.83 in\n"
        "layer 1 head 1, induction 0.75 in layer 1 head 1.\n"
        "prev: mean weight from a token to the one before it; ind: to the token that\n"
        "followed its earlier occurrence, over 2 tokens that occur again.\n"
        "\n"
        "                   layer 1.1   layer 1.2\n"
        "  step      loss   prev  ind   prev  ind\n"
        "   100    1.2500   0.83 0.75   0.33 0.50\n");
  CHECK(induction_view({repeated_dump()}, {}, {.terminal = {}, .layer = {}, .head = 2})
            .ends_with("                   layer 1.2\n"
                       "  step      loss   prev  ind\n"
                       "   100         -   0.33 0.50\n"));
}

TEST_CASE("repeated_verdict tells heads that are shown to be none from those of which nothing is shown") {
  const auto verdict = [](const std::vector<Interval>& found) {
    RepeatedScores scores{.sequences = 50, .min_length = 12, .max_length = 25, .heads = {{}}};
    for (const Interval& score : found) scores.heads[0].push_back({{}, score});
    return repeated_verdict(scores, {});
  };
  const std::string rule =
      "over 50 sequences of 12 to 25 different random tokens, each read twice, the mean weight from a token of the "
      "second "
      "copy to the one behind its first copy has an interval ";
  CHECK(verdict({{0.3, 0.2, 0.39}, {0.1, 0.05, 0.2}}) ==
        "No head alone is an induction head: for each, " + rule + "below 0.40 (95 % for all heads together).");
  CHECK(
      verdict({{0.41, 0.39, 0.43}, {0.1, 0.05, 0.2}}) ==
      "Cannot tell of layer 1 head 1 (0.39 to 0.43), whose interval contains 0.40. No head is shown to be an induction "
      "head: for none, " +
          rule + "above 0.40 (95 % for all heads together).");
  CHECK(verdict({{0.41, 0.39, 0.43}, {0.7, 0.6, 0.8}}) ==
        "Induction heads: layer 1 head 2 (0.70): " + rule +
            "above 0.40 (95 % for all heads together). Cannot tell of layer 1 head 1 (0.39 to 0.43), whose interval "
            "contains 0.40.");
  RepeatedScores several{.sequences = 50, .min_length = 12, .max_length = 25, .right = {0.975, 0.9, 1}, .heads = {{}}};
  several.heads[0].push_back({{}, {0.25, 0.2, 0.3}});
  CHECK(repeated_verdict(several, {}) ==
        "No head alone is an induction head: for each, " + rule +
            "below 0.40 (95 % for all heads together). The model predicts 97.5 % (90.0 to 100.0) of the tokens of the "
            "second copies right.");
}
