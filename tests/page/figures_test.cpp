#include "browser.h"
#include "choosing.h"
#include "open.h"
#include "trying.h"
#include "views/picture.h"

#include <heed/formats/datasets/jsonl.h>

// Whether the figures, names and messages of a page are right.
using namespace heed;

namespace {

std::string main_text(Browser& chromium) { return chromium.text("document.querySelector('#main').innerText"); }

// A run with held-out sentences, snapshots of steps 0 and 400, and the model of step 400.
struct MeasuredRun : Scratch {
  std::filesystem::path run = path / "run", file = path / "page.html";
  MeasuredRun() {
    const Model model = shaken(small_model());
    write_run(run, model, examples_of(model));
    std::vector<Example> held_out = examples_of(model);
    for (Example& example : held_out) example.answer = example.tokens[static_cast<std::size_t>(example.antecedent)];
    write_jsonl(held_out_path(run), held_out);
    write_file(file, page({page_run(run)}));
  }
};

}  // namespace

TEST_CASE("Each figure of the page is of the step shown, or names its step") {
  Browser* chromium = browser();
  if (!chromium) return;
  const MeasuredRun place;
  chromium->open(place.file, 1280, false, "#view=sentence&step=400");
  CHECK(main_text(*chromium).find("Over 2 held-out sentences, accuracy ") != std::string::npos);
  CHECK(main_text(*chromium).find("Is the attention the cause? ") != std::string::npos);
  CHECK(chromium->run("document.querySelectorAll('.guide button').length") == 2);
  CHECK(chromium->text("document.querySelector('.summary').textContent")
            .ends_with("100.0 % of 2 held-out sentences right at step 400"));
  chromium->run("update({removed: ['1.0']})");
  chromium->settle();
  chromium->run("update({step: 0})");
  chromium->settle();
  const std::string first = main_text(*chromium);
  CHECK(first.find("At step 400, over 2 held-out sentences, accuracy ") != std::string::npos);
  CHECK(first.find("Is the attention the cause at step 400? ") != std::string::npos);
  CHECK(first.find("this page holds none of step 0, but one of step 400. The figures are those of the whole model.") !=
        std::string::npos);
  CHECK(chromium->text("document.querySelector('#main h2').textContent") == "Answer at it");
  CHECK(chromium->text("document.querySelector('.says').textContent").ends_with("."));
  CHECK(chromium->text("document.querySelector('.says').textContent").find("removal") == std::string::npos);
  press_button(*chromium, "Show step 400");
  CHECK(chromium->run("subject().step") == 400);
  chromium->wait_for("document.querySelector('#main h2').textContent.endsWith(', after the removal')");

  // Whatever was measured in held-out sentences names its step in every view.
  chromium->run("update({step: 0, removed: []})");
  for (const std::string& view : views_of(*chromium)) {
    CAPTURE(view);
    show(*chromium, view);
    chromium->settle();
    const std::string text = main_text(*chromium);
    if (text.find("held-out sentence") != std::string::npos) CHECK(text.find("step 400") != std::string::npos);
    CHECK(text.find("after: ") == std::string::npos);
  }
  show(*chromium, "All heads");
  CHECK(chromium->text("headRows()[0].at(-1)") == "accuracy after the removal at step 400");
  choose(*chromium, "Heads by", 2);
  CHECK(main_text(*chromium).find("over held-out sentences, at step 400.") != std::string::npos);
  CHECK(chromium->text("viewNow().figures[0].caption()").find("effect of zero-ablating it, step 400") !=
        std::string::npos);
  show(*chromium, "Why");
  CHECK(chromium->text("document.querySelector('#panel section').innerText").starts_with("Measured at step 400; "));
  CHECK(chromium->text("viewNow().figures[1].caption()").find("step 400") != std::string::npos);

  // A point between two measured steps shows the figures of the earlier one, and says so.
  chromium->run("content.runs[0].steps[0].step = 100; update({tab: 0})");
  chromium->settle();
  const std::string legends =
      "[...training.figure.svg.querySelectorAll('text')].filter((t) => t.textContent === 'at step 0').length";
  CHECK(chromium->run(legends) == 2);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE(
    "The page shows the accuracy after a removal of the step shown, where the models of all steps were measured") {
  Browser* chromium = browser();
  if (!chromium) return;
  const MeasuredRun place;
  Model first = small_model();
  first.step = 0;
  std::filesystem::create_directory(place.run / "models");
  save_model(dumped_model_path(place.run, 0), first);
  const PageRun run = page_run(place.run);
  write_file(place.file, page({run}));
  chromium->open(place.file, 1280, false, "#view=sentence&step=0&layer=2&head=1");
  const Json& step = run.description.at("history").at("steps").at(0);
  CHECK(main_text(*chromium).find(
            fmt::format("Over 2 held-out sentences, accuracy {:.1f} %, and {:.1f} % after the removal.",
                        100 * step.at("accuracy").get<double>(),
                        100 * step.at("heads").at(1).at(0).at("accuracy").get<double>())) != std::string::npos);
  CHECK(chromium->run("document.querySelectorAll('.guide button').length") == 2);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page shows the digits that the program prints") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model(decoder_of(modern_config())));
  std::vector<Example> examples;
  for (const char* text : {animal, street, "The dog was tired", "it was too tired because the animal was tired"}) {
    examples.push_back(question(model, text));
  }
  const Page page(model, examples);
  chromium->open(page.file);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const ModelOutput given = model.run(batch_of(model, examples[i]));
    std::vector<double> p = softmax(given.logits.to(DType::float64)).to_vector();
    std::ranges::sort(p, std::greater());
    Json digits = Json::array();
    for (std::size_t n = 0; n < 10; ++n) digits.push_back(fmt::format("{:.3f}", p[n]));
    CHECK(chromium->run(fmt::format("content.runs[0].sentences[{}].next.map(([, p]) => fixed(p))", i)) == digits);
  }
  // Numbers in the middle of two printed ones, and shares of sentences.
  for (int decimals = 0; decimals < 4; ++decimals) {
    Json numbers = Json::array(), digits = Json::array();
    for (const int of : {16, 80, 400, 1000}) {
      for (int n = 0; n <= of; ++n) {
        for (const double x : {static_cast<double>(n) / of, 100.0 * n / of}) {
          numbers.push_back(x);
          digits.push_back(fmt::format("{:.{}f}", x, decimals));
        }
      }
    }
    CHECK(chromium->run(fmt::format("{}.map((x) => fixed(x, {}))", numbers.dump(), decimals)) == digits);
  }
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("Try it suggests no other sign for a sign, and leaves out a full stop that the model does not know") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(choosing_model());
  const ChoosingPage page(model);
  chromium->open(page.file);
  show(*chromium, "Try it");
  const std::string notice = "document.querySelector('#panel .notice').textContent";
  type(*chromium, "[the cup] hid [jam] it was x");
  CHECK(chromium->text(notice) == "The model does not know “x”.");
  type(*chromium, "[the cup] hid [jam] it wsa big");
  CHECK(chromium->text(notice) == "The model does not know “wsa”; did you mean was?");
  type(*chromium, "[the cup] hid [jam] ti was big");
  CHECK(chromium->text(notice) == "The model does not know “ti”; did you mean it?");
  type(*chromium, "[the cup] hid [jam] it was tiny.");
  CHECK(chromium->text(notice) == "The full stop at the end is left out: the model does not know it.");
  CHECK(largest_difference(chromium->run(typed), expected(model, question(model, "[the cup] hid [jam] it was tiny"))) <
        tolerance);
  type(*chromium, "[the cup] hid . [jam] it was tiny");
  CHECK(chromium->text(notice) == "The model does not know “.”.");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("Escape closes Share, and one head is one head") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file);
  chromium->click("document.querySelector('.share summary')");
  CHECK(chromium->run("document.querySelector('.share').open") == true);
  chromium->run(
      "document.querySelector('.share textarea').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: "
      "true}))");
  CHECK(chromium->run("document.querySelector('.share').open") == false);
  CHECK(chromium->text("document.activeElement.textContent") == "Share");
  CHECK(chromium->text("viewNow().figures[0].svg.getAttribute('aria-label')").starts_with("Attention in 1 head. "));
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A page of two runs of one name tells them apart without paths of the machine") {
  const Scratch place;
  const Model model = small_model();
  std::vector<PageRun> runs;
  for (const char* name : {"one/seed", "two/seed", "toy"}) {
    write_run(place / name, model, examples_of(model));
    runs.push_back(page_run(place / name));
  }
  const std::string html = page(runs);
  CHECK(html.find(place.path.string()) == std::string::npos);
  CHECK(html.find("<title>heed: one/seed, two/seed and toy</title>") != std::string::npos);
}

