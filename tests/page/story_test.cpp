#include "browser.h"
#include "open.h"

#include <heed/formats/datasets/jsonl.h>

// The first view of a page of any run, and its text.
using namespace heed;

namespace {

// An untrained model of other sizes, with the words of small_model().
Model model_of(int layers, int heads, int max_length = 12) {
  TransformerConfig config = small_config();
  config.layers = layers;
  config.block.attention.heads = heads;
  config.max_length = max_length;
  return small_model(answerer_of(config));
}

// Gives `weight` of the query's attention in one head to the antecedent, at the last step.
void point(const std::filesystem::path& run, std::size_t sentence, std::size_t layer, int head, double weight) {
  Dump dump = last_dump(run);
  SentenceAttention& one = dump.sentences[sentence];
  const auto T = std::ssize(one.tokens);
  std::vector<double> values = one.layers[layer].to_vector();
  for (int key = 0; key < T; ++key) {
    values[static_cast<std::size_t>((head * T + one.query) * T + key)] =
        key == one.antecedent ? weight : (1 - weight) / static_cast<double>(T - 1);
  }
  one.layers[layer] = tensor(one.layers[layer].shape(), values).to(DType::float32);
  write_dump(run, dump);
}

// A run of a model of these sizes, whose head `head` of layer `layer` (from 0) points in the first sentence.
std::filesystem::path run_of(const Scratch& place, const std::string& name, int layers, int heads, std::size_t layer,
                             int head) {
  const Model model = model_of(layers, heads);
  write_run(place / name, model, examples_of(model));
  point(place / name, 0, layer, head, 0.97);
  return place / name;
}

constexpr const char* shown_heads_of_page = "[...state.shown.keys()].join()";

}  // namespace

TEST_CASE("A page opens at the query, with the head that points in the sentence") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const std::filesystem::path run = run_of(place, "deep", 3, 4, 1, 2);
  point(run, 1, 2, 3, 0.96);
  write_file(place / "page.html", page({page_run(run)}));
  chromium->open(place / "page.html");
  CHECK(chromium->text(shown_heads_of_page) == "1.2");
  CHECK(chromium->run("state.token") == 7);
  CHECK(chromium->text("document.querySelector('.says').textContent") ==
        "At step 400, in layer 2 head 3, it puts 97 % of its attention on animal, its antecedent.");
  // Another sentence selects another head, unless the reader has chosen one.
  chromium->run("chooseSentence(1)");
  chromium->settle();
  CHECK(chromium->text(shown_heads_of_page) == "2.3");
  chromium->run("chooseOneHead(0, 1)");
  chromium->run("chooseSentence(0)");
  chromium->settle();
  CHECK(chromium->text(shown_heads_of_page) == "0.1");
}

TEST_CASE("A long text opens at the query") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = model_of(2, 2, 100);
  Example example = question(model, animal);
  std::vector<std::string> before(80, "the");
  example.tokens.insert(example.tokens.begin(), before.begin(), before.end());
  example.query += 80;
  example.antecedent = 81;
  const Page page(model, {example});
  for (const int width : {1440, 390}) {
    chromium->open(page.file, width);
    const char* seen =
        "((node, box) => { const a = node.getBoundingClientRect(), b = box.getBoundingClientRect(); return a.top >= "
        "b.top "
        "&& a.bottom <= b.bottom; })";
    CHECK(chromium->text("document.querySelector('#main .token-text[font-weight]').textContent") == "it");
    CHECK(chromium->run(std::string(seen) +
                        "(document.querySelector('.words .asked'), document.querySelector('.words'))") == true);
  }
}

TEST_CASE("Each visible head has its own colour, the same in button, lines and curve") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const std::filesystem::path run = run_of(place, "wide", 2, 6, 1, 2);
  const std::string weights = "[[0.1,0.1,0.1,0.1,0.1,0.1],[0.1,0.1,0.9,0.1,0.1,0.1]]";
  write_file(
      run / "metrics.jsonl",
      R"({"step":0,"train_loss":3,"held_out_loss":2,"held_out_accuracy":0,"twin_accuracy":0,"antecedent_weight":)" +
          weights + "}\n" +
          R"({"step":400,"train_loss":2,"held_out_loss":1,"held_out_accuracy":1,"twin_accuracy":1,"antecedent_weight":)" +
          weights + "}\n");
  write_file(place / "page.html", page({page_run(run)}));
  chromium->open(place / "page.html");
  for (int head = 1; head <= 6; ++head) {
    chromium->click(fmt::format("document.querySelector('#main [aria-label=\"layer 1 head {}\"]')", head));
  }
  chromium->run(
      "colours = () => [...document.querySelectorAll('#main .head-buttons [aria-pressed=true]')].map((b) => "
      "getComputedStyle(b).backgroundColor)");
  CHECK(chromium->run("colours().length") == 7);
  CHECK(chromium->run("new Set(colours()).size") == 7);
  CHECK(chromium->run("new Set([...viewNow().figures[0].svg.querySelectorAll('path')].map((p) => "
                      "p.getAttribute('stroke'))).size") == 7);
  // The lines of two heads between the same words do not overlap.
  CHECK(chromium->run("(() => { const d = [...viewNow().figures[0].svg.querySelectorAll('path')].map((p) => "
                      "p.getAttribute('d')); return new Set(d).size === d.length; })()") == true);
  // With more heads than colours, the oldest one is removed, with a message.
  chromium->click("document.querySelector('#main [aria-label=\"layer 2 head 1\"]')");
  chromium->click("document.querySelector('#main [aria-label=\"layer 2 head 2\"]')");
  CHECK(chromium->run("colours().length") == 8);
  CHECK(chromium->run("new Set(colours()).size") == 8);
  CHECK(chromium->text("document.getElementById('announcements').textContent") ==
        "8 heads are shown at once: layer 2 head 3 was hidden");
  const std::string curve = chromium->text("training.figure.svg.lastElementChild.getAttribute('fill')");
  CHECK(curve == chromium->text("headColour(1, 1)"));
}

