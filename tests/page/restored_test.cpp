#include "browser.h"
#include "choosing.h"
#include "open.h"

#include <heed/explain/studies/restored.h>
#include <heed/formats/datasets/jsonl.h>

using namespace heed;

namespace {

// Returns 12 minimal pairs of 11 words that ask about the eighth, as `animal` of open.h does. The answers are those that the model
// prefers, or the others.
std::vector<Example> pairs(const Model& model, bool swapped) {
  const std::vector<std::string> words{"didn't", "cross", "the", "because", "was", "too"};
  std::vector<Example> result;
  for (int i = 0; i < 12; ++i) {
    for (const char* last : {"tired", "dog"}) {
      Example e = question(model, animal);
      e.tokens[2] = words[static_cast<std::size_t>(i % 6)], e.tokens[3] = words[static_cast<std::size_t>(i / 6)];
      e.tokens.back() = last;
      const bool is_first = result.size() % 2 == 0;
      e.antecedent = is_first != swapped ? 1 : 5, e.distractor = 6 - e.antecedent;
      e.answer = e.tokens[static_cast<std::size_t>(e.antecedent)];
      e.counterpart = static_cast<int>(result.size() ^ 1);
      result.push_back(std::move(e));
    }
  }
  return result;
}

struct RestoredRun : Scratch {
  Model model = shaken(small_model());
  Restored found;
  std::filesystem::path file = path / "page.html";
  RestoredRun() {
    std::vector<Example> held_out = pairs(model, false);
    if (!(restored(model, minimal_pairs(model, held_out)).behaviour.low > 0)) held_out = pairs(model, true);
    found = restored(model, minimal_pairs(model, held_out));
    REQUIRE(found.behaviour.low > 0);
    std::vector<Example> watched = examples_of(model);
    watched.push_back(question(model, "The animal didn't cross because it was too tired"));
    write_run(path / "run", model, watched);
    write_jsonl(held_out_path(path / "run"), held_out);
  }
  void write(const std::string& language = "") const { write_file(file, page({page_run(path / "run")}, language)); }
};

const char* const box = "viewNow().figures[3].box";
const char* const tip = "viewNow().figures[3].tip.textContent";

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace

TEST_CASE("The page shows what each activation restores, by layer and word") {
  Browser* chromium = browser();
  if (!chromium) return;
  const RestoredRun run;
  run.write();
  for (const int width : {1440, 390}) {
    CAPTURE(width);
    chromium->open(run.file, width, width == 390, "#view=why");
    chromium->settle();
    CHECK(chromium->text("document.querySelector('#panel').innerText")
              .find("In 24 pairs of sentences that differ in one word") != std::string::npos);
    // Keys read the cells from the top left: the last layer at the first word.
    chromium->run(fmt::format("{}.focus()", box));
    chromium->press("ArrowRight");
    chromium->press("ArrowDown");
    for (int i = 0; i < 10; ++i) chromium->press("ArrowRight");
    const Interval changed = run.found.tables[0].cells[10][0].restored;
    CHECK(chromium->text(tip).starts_with("before layer 1, tired: restores " + percent_text(changed.share)));
    CHECK(chromium->text("document.getElementById('announcements').textContent") == chromium->text(tip));
    chromium->press("ArrowUp");
    const Restored::Cell& above = run.found.tables[0].cells[10][1];
    CHECK(chromium->text(tip) == fmt::format("before layer 2, tired: restores {} ({:.1f} to {:.1f}){}",
                                             percent_text(above.restored.share), 100 * above.restored.low,
                                             100 * above.restored.high,
                                             above.is_shown ? "" : "; not shown to differ from 0"));
    CHECK(chromium->run("document.documentElement.scrollWidth <= innerWidth") == true);
    CHECK(chromium->run(fmt::format("{}.getBoundingClientRect().right <= innerWidth", box)) == true);
    CHECK(chromium->complaints() == std::vector<std::string>{});
  }
  choose(*chromium, "Activation", 2);
  chromium->run(fmt::format("{}.focus()", box));
  chromium->press("ArrowRight");
  CHECK(chromium->text(tip).starts_with("MLP of layer "));

  // A sentence of another kind.
  chromium->run("update({sentence: 2})");
  chromium->settle();
  CHECK(chromium->text("document.querySelector('#panel').innerText")
            .find("too few minimal pairs of this sentence’s kind: of 9 tokens that ask about token 6.") !=
        std::string::npos);
  CHECK(chromium->run(fmt::format("{}.offsetParent === null", box)) == true);
  CHECK(chromium->complaints() == std::vector<std::string>{});

  run.write("zh");
  chromium->open(run.file, 390, false, "#view=why");
  chromium->settle();
  CHECK(chromium->text("document.querySelector('#panel').innerText").find("答案需要的信息在哪一层、哪个词？") !=
        std::string::npos);
  chromium->run(fmt::format("{}.focus()", box));
  chromium->press("ArrowRight");
  CHECK(chromium->text(tip).find("第 2 层之前") == 0);
}
