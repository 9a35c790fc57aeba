#include "browser.h"
#include "choosing.h"
#include "open.h"
#include "trying.h"

#include <algorithm>

// Figures on a page are labelled, agree in all views, and fit the window.
using namespace heed;

namespace {

constexpr const char* said = "document.querySelector('#panel .says').textContent";
constexpr const char* fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";

// An untrained model with this many more words, layers and heads.
Model sized_model(int words, int layers, int heads) {
  Model model = small_model();
  for (int word = 0; word < words; ++word) model.vocabulary.add(fmt::format("word{}", word));
  ModelConfig config = model.config();
  config.transformer.vocabulary = model.vocabulary.size();
  config.transformer.layers = layers;
  config.transformer.block.attention.heads = heads;
  model.parameters = Parameters();
  model.build(Scope(model.parameters, 5), config);
  return model;
}

// Checks that every picture of the view is inside the window, including its text.
bool pictures_fit(Browser& chromium) {
  return chromium.run(std::string(fits) +
                      " && viewNow().figures.filter(({svg}) => svg.isConnected).every(({svg, width}) => "
                      "width <= document.getElementById('main').clientWidth + 1 && [...svg.querySelectorAll('text')]"
                      ".every((t) => t.getBoundingClientRect().right <= svg.getBoundingClientRect().right + 1))") ==
         true;
}

}  // namespace

TEST_CASE("The page of a language model names the largest weight and the next token") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = small_model(decoder_of(modern_config()));
  const Page page(model, {question(model, animal)});
  chromium->open(page.file);
  CHECK(chromium->text("document.querySelector('.aside h2').textContent") == "Next token after tired");
  CHECK(chromium->text("document.querySelector('.summary').textContent")
            .ends_with(" of held-out tokens right at step 400"));
  show(*chromium, "All heads");
  CHECK(chromium->text(said).find("has the most telling weight from tired: ") != std::string::npos);
  CHECK(chromium->text("document.querySelector('#main').textContent").find("antecedent") == std::string::npos);
  const Json scores = chromium->run("scoresOfHeads(shownNow()).map(({kind}) => kind)");
  CHECK(scores.dump() == R"(["pattern","direct","previous","first","same","entropy"])");
  CHECK(chromium->run("headRows()[0].slice(-2)") == Json::array({"largest weight", "accuracy after the removal"}));
  show(*chromium, "Why");
  CHECK(chromium->text("document.querySelector('#main .notice').textContent")
            .starts_with("inspect page --limit N and inspect causes measure "));
}

TEST_CASE("The weight on an antecedent of two tokens is their sum in every view") {
  Browser* chromium = browser();
  if (!chromium) return;
  const ChoosingPage page(choosing_model());
  chromium->open(page.file, 1280, false, "#layer=2&head=1");
  const Json sum = chromium->run(
      "(() => { const now = subject(), row = now.attention.of(1, 0).subarray(now.query * 7, now.query * 7 + 7); "
      "return row[0] + row[1]; })()");
  CHECK(chromium->run("weightOnAnswer(subject(), 1, 0)") == sum);
  const std::string share = fmt::format("{:.0f} %", 100 * sum.get<double>());
  CHECK(chromium->text(said).find("puts " + share + " of its attention on the cup, the correct candidate") !=
        std::string::npos);
  show(*chromium, "All heads");
  const Json best = chromium->run("Math.max(...allHeads([2, 2]).map((at) => weightOnAnswer(subject(), ...at)))");
  CHECK(chromium->text(said).find(fmt::format(" on the cup: {:.0f} %.", 100 * best.get<double>())) !=
        std::string::npos);
}

TEST_CASE("A page without a model hides the views and buttons that need one") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const Model model = small_model();
  write_run(place / "run", model, examples_of(model));
  std::filesystem::remove(model_path(place / "run"));
  write_file(place / "page.html", page({page_run(place / "run")}));
  chromium->open(place / "page.html");
  CHECK(views_of(*chromium) == std::vector<std::string>{"Sentence", "All heads", "Side by side"});
  CHECK(chromium->text("document.querySelector('#panel').textContent").find("Remove") == std::string::npos);
}