TEST_CASE("Every view has an introduction and a sentence about its picture") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file);
  for (const std::string& view : views_of(*chromium)) {
    INFO(view);
    show(*chromium, view);
    CHECK(chromium->text("document.querySelector('#panel .lead').textContent").size() > 80);
    const bool speaks =
        view == "Why" || chromium->text("document.querySelector('#panel .says').textContent").size() > 40;
    CHECK(speaks);
  }
  show(*chromium, "Sentence");
  CHECK(chromium->text("document.querySelector('.signs').textContent") ==
        "Question: what does it refer to? Antecedent: animal.");
  // Colours after a number do not look like errors.
  for (const char* view : {"Calculation", "QK and OV"}) {
    show(*chromium, view);
    CHECK(chromium->text("document.querySelector('#main').textContent").find("±") == std::string::npos);
  }
}

TEST_CASE("An answer is marked right or wrong if a held-out sentence has the correct answer") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const Model model = small_model();
  const std::vector<Example> examples = examples_of(model);
  write_run(place / "run", model, examples);
  const auto shown = [&](const std::string& answer) {
    Example example = examples[0];
    example.answer = answer;
    write_jsonl(held_out_path(place / "run"), {example});
    write_file(place / "page.html", page({page_run(place / "run", 1)}));
    chromium->open(place / "page.html");
    return chromium->text("document.querySelector('.answer').textContent");
  };
  const std::string said = attend(model, examples[0]).predicted;
  CHECK(shown(said).find("→ " + said + " ✓ right") == 0);
  const std::string other = said == "dog" ? "tired" : "dog";
  CHECK(shown(other).find("→ " + said + " ✗ not " + other) == 0);
}

TEST_CASE("Two runs with different numbers of heads are shown side by side, each with its own head") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const std::filesystem::path few = run_of(place, "few", 1, 1, 0, 0), many = run_of(place, "many", 3, 5, 2, 4);
  for (const bool swapped : {false, true}) {
    const PageRun a = page_run(few), b = page_run(many);
    write_file(place / "page.html", page(swapped ? std::vector{b, a} : std::vector{a, b}));
    chromium->open(place / "page.html");
    show(*chromium, "Side by side");
    const std::string A = swapped ? "many step 400 layer 3 head 5" : "few step 400 layer 1 head 1";
    const std::string B = swapped ? "few step 400 layer 1 head 1" : "many step 400 layer 3 head 5";
    chromium->run("words = () => [...viewNow().figures[0].svg.querySelectorAll('text')].map((t) => t.textContent)");
    CHECK(chromium->run("words().includes('A: " + A + "')") == true);
    CHECK(chromium->run("words().includes('B: " + B + "')") == true);
    CHECK(chromium->run("viewNow().figures[0].maps.filter((map) => map.of).length") == 3);
    CHECK(chromium->run("viewNow().figures[0].svg.querySelectorAll('path.arc').length >= 2") == true);
    // All heads of the larger run can be chosen.
    const char* of_many = swapped ? "Head A" : "Head B";
    CHECK(chromium->run(fmt::format("document.querySelector('[aria-label=\"{}\"]').options.length", of_many)) == 15);
    choose(*chromium, of_many, 6);
    CHECK(chromium->run("words().some((text) => text.endsWith('many step 400 layer 2 head 2'))") == true);
    // The slider moves both.
    chromium->run("document.querySelector('.slider input').focus()");
    chromium->press("ArrowLeft");
    CHECK(chromium->run("words().filter((text) => text.includes(' step 0 layer ')).length") == 2);
    // The link has both sides.
    chromium->wait_for("location.hash.includes('step=0&') && location.hash.includes('sides=')");
    const std::string link = chromium->text("location.hash");
    chromium->open(place / "page.html", 1280, false, link);
    chromium->run("words = () => [...viewNow().figures[0].svg.querySelectorAll('text')].map((t) => t.textContent)");
    CHECK(chromium->run("words().some((text) => text.endsWith('many step 0 layer 2 head 2'))") == true);
    for (const char* lost : {"1.1..9.1,1.1...", "1.1.7..,1.1...", "1.9...,1.1...", "3.1...,1.1...", "1.1...", "x"}) {
      chromium->open(place / "page.html", 1280, false, "#view=side-by-side&sides=" + std::string(lost));
      CHECK(chromium->text("document.querySelector('.lost').textContent").ends_with("sides " + std::string(lost)));
    }
    CHECK(chromium->complaints() == std::vector<std::string>{});
  }
}

