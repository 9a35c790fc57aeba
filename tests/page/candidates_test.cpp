#include "browser.h"
#include "choosing.h"
#include "open.h"
#include "trying.h"

#include <heed/explain/score_parts.h>

using namespace heed;

TEST_CASE("Candidates are marked in every picture, and minimal pairs are shown side by side") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = choosing_model();
  const std::vector<Example> examples = counterparts();
  const ChoosingPage page(model);
  chromium->open(page.file);

  CHECK(chromium->text("document.querySelector('.words').textContent.trim()") == "the cup hid jam it was big");
  CHECK(chromium
            ->run("['antecedent', 'candidate', 'asked'].map((name) => "
                  "document.querySelector(`.words .${name}`).textContent)")
            .dump() == R"(["the cup","jam","it"])");
  CHECK(chromium->text("document.querySelector('.signs').textContent") ==
        "Question: what does it refer to? Candidates: the cup and jam; the framed one is correct.");
  // A model that gives both sentences of a pair the same answer is right in one of them.
  const std::string said = attend(model, examples[0]).predicted;
  const bool same = said == attend(model, examples[1]).predicted;
  REQUIRE(same);
  const bool first = said == "the cup";
  const auto sign = [](bool right) { return right ? std::string("✓") : std::string("✗"); };
  const Json options = chromium->run(
      "[...document.querySelector('[aria-label=Sentence]').options].map(({textContent}) => textContent.slice(0, 3))");
  CHECK(options == Json::array({"1 " + sign(first), "2 " + sign(!first)}));
  CHECK(chromium->text("document.querySelector('.answer').textContent").starts_with("→ " + said + " " + sign(first)));
  CHECK(chromium->run(
            "/it puts \\d+\\s% of its attention on the cup, the correct candidate, \\d+\\s% on jam[.]$/.test(document."
            "querySelector('#panel .says').textContent)") == true);
  chromium->run(
      "marked = () => [...new Set(viewNow().figures.flatMap(({svg}) => [...svg.querySelectorAll('text')]).filter((t) "
      "=> "
      "t.getAttribute('fill') === ink.mark).map((t) => t.firstChild.data))]");
  for (const char* view : {"Sentence", "All heads", "Side by side"}) {
    INFO(view);
    show(*chromium, view);
    CHECK(chromium->run("marked()") == Json::array({"the", "cup", "jam"}));
  }
  CHECK(chromium->text("document.querySelector('#main [aria-pressed=true]').textContent") == "Minimal pair");
  // The rest of the probability belongs to the other answers.
  CHECK(
      chromium->run("[...document.querySelectorAll('#main .answers tbody tr')].every((row) => "
                    "Math.abs(total([...row.querySelectorAll('.figure-text')].map((t) => Number(t.textContent))) - 1) "
                    "< 0.0011)") == true);
  show(*chromium, "Why");
  const Json looks = chromium->run(
      "[...document.querySelectorAll('[aria-label=\"Right and wrong answers apart\"] tbody tr')].map((row) => "
      "[...row.children].slice(0, 2).map(({textContent}) => textContent))");
  CHECK(looks.dump() == R"([["right","1"],["wrong","1"]])");
  show(*chromium, "QK and OV");
  chromium->wait_for("document.querySelectorAll('.two tbody tr').length > 2");
  CHECK(chromium->text("document.querySelectorAll('#main .two h2')[1].textContent") ==
        "OV circuit: which candidate attending to a word raises");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page computes the choice among candidates like the program, to 1e-5") {
  Browser* chromium = browser();
  if (!chromium) return;
  const auto check = [&](const Model& model, const std::vector<std::string>& texts) {
    const Example watched = counterparts()[0];
    const ChoosingPage page(model);
    chromium->open(page.file);
    show(*chromium, "Try it");
    CHECK(chromium->text("document.querySelector('#main textarea').value") == "[the cup] hid [jam] it was big");
    CHECK(largest_difference(chromium->run(typed), expected(model, watched)) < tolerance);
    for (const std::string& text : texts) {
      INFO(text);
      type(*chromium, text);
      CHECK(largest_difference(chromium->run(typed), expected(model, question(model, text))) < tolerance);
    }
    const ScoreParts parts = score_parts(model, watched, 1, 0);
    const Json found = chromium->run(fmt::format(
        "(() => {{ const p = finished(takingApart(readerOf(0), dumped(0, 1, 0), 1, 0, 4, {}, {})); return [p.score, "
        "...[true, false].map((side) => finished(p.without(side, side ? {} : {})).probability)]; }})()",
        parts.to, parts.rather, parts.cuts[0].part, parts.cuts[1].part));
    CHECK(largest_difference(found, {parts.score, parts.cuts[0].probability, parts.cuts[1].probability}) < tolerance);
    CHECK(chromium->complaints() == std::vector<std::string>{});
  };
  const std::vector<std::string> texts{"it was [jam] the [cup]", "[big cup] hid [tiny jam] [the jam] it"};
  check(shaken(choosing_model()), texts);
  check(shaken(choosing_model(true, Positions::rotary)), {texts[0], texts[1], "it hid [the jam]"});
  check(shaken(choosing_model(false, Positions::sinusoidal, true)), {texts[0], "It hid [the mug] [jam] was red"});
}

