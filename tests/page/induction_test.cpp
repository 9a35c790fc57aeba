#include "open.h"
#include "tests/explain/circuits/induction_by_hand.h"
#include "trying.h"
#include "views/induction_view.h"

#include <heed/explain/studies/induction_scores.h>

#include <algorithm>

// What the page says about induction heads.
using namespace heed;

namespace {

Example copying(std::vector<std::string> tokens) {
  Example example;
  example.query = static_cast<int>(tokens.size()) - 1;
  example.antecedent = static_cast<int>(std::ranges::find(tokens, tokens.back()) - tokens.begin()) + 1;
  example.tokens = std::move(tokens);
  return example;
}

std::string aside(Browser& chromium) { return chromium.text("document.querySelector('.aside').innerText"); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

// Returns the rule of inspect induction, as the terminal states it of induction heads.
std::string rule_of(RepeatedScores scores) {
  scores.heads = {{{.previous_token = {}, .induction = {1, 1, 1}}}};
  scores.right.share = std::nan("");
  const std::string verdict = repeated_verdict(scores, View{});
  return verdict.substr(verdict.find("over "));
}

}  // namespace

TEST_CASE(
    "The page of an induction text opens with two arcs, and names no induction head that the rule does not show") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(shaken(small_model(decoder_of(small_config()))),
                  {copying({"dog", "it", "The", "street", "was", "dog"})});
  chromium->open(page.file);
  CHECK_FALSE(has(aside(*chromium), "antecedent"));
  CHECK(chromium->text("kindOf()") == "induction");
  const Json heads = chromium->run(
      "(({previous, induction}) => [previous, induction].map(({layer, head}) => [layer, head]))(inductionHeads())");
  const Json weights = chromium->run("inductionArcs(shownNow()).map(({from, to, weight}) => [from, to, weight])");
  const Dump dump = read_dump(dump_path(page.path / "run", 400));
  const auto weight = [&](const Json& at, int from, int to) {
    return dump.sentences[0].layers[at[0].get<std::size_t>()].at({at[1].get<int>(), from, to});
  };
  CHECK(largest_difference({weights[0][2], weights[1][2]}, {weight(heads[1], 5, 1), weight(heads[0], 1, 0)}) < 1e-4);
  CHECK(chromium->run("viewNow().figures[0].svg.querySelectorAll('.arc').length") == 2);

  const RepeatedScores scores = repeated_scores(load_model(model_path(page.path / "run")));
  for (std::size_t i = 0; i < 4; ++i) {
    const double share = scores.heads[i / 2][i % 2].induction.share;
    CHECK(chromium->run(fmt::format("runNow().repeated.heads[{}].induction.share", i)).get<double>() == Approx(share));
    CHECK_FALSE(scores.is_induction(static_cast<int>(i / 2), static_cast<int>(i % 2)));
  }
  CHECK(has(aside(*chromium), "No head is shown to be an induction head at step 400. Rule: " + rule_of(scores)));
  CHECK_FALSE(has(aside(*chromium), ": induction head"));
  CHECK(has(aside(*chromium), ": the largest mean weight behind the earlier copy, 0."));
  CHECK(has(aside(*chromium), ": the largest mean weight on the token before, 0."));
  CHECK(chromium->run("document.querySelectorAll('.guide button').length") == 2);
  chromium->click("document.querySelector('.guide button')");
  CHECK(chromium->run("state.removed.length") == 1);
  CHECK(has(aside(*chromium), " of its attention behind the earlier copy. "));
  show(*chromium, "All heads");
  CHECK_FALSE(has(chromium->text("document.querySelector('#main').innerText"), "antecedent"));
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page names each induction head of the rule, and claims nothing about one without the other") {
  Browser* chromium = browser();
  if (!chromium) return;
  InductionByHand made(10);  // reads 5 tokens twice
  made.add_second_head();
  made.model.step = 400;
  const Page page(made.model, {copying({"d", "a", "b", "c", "a"})});
  chromium->open(page.file);
  const RepeatedScores scores = repeated_scores(load_model(model_path(page.path / "run")));
  REQUIRE((scores.is_induction(1, 0) && scores.is_induction(1, 1)));
  REQUIRE_FALSE((scores.is_induction(0, 0) || scores.is_induction(0, 1)));
  const std::string before = aside(*chromium);
  const auto named = [&](int head) {
    const double share = scores.heads[1][static_cast<std::size_t>(head)].induction.share;
    return fmt::format("layer 2 head {} ({:.2f})", head + 1, share);
  };
  CHECK(has(before, "Induction heads at step 400: "));
  CHECK((has(before, named(0)) && has(before, named(1))));
  CHECK(has(before, "Rule: " + rule_of(scores) + " The model predicts "));
  CHECK(has(before, " of the tokens of the second copies right. The means below come from these sequences."));
  CHECK((has(before, "layer 2 head 1: induction head, ") && has(before, "layer 2 head 2: induction head, ")));
  CHECK(has(before, "layer 1 head 1: the largest mean weight on the token before, "));
  CHECK(has(before, "The answer is b, with probability "));
  // Without one of the two, the answer stays: the page says what is measured.
  CHECK_FALSE(has(before, "does not continue the pattern"));
  chromium->click("document.querySelector('.guide [aria-label=\"Remove layer 2 head 1\"]')");
  CHECK(has(aside(*chromium), "The answer stays b: its probability is "));
  CHECK_FALSE(has(aside(*chromium), "After the removal"));  // the weights of the removed head
  chromium->click("document.querySelector('.guide [aria-label=\"Remove layer 2 head 2\"]')");
  CHECK(chromium->run("state.removed") == Json({"1.0", "1.1"}));
  CHECK(
      chromium->run("shownNow().live.reading.answers(4, 9).find(({word}) => word === 'b').probability").get<double>() <
      0.2);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A page without scores over repeated tokens says that it cannot tell which heads are induction heads") {
  Browser* chromium = browser();
  if (!chromium) return;
  InductionByHand made;  // reads 6 tokens, so no 4 twice
  made.model.step = 400;
  const Page page(made.model, {copying({"a", "b", "c", "d", "a"})});
  chromium->open(page.file);
  CHECK(chromium->run("runNow().repeated === undefined") == true);
  const std::string text = aside(*chromium);
  CHECK(has(text,
            "This page cannot tell which heads are induction heads: it does not have their scores over repeated random "
            "tokens. The heads below have the largest scores in the watched sentences at step 400."));
  CHECK(has(text, "layer 2 head 1: the largest mean weight behind the earlier copy, 0."));
  CHECK_FALSE(has(text, ": induction head"));
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