TEST_CASE("An unknown probability is shown without a bar") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file);
  show(*chromium, "Side by side");
  chromium->click("[...document.querySelectorAll('button')].find((b) => b.textContent === 'First and last step')");
  CHECK(chromium
            ->run("(() => { const cell = document.createElement('td'); cell.append(bar(NaN, fixed(NaN))); return "
                  "[cell.textContent, cell.querySelector('.bar') === null]; })()")
            .dump() == R"(["not known",true])");
  CHECK(chromium->run("[...document.querySelectorAll('#main .answers tr')].every((row) => "
                      "[...row.querySelectorAll('.bar')].every((bar) => /^\\d/.test(bar.style.width)))") == true);
}

TEST_CASE("Numbers on every colour have a contrast of at least 4.5 to 1, in both themes") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  for (const bool dark : {false, true}) {
    chromium->open(page.file, 1280, dark);
    CHECK(chromium->run(
              "Math.min(...[scales.weight, scales.signed].flatMap((scale) => Array.from({length: 256}, (_, i) => "
              "scale.number(i)).map(({rgb, text}) => "
              "contrast(rgb.match(/\\d+/g).map(Number), text === '#ffffff' ? [255, 255, 255] : [0, 0, 0]))))") >= 4.5);
    CHECK(chromium->run("contrast([0, 0, 0], [255, 255, 255])") == 21);
  }
}

TEST_CASE("On a phone, lines are wide enough and matrices show their numbers") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file, 390);
  CHECK(chromium->run("(() => { const boxes = [...viewNow().figures[0].svg.querySelectorAll('path')].map((p) => "
                      "p.getBBox().width); return Math.max(...boxes); })()") >= 110);
  show(*chromium, "All heads");
  CHECK(chromium->run("[...viewNow().figures[1].svg.querySelectorAll('text')].filter((t) => "
                      "/^0?[.]\\d\\d$/.test(t.textContent)).length > 60") == true);
  for (const std::string& view : views_of(*chromium)) {
    INFO(view);
    show(*chromium, view);
    // Text stays inside its picture.
    CHECK(chromium->run(
              "viewNow().figures.filter(({svg}) => svg.isConnected).flatMap(({svg, width, height}) => "
              "[...svg.querySelectorAll('text')].map((t) => [t.getBoundingClientRect(), "
              "svg.getBoundingClientRect(), t.textContent]).filter(([t, s]) => t.left < s.left - 1 || t.right > "
              "s.right + 1 || t.bottom > s.bottom + 1).map(([, , text]) => text))") == Json::array());
  }
}

TEST_CASE("The curves of two runs are overlaid") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const std::filesystem::path a = run_of(place, "few", 1, 1, 0, 0), b = run_of(place, "many", 2, 2, 1, 0);
  write_file(place / "page.html", page({page_run(a), page_run(b)}));
  chromium->open(place / "page.html");
  CHECK(chromium->run("document.querySelectorAll('.curves .other-run').length") == 2);  // loss and accuracy
  CHECK(chromium->text("document.querySelector('.curves .note').textContent").starts_with("Faint: the same of many"));
  write_file(place / "page.html", page({page_run(a)}));
  chromium->open(place / "page.html");
  CHECK(chromium->run("document.querySelectorAll('.curves .other-run').length") == 0);
}

TEST_CASE("Lines below a chosen weight are hidden, and Calculation shows products per dimension") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file, 1280, false, "#layer=2&head=1");
  const auto lines = [&] {
    return chromium->run("viewNow().figures[0].svg.querySelectorAll('path').length").get<int>();
  };
  const int all = lines();
  choose(*chromium, "Hide weights below", 2);
  const int strong = lines();
  CHECK(strong < all);
  choose(*chromium, "Hide weights below", 4);
  CHECK(lines() < strong);
  show(*chromium, "Calculation");
  choose(*chromium, "Left squares", 1);
  CHECK(chromium->run(
            "(() => { const w = walk(readerOf(0), subject(), 7), map = viewNow().figures[0].maps[2]; "
            "return w.parts.every(({product}, j) => Math.abs(total(Array.from(map.values.subarray(j * map.columns, "
            "(j + 1) * map.columns))) - product) < 1e-9); })()") == true);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