TEST_CASE("An edited sentence keeps its query and candidates, and a message reports a lost one") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(choosing_model());
  const ChoosingPage page(model);
  chromium->open(page.file);
  show(*chromium, "Try it");
  const auto notice = [&] {
    return chromium->text(
        "document.querySelector('.notice').hidden ? '' : document.querySelector('.notice').textContent");
  };
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"[the cup] hid jam it was big",
            "jam is not a candidate any more. Put brackets around the candidates: The [trophy] doesn’t fit in [the "
            "suitcase] …"},
           {"[the cup] hid [it was big", "“[” without “]” after it."},
           {"[the cup hid [jam]", "“[” without “]” before it."},
           {"the cup] [hid] [jam]", "“]” without “[” before it."},
           {"[] [the cup] hid [jam] it", "These brackets are empty."},
           {"[ ] [the cup] hid [jam] it", "These brackets are empty."}}) {
    INFO(text);
    type(*chromium, text);
    CHECK(notice() == said);
    CHECK(chromium->run("document.querySelector('.stale') !== null") == true);
  }
  // The query stays at its word when the text before or after it is edited.
  type(*chromium, "[the cup] hid [jam] it was it");
  CHECK(chromium->run("subject().query") == 4);
  type(*chromium, "tiny [the cup] hid [jam] it was it");
  CHECK(chromium->run("subject().query") == 5);
  CHECK(notice() == "");
  // A candidate cannot be the query.
  chromium->click("viewNow().figures[0].svg.querySelectorAll('.token-left')[4]");
  CHECK(chromium->run("[subject().query, state.token]") == Json({5, 4}));

  // Switching a head off removes its contribution through W_O; the table then shows the previous values.
  const std::string text = "[the cup] hid [jam] it was tiny";
  type(*chromium, text);
  chromium->run("update({layer: 1, head: 0})");
  chromium->settle();
  press_button(*chromium, "Remove layer 2 head 1");
  const Model without = shaken(choosing_model());
  Tensor W_O = without.parameters["encoder.1.attention.W_O.weight"];
  std::vector<double> values = W_O.to_vector();
  std::fill(values.begin(), values.begin() + 4 * 8, 0.0);
  W_O.copy_from(tensor(W_O.shape(), values));
  CHECK(largest_difference(chromium->run(typed), expected(without, question(without, text))) < tolerance);
  CHECK(chromium->run("document.querySelectorAll('#main .answers tbody td:nth-child(3)').length") == 2);
  CHECK(largest_difference(chromium->run("[...document.querySelectorAll('#main .answers tbody td:nth-child(3)')]"
                                         ".map((x) => Number(x.textContent)).sort()"),
                           [&] {
                             std::vector<double> all = expected(model, question(model, text));
                             all.erase(all.begin(), all.end() - 2);
                             std::ranges::sort(all);
                             return all;
                           }()) < 0.0006);

  show(*chromium, "Sentence");
  CHECK(chromium->text("document.querySelector('.signs').textContent")
            .starts_with("Question: what does it refer to? Candidates: the cup and jam. Your own sentence."));
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
