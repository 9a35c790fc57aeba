#include "browser.h"
#include "choosing.h"
#include "open.h"
using namespace heed;

TEST_CASE("Candidates are marked in every picture, their answers told apart, and twins stand side by side") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const SavedModel model = choosing_model();
  const std::vector<Example> examples = twins();
  write_choosing_run(place / "run", model, examples);
  write_file(place / "page.html", page({page_run(place / "run", 2)}));
  chromium->open(place / "page.html");

  CHECK(chromium->text("document.querySelector('.words').textContent.trim()") == "the cup hid jam it was big");
  CHECK(chromium
            ->run("['antecedent', 'candidate', 'asked'].map((name) => "
                  "document.querySelector(`.words .${name}`).textContent)")
            .dump() == R"(["the cup","jam","it"])");
  CHECK(chromium->text("document.querySelector('.signs').textContent") ==
        "The model is asked about it, and chooses among the cup and jam; the framed one is meant.");
  // Of twins with one answer one is right.
  const std::string said = attend(*model.reader, model.vocabulary, examples[0]).predicted;
  const bool same = said == attend(*model.reader, model.vocabulary, examples[1]).predicted;
  REQUIRE(same);
  const bool first = said == "the cup";
  const auto sign = [](bool right) { return right ? std::string("✓") : std::string("✗"); };
  const Json options = chromium->run(
      "[...document.querySelector('[aria-label=Sentence]').options].map(({textContent}) => textContent.slice(0, 3))");
  CHECK(options == Json::array({"1 " + sign(first), "2 " + sign(!first)}));
  CHECK(chromium->text("document.querySelector('.answer').textContent").starts_with("→ " + said + " " + sign(first)));
  CHECK(chromium->run("/On the cup, which is meant, \\d[.]\\d\\d, on jam \\d[.]\\d\\d[.]$/.test(document."
                      "querySelector('#panel .says').textContent)") == true);
  chromium->run(
      "marked = () => [...new Set([...viewNow().figures[0].svg.querySelectorAll('text')].filter((t) => "
      "t.getAttribute('fill') === ink.mark).map((t) => t.firstChild.data))]");
  for (const char* view : {"Sentence", "Matrix", "Side by side"}) {
    INFO(view);
    show(*chromium, view);
    CHECK(chromium->run("marked()") == Json::array({"the", "cup", "jam"}));
  }
  CHECK(chromium->text("document.querySelector('#main [aria-pressed=true]').textContent") == "Twin sentences");
  // What is not the answer has the rest of the probability.
  CHECK(
      chromium->run("[...document.querySelectorAll('#main .answers tbody tr')].every((row) => "
                    "Math.abs(total([...row.querySelectorAll('.figure-text')].map((t) => Number(t.textContent))) - 1) "
                    "< 0.0011)") == true);
  show(*chromium, "Why");
  const Json looks = chromium->run(
      "[...document.querySelectorAll('[aria-label=\"Right and wrong answers apart\"] tbody tr')].map((row) => "
      "[...row.children].slice(0, 2).map(({textContent}) => textContent))");
  CHECK(looks.dump() == R"([["right","1"],["wrong","1"]])");
  for (const char* view : {"Calculation", "Weights", "Try it"}) {
    show(*chromium, view);
    CHECK(chromium->text("document.querySelector('#main .notice').textContent")
              .starts_with("The model chooses among candidates;"));
  }
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
