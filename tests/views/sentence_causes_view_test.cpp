#include "tests/catch.h"
#include "tests/views/helpers.h"
#include "views/view.h"

#include <heed/explain/studies/sentence_causes.h>

#include <cmath>

using namespace heed;

namespace {

const double none = std::nan("");

SentenceCauses found() {
  return {.tokens = {"the", "capital", "of", "france", "is", "the", "[MASK]"},
          .query = 6,
          .answer = "paris",
          .probability = 0.75,
          .difference = none,
          .pair_difference = none,
          .heads = {{.layer = 0,
                     .head = 1,
                     .zero = -0.5,
                     .mean = -0.0001,
                     .answer_without = "lyon",
                     .weights = {0.005, 0.25, 0.125, 0.5, 0.0625, 0.025, 0.0325},
                     .cuts = {none, 0.125, 0, -0.25, 0, 0, 0},
                     .zero_weight = -0.125,
                     .restored = none},
                    {.layer = 11,
                     .head = 11,
                     .zero = 0.125,
                     .mean = 0.0625,
                     .answer_without = "paris",
                     .weights = {1, 0, 0, 0, 0, 0, 0},
                     .cuts = {-0.0625, none, none, none, none, none, none},
                     .restored = none}}};
}

SentenceCauses with_pair() {
  SentenceCauses causes = found();
  causes.rival = "rome";
  causes.pair_tokens = {"the", "capital", "of", "italy", "is", "the", "[MASK]"};
  causes.difference = 3;
  causes.pair_difference = -2;
  causes.heads[0].restored = 0.625;
  causes.heads[1].restored = -0.125;
  return causes;
}

}  // namespace

TEST_CASE("sentence_causes_view says first on which head the answer depends most, then shows every head") {
  CHECK(sentence_causes_view(found(), {}) ==
        R"(paris depends most on layer 1 head 2: zero-ablated, its probability is 0.250
instead of 0.750, and the answer is lyon.
Zero ablation of one head changes the answer for 1 of 2 heads.
Of all edges from [MASK], [MASK] -> france in layer 1 head 2 matters most: cut,
it changes the probability of paris by -0.250.
With the weight of that edge set to 0 instead, so that no other token receives
it, the change is -0.125.
One sentence is an anecdote: the next one may depend on other heads. Ask several
before you conclude.

the capital of france is the [MASK]
predicts paris with probability 0.750

Changes of the probability of paris:
                    zero    mean           edge whose cut changes most
layer 1 head 2    -0.500   0.000           france -0.250 (weight 0.50)
layer 12 head 12  +0.125  +0.062           the₁ -0.062 (weight 1.00)
)");
}

TEST_CASE("sentence_causes_view of a pair says which head carries the difference") {
  const std::string text = sentence_causes_view(with_pair(), {});
  CHECK(
      text.starts_with("Layer 1 head 2 carries the difference between paris and rome: patched into the\n"
                       "pair, it restores 62.5 % of it.\n"));
  CHECK(text.find("the pair, predicts rome; the logit of paris minus that of rome: 3.000 above,\n-2.000 here\n") !=
        text.npos);
  CHECK(text.find("layer 12 head 12  +0.125  +0.062 -12.5 %   the₁ -0.062 (weight 1.00)\n") != text.npos);
  SentenceCauses spread = with_pair();
  spread.heads[0].restored = 0.25;
  CHECK(sentence_causes_view(spread, {})
            .starts_with("No single head carries half of the difference between paris and rome: layer 1\nhead 2 "
                         "restores most, 25.0 %.\n"));
}

TEST_CASE("sentence_causes_view fits the terminal, and names the heads that it leaves out") {
  check_width(sentence_causes_view(with_pair(), at_width(40)), 40);
  SentenceCauses large = found();
  for (int head = 0; head < 98; ++head) large.heads.push_back(large.heads[1]);
  const std::string text = sentence_causes_view(large, {});
  CHECK(text.find("heads, sorted by their largest absolute change in any column.\n--layer 1 shows all of") !=
        text.npos);
  View view;
  view.layer = 1;
  CHECK(sentence_causes_view(found(), view).starts_with("Of the heads measured: paris depends most on"));
}

TEST_CASE("sentence_causes_view shows a head that is large in one column only") {
  const auto shown = [](const SentenceCauses& causes, const char* head) {
    return sentence_causes_view(causes, {}).find(head) != std::string::npos;
  };
  for (const bool is_pair : {false, true}) {
    CAPTURE(is_pair);
    SentenceCauses causes = is_pair ? with_pair() : found();
    if (is_pair) causes.heads[1].restored = 0;
    for (int head = 0; head < 98; ++head) causes.heads.push_back(causes.heads[1]);
    causes.heads.push_back({.layer = 6, .head = 6, .zero = -0.596, .answer_without = "paris", .restored = 0});
    causes.heads.push_back({.layer = 7, .head = 7, .mean = 0.7, .answer_without = "paris", .restored = 0});
    causes.heads.push_back(
        {.layer = 8, .head = 8, .answer_without = "paris", .weights = {1}, .cuts = {-0.8}, .restored = 0});
    if (is_pair) causes.heads.push_back({.layer = 9, .head = 9, .answer_without = "paris", .restored = -0.125});
    CHECK(shown(causes, "\nlayer 7 head 7 "));
    CHECK(shown(causes, "\nlayer 8 head 8 "));
    CHECK(shown(causes, "\nlayer 9 head 9 "));
    if (is_pair) CHECK(shown(causes, "\nlayer 10 head 10 "));
  }
}

TEST_CASE("sentence_causes_json writes null for undefined values") {
  const Json json = sentence_causes_json(found());
  CHECK((json.at("pair").is_null() && json.at("rival").is_null() && json.at("difference").is_null()));
  CHECK(json.at("measure") == "probability");
  const Json& head = json.at("heads")[0];
  CHECK((head.at("layer") == 0 && head.at("head") == 1 && head.at("zero") == -0.5 && head.at("mean") == -0.0001));
  CHECK(head.at("answer_without") == "lyon");
  CHECK(head.at("weights")[3] == 0.5);
  CHECK((head.at("cuts")[0].is_null() && head.at("cuts")[3] == -0.25));
  CHECK(head.at("zero_weight") == -0.125);
  CHECK(sentence_causes_json(with_pair()).at("heads")[0].at("restored") == 0.625);
}
