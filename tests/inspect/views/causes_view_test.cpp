#include "inspect/causal/causes.h"
#include "inspect/views/view.h"
#include "tests/inspect/causal/helpers.h"
#include "tests/inspect/views/helpers.h"

using namespace heed;

TEST_CASE("causes_view fits the terminal, and shows the layer and head chosen") {
  const SavedModel model = small_model();
  const Causes found = causes(model, sentences(), {question(model, "The dog was it")});
  const std::string text = causes_view(found, {});
  CHECK(text.starts_with("step 400: 5 of 5 held-out sentences\n"));
  CHECK(text.find("layer 2 all heads at once\n") != std::string::npos);
  CHECK(text.find("    in 4 of 5 sentences\n") != std::string::npos);
  CHECK(text.find("\nThe dog was it\nthe logit of ") != std::string::npos);
  check_width(text, 80);
  CHECK(text.find("brackets") == std::string::npos);  // no antecedent is known
  Causes marked = found;
  marked.attribution[0].antecedent = 1;
  CHECK(causes_view(marked, {}).ends_with("\n[brackets] mark the antecedent: the token that the query refers to.\n"));
  View view;
  view.layer = 2, view.head = 1;
  const std::string one = causes_view(found, view);
  CHECK(one.find("layer 2 head 1\n") != std::string::npos);
  CHECK(one.find("layer 1 head") == one.find("layer 1 head 1 alone"));
  CHECK(one.find("all heads at once") == std::string::npos);
}

TEST_CASE("causes_view says what does not apply to the sentences") {
  const SavedModel model = small_model();
  std::vector<Example> bare = sentences();
  for (Example& e : bare) e.antecedent = e.distractor = e.twin = -1, e.decider = "";
  const Causes found = causes(model, bare, {});
  CHECK(causes_view(found, {}).find(found.left_out[3]) != std::string::npos);
}

TEST_CASE("causes_view has two lines a row where the terminal is narrow") {
  const SavedModel model = small_model();
  const Causes found = causes(model, sentences(), {question(model, "The dog was it")});
  const std::string text = causes_view(found, at_width(40));
  check_width(text, 40);
  CHECK(text.find("\n  cut query -> antecedent\n  0.") != std::string::npos);
}

TEST_CASE("causes_view shows two heads of a large model, and what the others add to a logit") {
  Causes found;
  Attribution one{.tokens = {"a", "b"},
                  .query = 1,
                  .antecedent = -1,
                  .answer = "\x1b[1m",
                  .logit = 10,
                  .layer = 1,
                  .terms = {},
                  .rest = {}};
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 3; ++head) {
      found.rows.push_back({.what = Cause::What::edge,
                            .layer = layer,
                            .head = head,
                            .from = "query",
                            .to = "antecedent",
                            .weight = 0.1 * (3 * layer + head)});
      if (layer == 1) one.terms.push_back({head, 0, 1.0 + head}), one.terms.push_back({head, 1, 0.25});
    }
  }
  found.pointing = {1, 2, 0.5};
  for (int more = 3; more < 6; ++more) one.terms.push_back({more, 0, 0.5});
  found.attribution = {one};
  const std::string text = causes_view(found, {});
  CHECK(text.find("layer 2 head 3\n") < text.find("layer 2 head 2\n"));
  CHECK(text.find("layer 1 head 1\n") == std::string::npos);
  CHECK(text.find("Shown: 2 of 6 heads, those with the most weight on the antecedent. --layer 2") != std::string::npos);
  CHECK(text.find("\n  layer 2 head 3  a +3.000  b +0.250  others +0.000\n") != std::string::npos);
  CHECK(text.find("\n  4 other heads +2.750  = 8.250\n") != std::string::npos);
  CHECK(text.find("\nthe logit of ␛[1m is 10.000:\n") != std::string::npos);
}

TEST_CASE("An edge that matters beside that to the antecedent is named in the verdict") {
  Causes found;
  found.sentences = 100;
  found.accuracy = 1;
  found.chance = std::nan("");
  found.pointing = {0, 1, 0.85};
  const auto add = [&](const char* to, double accuracy) {
    found.rows.push_back(
        {.what = Cause::What::edge, .head = 1, .from = "query", .to = to, .sentences = 100, .accuracy = accuracy});
  };
  add("antecedent", 0.5);
  add("other", 1);
  add("decider", 0);
  add("itself", 0.97);
  CHECK(causes_verdict(found)[2] == "It needs more than that edge: without the one to the decider 0.0 % are right.");
  CHECK(causes_verdict(found)[3] == "Without any other one edge of that head, at least 97.0 %.");
  found.rows[3].accuracy = 0.25;
  CHECK(causes_verdict(found)[2] ==
        "It needs more than that edge: without the one to the decider 0.0 %, without the one to itself 25.0 % are "
        "right.");
  found.rows[2].accuracy = found.rows[3].accuracy = 1;
  CHECK(causes_verdict(found)[2] == "Without any other one edge of that head, at least 100.0 %.");
}
