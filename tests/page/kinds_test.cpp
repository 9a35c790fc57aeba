#include "browser.h"
#include "open.h"
#include "trying.h"

#include <algorithm>

// The first view of each kind of model.
using namespace heed;

namespace {

std::string panel(Browser& chromium) { return chromium.text("document.querySelector('#main').innerText"); }

// A page of one sentence, like that of a pretrained model.
struct SentencePage : Scratch {
  std::filesystem::path file = path / "page.html";
  SentencePage(const Model& model, const Example& example, const std::string& text = {}) {
    const SentenceAttention read = attend(model, example);
    write_file(file, page({page_sentence("model", model, read, example, text)}));
  }
};

std::vector<double> softmax_of(const Model& model, const Example& example) {
  const ModelOutput given = model.run(batch_of(model, example));
  return softmax(given.logits.to(DType::float64)).to_vector();
}

}  // namespace

TEST_CASE("Calculation shows the largest weights of a long text and the sum of the others") {
  Browser* chromium = browser();
  if (!chromium) return;
  TransformerConfig config = modern_config();
  config.max_length = 64;
  const Model model = shaken(small_model(decoder_of(config)));
  Example example = question(model, "the dog was tired because it was the animal");
  while (example.tokens.size() < 60) example.tokens.push_back(example.tokens[example.tokens.size() % 7]);
  example.query = 59;
  const SentencePage page(model, example);
  chromium->open(page.file, 1280, false, "#view=calculation&word=60");
  const std::string lines = "walkLines(walk(readerOf(0), subject(), 59))";
  CHECK(chromium->run(lines + ".length") == 25);
  CHECK(chromium->text(lines + ".at(-1).label") == "36 others");
  CHECK(chromium->run("total(" + lines + ".map(({weight}) => weight))").get<double>() == Approx(1));
  CHECK(chromium
            ->run("(() => { const {output} = walk(readerOf(0), subject(), 59), sum = " + lines +
                  ".map(({weighted}) => weighted).reduce(plus); return Math.max(...sum.map((x, i) => Math.abs(x - "
                  "output[i]))); })()")
            .get<double>() < 1e-6);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page of a classifier shows the class of the text and where it is read") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model(classifier_of(small_config())));
  const Example example = question(model, "the dog was tired");
  const SentencePage page(model, example);
  chromium->open(page.file);
  const std::string shown = chromium->text("document.body.innerText");
  CHECK(shown.find("Class of the text, read at the.") != std::string::npos);
  CHECK(shown.find("refer to?") == std::string::npos);
  CHECK(shown.find("which a page does not compute") != std::string::npos);
  const std::vector<double> p = softmax_of(model, example);
  for (const double share : p) CHECK(shown.find(fmt::format("{:.3f}", share)) != std::string::npos);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page of a model with byte-level tokens computes with them and shows their text") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch scratch;
  const std::filesystem::path model_files = scratch / "gpt2";
  std::filesystem::copy("tests/golden/hugging_face/gpt2", model_files);
  Json tokens{{"T", 0}, {"h", 1}, {"i", 2}, {"s", 3}, {"\u0120", 4}, {"\u0120i", 5}, {"\u0120is", 6}, {"\u00e6", 7}};
  for (int id = 8; id < 61; ++id) tokens[fmt::format("w{}", id)] = id;
  const Json bytes{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  write_file(model_files / "tokenizer.json",
             format_json({{"added_tokens", Json::array()},
                          {"normalizer", nullptr},
                          {"pre_tokenizer", bytes},
                          {"post_processor", bytes},
                          {"decoder", bytes},
                          {"model", {{"type", "BPE"}, {"vocab", tokens}, {"merges", {"\u0120 i", "\u0120i s"}}}}}));
  const Model model = load_model(model_files);
  const Example example = question(model, "This is is");
  const SentencePage page(model, example, "This is is");
  chromium->open(page.file, 1280, false, "#view=calculation&layer=1&head=1&word=6");
  chromium->wait_for("Boolean(viewNow().says())");
  CHECK(chromium->run("subject().tokens") == Json({"T", "h", "i", "s", " is", " is"}));
  const SentenceAttention expected = attend(model, example);
  const Json weights = chromium->run("walkLines(walk(readerOf(0), subject(), 5)).map(({weight}) => weight)");
  REQUIRE(weights.size() == 6);
  for (int key = 0; key < 6; ++key) {
    CHECK(weights[static_cast<std::size_t>(key)].get<double>() ==
          Approx(expected.layers[0].at({0, 5, key})).margin(1e-3));
  }
  show(*chromium, "Why");
  chromium->wait_for("document.querySelector('#main').innerText.includes('The query of')");
  CHECK(panel(*chromium).find("NaN") == std::string::npos);
  show(*chromium, "Try it");
  CHECK(chromium->run("document.querySelector('#main textarea').value") == "This is is");
  type(*chromium, "his is This");
  CHECK(chromium->run("subject().tokens") == Json({"h", "i", "s", " is", " ", "T", "h", "i", "s"}));
  const std::vector<double> numbers = heed::expected(model, question(model, "his is This"));
  CHECK(largest_difference(chromium->run(typed), numbers) < 1e-3);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page of a language model opens with the surprise per token and the next tokens") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model(decoder_of(modern_config())));
  const Example example = question(model, "The dog was tired because it was the animal");
  const Page page(model, {example});
  chromium->open(page.file);
  CHECK(panel(*chromium).find("antecedent") == std::string::npos);
  CHECK(chromium->text("document.querySelector('.says').textContent").find(" surprised it most: ") !=
        std::string::npos);
  CHECK(chromium->text("document.querySelector('.aside h2').textContent") == "Next token after animal");
  const std::vector<double> p = softmax_of(model, example);
  CHECK(chromium->text("document.querySelector('.answers .figure-text').textContent") ==
        fmt::format("{:.3f}", *std::ranges::max_element(p)));
  CHECK(chromium->run("document.querySelectorAll('.answers tbody tr').length") == 10);
  // The surprise of the last token, given the tokens before it.
  Example before = example;
  before.tokens.pop_back();
  before.query = example.query - 1;
  const double expected = -std::log2(softmax_of(model, before)[static_cast<std::size_t>(model.vocabulary["animal"])]);
  const std::string last = "[bitsOf(shownNow()).at(-1), subject().bits.at(-1)]";
  for (const Json& bits : chromium->run(last)) CHECK(bits.get<double>() == Approx(expected).margin(1e-3));
  CHECK(chromium->text("viewNow().figures[0].svg.getAttribute('aria-label')")
            .ends_with(fmt::format(", animal {:.1f}", expected)));
  // A press on a token asks about it, and a press on the grid shows the attention of that head.
  chromium->click("viewNow().figures[0].svg.querySelectorAll('.token-text')[2]");
  CHECK(chromium->text("document.querySelector('.aside h2').textContent").starts_with("Next token after was"));
  chromium->click("document.querySelectorAll('.aside .head')[3]");
  CHECK(chromium->run("[state.layer, state.head]") == Json({1, 1}));
  CHECK(chromium->text("viewNow().figures[0].svg.getAttribute('aria-label')").starts_with("layer 2 head 2: was → "));
  // The direct effects and the rest of the model add up to the logit.
  choose(*chromium, "Heads by", 1);
  CHECK(chromium
            ->run("(() => { const {reader, found} = shownNow().live.reading, {word, values} = "
                  "shownNow().live.reading.direct(8), token = 8, d = reader.d; const number = "
                  "reader.vocabulary.indexOf(word), {of, constant} = linearised(reader.finalNorm, "
                  "found.layers.at(-1).output.subarray(token * d, (token + 1) * d)); "
                  "const rest = plus(found.layers[0].read.subarray(token * d, (token + 1) * d), "
                  "found.layers.map(({mlp}) => mlp.subarray(token * d, (token + 1) * d)).reduce(plus)); "
                  "return Math.abs(total(values.flat()) + dot(of(rest), 0, reader.unembedding, number * d, d) - "
                  "found.logits[number]); })()")
            .get<double>() < 1e-9);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page of a masked language model shows predictions, also after a head is removed") {
  Browser* chromium = browser();
  if (!chromium) return;
  TransformerConfig config = small_config(Positions::learned, Tie::none, true);
  config.layers = 3;
  config.block.attention.heads = 4;
  Model model = shaken(small_model(masked_language_model(config)));
  Example example = question(model, animal, "it");
  const SentencePage page(model, example);
  chromium->open(page.file);
  CHECK(views_of(*chromium) ==
        std::vector<std::string>{"Sentence", "All heads", "Why", "Try it", "Calculation", "QK and OV"});
  CHECK(chromium->text("document.querySelector('.aside h2').textContent") == "Predictions for it");
  const std::vector<double> p = softmax_of(model, example);
  CHECK(chromium->text("document.querySelector('.answers .figure-text').textContent") ==
        fmt::format("{:.3f}", *std::ranges::max_element(p)));
  CHECK(largest_difference(chromium->run(typed), expected(model, example)) < tolerance);
  CHECK(panel(*chromium).find("Show the first token") != std::string::npos);
  CHECK(chromium->run("document.querySelectorAll('.aside .head').length") == 12);
  CHECK(chromium->run("document.querySelector('.slider').hidden") == true);
  press_button(*chromium, chromium->text("`Remove ${headName(state.layer, state.head)}`"));
  CHECK(chromium->run("document.querySelectorAll('.answers tbody td:nth-child(3)').length") == 10);
  // An activation precedes its logits, so that an OV circuit is undefined.
  show(*chromium, "QK and OV");
  chromium->wait_for("document.querySelectorAll('.two section:first-child tbody tr').length === 12");
  CHECK(chromium->text("document.querySelector('.two section:last-child').innerText").find("No OV circuit: ") !=
        std::string::npos);
  CHECK(chromium->run("document.querySelectorAll('.two section:last-child table').length") == 0);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page of a pretrained masked model uses its tokenizer, and accepts two mask names") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = load_model("tests/golden/exports/masked_text_of_bert");
  const SentencePage page(model, question(model, "the cat [MASK] from a birds"));
  chromium->open(page.file);
  show(*chromium, "Try it");
  for (const char* text : {"the bird <mask> a tree .", "birds [MASK] the qqq", "the <mask> and the [MASK] .",
                           "the cat from a birds"}) {  // without a mask: asked before [SEP]
    check_as_program(*chromium, model, text);
  }
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("Calculation computes with the pieces of words and shows their written form") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = small_model();
  const Example example = question(model, animal);
  const SentenceAttention read = attend(model, example);
  const Scratch place;
  PageRun run = page_sentence("model", model, read, example);
  run.description["sentences"][0]["tokens"][1] = " beast";
  write_file(place.path / "page.html", page({run}));
  chromium->open(place.path / "page.html", 1440, false, "#view=calculation&layer=1&head=1");
  chromium->wait_for("document.querySelectorAll('#panel svg text').length > 20");
  CHECK(chromium->run("[...document.querySelectorAll('#panel svg text')].some((t) => t.textContent === '–')") == false);
  CHECK(chromium->run(
            "[...document.querySelectorAll('#panel svg text')].some((t) => t.textContent.includes('beast'))") == true);
  CHECK(chromium->text("visible('<0x0A>')") == "↵");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page of a large imported model groups the grid of heads, and hides empty views") {
  Browser* chromium = browser();
  if (!chromium) return;
  Model model;
  for (int word = 0; word < 9000; ++word) model.vocabulary.add(fmt::format("word{}", word));
  TransformerConfig config = small_config(Positions::rotary);
  config.layers = 20;
  config.block.attention = {.d_model = 120, .heads = 6, .kv_heads = 2};
  make_network(model, decoder_of(config));
  Example example;
  for (int t = 0; t < 10; ++t) example.tokens.push_back(fmt::format("word{}", t * t));
  example.query = 9;
  const SentencePage page(model, example);
  for (const int width : {1440, 390}) {
    chromium->open(page.file, width);
    CHECK(views_of(*chromium) == std::vector<std::string>{"Sentence", "All heads"});
    CHECK(chromium->run("document.querySelectorAll('#main .head').length") == 120);
    CHECK(chromium->run("document.querySelectorAll('#main .group').length") == 2);  // three heads in each
    CHECK(panel(*chromium).find("MB in float16; a page holds models of up to 2.10 MB") != std::string::npos);
    CHECK(chromium->run("document.documentElement.scrollWidth <= document.documentElement.clientWidth") == true);
    CHECK(chromium->run("document.querySelector('#main .picture').getBoundingClientRect().top") < 260);
  }
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("Share copies a link to the view and a citation with seed, step and version") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  write_file(page.path / "run/config.yaml", "seed: 12\n");
  write_file(page.file, heed::page({page_run(page.path / "run")}));
  chromium->open(page.file, 1280, false, "#view=all-heads&layer=2&head=1");
  chromium->click("document.querySelector('.share summary')");
  chromium->settle();
  CHECK(chromium->text("document.querySelector('[aria-label=\"Link to this view\"]').value")
            .find("#view=all-heads&sentence=1&step=400&layer=2&head=1") != std::string::npos);
  const std::string citation = chromium->text("document.querySelector('[aria-label=Citation]').value");
  CHECK(citation.starts_with("@software{heed,\n  title = {heed},"));
  CHECK(citation.find("note = {run, seed 12; step 400, layer 2 head 1}") != std::string::npos);
  chromium->click("[...document.querySelectorAll('.share button')].find((b) => b.textContent === 'Copy link')");
  chromium->wait_for("document.getElementById('announcements').textContent === 'Copied'");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