TEST_CASE("The circuits of a large vocabulary fit the window, and appear in tasks below 1.5 s") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(sized_model(900, 1, 2));
  for (const int width : {1440, 390}) {
    INFO(width);
    chromium->open(page.file, width);
    const std::vector<Browser::Task> tasks = chromium->tasks([&] {
      show(*chromium, "QK and OV");
      chromium->wait_for("document.querySelectorAll('.two tbody tr').length === 24");
    });
    CHECK(std::ranges::max(tasks, {}, &Browser::Task::processor).processor < 1500);
    CHECK(pictures_fit(*chromium));
    CHECK(chromium->text("document.querySelector('.two p').textContent").find("The first 500 of 9") !=
          std::string::npos);
  }
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("All heads of 12 layers of 12 heads fit a phone, and each can be selected") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(sized_model(0, 12, 12));
  chromium->open(page.file, 390);
  show(*chromium, "All heads");
  CHECK(pictures_fit(*chromium));
  CHECK(chromium->run("viewNow().figures[0].maps.filter(({ramp}) => !ramp).length") == 144);
  CHECK(chromium->run("Math.min(...[...document.querySelectorAll('#main .head')].map((one) => one.getBBox().width))") >=
        24);
  chromium->click("document.querySelectorAll('#main .head')[143]");
  CHECK(chromium->run("[state.layer, state.head]") == Json({11, 11}));
  // With keys, too.
  chromium->press("ArrowUp");
  chromium->press("ArrowLeft");
  CHECK(chromium->run("[state.layer, state.head]") == Json({10, 10}));
}

TEST_CASE("The parts of a large view are drawn one after another, and saved in the light theme") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(sized_model(0, 13, 12));
  chromium->open(page.file, 1280, true);
  show(*chromium, "All heads");
  chromium->wait_for(
      "document.querySelectorAll('#panel .head').length === 156 && viewNow().figures[1].maps?.length > 0");
  chromium->wait_for("turn === 0");
  chromium->run("chooseOneHead(12, 11)");
  chromium->wait_for("viewNow().figures[1].svg.textContent.startsWith('layer 13 head 12')");
  const std::string dark_text = chromium->run("ink.text");
  CHECK(dark_text == "#eef2f7");
  CHECK(chromium->run("inLight(() => viewNow().figures.map((one) => one.svgText())).filter((text) => "
                      "text.includes('#eef2f7')).length") == 0);
  CHECK(chromium->run("viewNow().figures.every((one) => one.svgText().includes('#eef2f7'))") == true);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A pending part of a large run's view is not drawn over the view of a small run") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const Model large = sized_model(0, 13, 12), small = small_model();
  write_run(place / "large", large, examples_of(large));
  write_run(place / "small", small, examples_of(small));
  write_file(place / "page.html", page({page_run(place / "large"), page_run(place / "small")}));
  chromium->open(place / "page.html");
  show(*chromium, "All heads");
  const std::string heads = "document.querySelectorAll('#panel .head').length";
  chromium->wait_for(heads + " === 156 && turn === 0");
  CHECK(chromium->run("update({token: 2}); draw(); const waits = due.size; chooseRun(1); draw(); waits > 0") == true);
  chromium->wait_for("turn === 0");
  CHECK(chromium->run(heads) == small.layers() * small.heads());
}

TEST_CASE("Each share of held-out sentences is shown with its count and its interval") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const Model model = small_model();
  std::vector<Example> held_out = examples_of(model);
  for (Example& e : held_out) e.answer = e.tokens[static_cast<std::size_t>(e.antecedent)];
  write_run(place / "run", model, examples_of(model));
  write_jsonl(held_out_path(place / "run"), held_out);
  write_file(place / "page.html", page({page_run(place / "run")}));
  chromium->open(place / "page.html");
  CHECK(chromium->text("document.querySelector('.summary').textContent")
            .ends_with(" of 2 held-out sentences right at step 400"));
  CHECK(chromium->text("accuracyText({accuracy: 1, accuracy_low: 0.517, accuracy_high: 1})") ==
        "100.0 % (51.7 to 100.0)");
  CHECK(chromium->text("accuracyText({accuracy: 0.28, accuracy_low: 0.217, accuracy_high: 0.343})") == "28.0 % ± 6.3");
  show(*chromium, "All heads");
  CHECK(chromium->run(std::string("/ After that edge is removed in it, "
                                  "\\d+[.]\\d\\s%\\s(±\\s\\d+[.]\\d|[(]\\d+[.]\\d\\sto\\s\\d+[.]\\d[)]) of 2 held-out "
                                  "sentences are answered right [(]before \\d+[.]\\d\\s%[)][.]$/.test(") +
                      said + ")") == true);
  CHECK(chromium->text("document.querySelector('#panel .lead').textContent")
            .find("the accuracy over 2 held-out sentences after that edge is removed") != std::string::npos);
  show(*chromium, "Why");
  CHECK(chromium->run("causeRows(content.runs[0].causes)[0].join()") ==
        "what,layer,head,from,to,sentences,weight,change of probability,spread,accuracy before,accuracy after,at least,"
        "at most,flip rate");
}