TEST_CASE("A grid of heads names its rows and its columns") {
  Browser* chromium = browser();
  if (!chromium) return;
  const std::string names =
      "(() => { const text = (name) => [...viewNow().figures[0].svg.querySelectorAll('text')].find((t) => "
      "t.textContent === name).getAttribute('transform'); return [text('head'), text('layer')].map(Boolean); })()";
  for (const int layers : {2, 4}) {  // heads are the rows where there are many more layers
    TransformerConfig config = small_config();
    config.layers = layers;
    const Page page(small_model(answerer_of(config)));
    chromium->open(page.file, 1280, false, "#view=all-heads");
    CHECK(chromium->run(names) == (layers == 2 ? Json({false, true}) : Json({true, false})));
  }
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A picture of attention holds its words in Debian's font, with query and antecedent in two colours") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  SentenceAttention wide = english_sentence();
  wide.tokens[1] = wide.predicted = "MWMWMWMWMWMWMWMW";
  wide.tokens[10] = "W.M.W.M.W.M.W.M";
  for (const SentenceAttention& sentence : {english_sentence(), wide, chinese_sentence()}) {
    for (const View& view : {View{}, View{.terminal = {}, .layer = 1, .head = 1, .before = nullptr}}) {
      const std::string svg = attention_svg(sentence, 400, view);
      write_file(place / "picture.html", "<body style=\"margin: 0; font-family: sans-serif\">" + svg);
      chromium->open(place / "picture.html");
      CHECK(chromium->run(
                "(() => { const svg = document.querySelector('svg'), room = svg.getBoundingClientRect(); return "
                "[...svg.querySelectorAll('text')].filter((text) => { const {left, right, top, bottom} = "
                "text.getBoundingClientRect(); return left < 0 || top < 0 || right > room.right || bottom > "
                "room.bottom; }).map((text) => text.textContent); })()") == Json::array());
      CHECK(chromium->run("new Set([...document.querySelectorAll('[font-weight]')].map((text) => "
                          "text.getAttribute('fill'))).size") == 2);
    }
  }
}
