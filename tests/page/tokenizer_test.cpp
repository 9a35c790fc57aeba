#include "browser.h"
#include "inspect/page/page_model.h"
#include "open.h"
#include "tests/catch.h"
#include "tests/golden_lines.h"
#include "trying.h"

#include <heed/data/corpus.h>
#include <heed/tokenizers/tokenize.h>

#include <filesystem>
#include <set>

// How the page splits a typed text into tokens.
using namespace heed;

namespace {

// Returns an untrained model that predicts hidden tokens of texts with the words of `text`.
Model masked_model_of(const std::string& text, const Tokenizer& tokenizer) {
  Model model;
  model.tokenizer = tokenizer;
  model.vocabulary = Vocabulary(tokenizer.known_tokens());
  for (const std::string& token : tokenizer(text)) model.vocabulary.add(token);
  model.vocabulary.add(mask_token);
  TransformerConfig config = small_config();
  config.max_length = 64;
  make_network(model, masked_language_model(config));
  return shaken(std::move(model));
}

}  // namespace

TEST_CASE("The page splits a text into the same words and characters as the program") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file);
  for (const char* text : {"It didn't rain; the well-known dog's bowl - 'dry' -- was 3.5 m away!",
                           "苹果很甜，abc 12a。", "e\u0301te\u0301 naïve 👩‍👩‍👧 ok", "שלום עולם, مرحبا!",
                           "a\u3000b\tc\nd  e", "don’t stop‑gap ‐x x-", "…¿qué?"}) {
    INFO(text);
    for (const Split split : {Split::words, Split::characters}) {
      const Json tokens = chromium->run(
          fmt::format("tokenize({}, '{}')", Json(text).dump(), split == Split::words ? "words" : "characters"));
      CHECK(tokens.get<std::vector<std::string>>() == tokenize(text, split));
    }
  }
}

TEST_CASE("The page splits a typed text into the program's subwords, and continues it") {
  Browser* chromium = browser();
  if (!chromium) return;
  std::string learned;
  for (int i = 0; i < 40; ++i) learned += "the theatre was there, then; 苹果很甜 and naïve tests try other things\n";
  Model model;
  model.tokenizer = Tokenizer::of_text(Subwords::learn({learned}, 360));
  model.vocabulary = Vocabulary(model.tokenizer.subwords()->words());
  TransformerConfig config = modern_config();
  config.max_length = 128;
  make_network(model, decoder_of(config));
  model = shaken(std::move(model));
  const Page page(model, {question(model, "the theatre was there")});
  chromium->open(page.file);
  for (const std::string text :
       {"the theatre was there", "then  other\n\n things", " 苹果 甜了 ☕ naïve", "tttthhhheeee\tthe\r\n", "▁the ▁",
        "<unk> <0x41> the", "e\u0301 👩‍👩‍👧 שלום"}) {
    INFO(text);
    const Json tokens = chromium->run(fmt::format("readerOf(0).understand({}).tokens", Json(text).dump()));
    CHECK(tokens.get<std::vector<std::string>>() == model.tokenizer(text));
  }
  show(*chromium, "Try it");
  type(*chromium, "then other things");
  CHECK(chromium->run("subject().tokens") == Json(model.tokenizer("then other things")));
  const std::vector<double> numbers = expected(model, question(model, "then other things"));
  CHECK(largest_difference(chromium->run(typed), numbers) < tolerance);
  CHECK(chromium->run("[...document.querySelectorAll('summary')].some((one) => / subwords of its vocabulary/.test("
                      "one.textContent))") == true);
  chromium->click("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Continue the text')");
  chromium->wait_for("[...document.querySelectorAll('button')].some((b) => b.textContent === 'Continue the text')");
  const std::string written = chromium->text("document.querySelector('.written').textContent");
  CHECK(written.starts_with("then other things"));
  CHECK(written.size() > 200);
  CHECK(written.find("<0x") == std::string::npos);  // bytes are joined to characters
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page reads <mask> and [MASK] as the mask of heed's own masked models, as the program does") {
  Browser* chromium = browser();
  if (!chromium) return;
  const std::string learned = "the dog was too tired because of the street . the dog of the street was too wide";
  for (const Tokenizer& tokenizer :
       {Tokenizer::of_text(Split::words), Tokenizer::of_text(Split::characters), Tokenizer::of_text(Split::bytes),
        Tokenizer::of_text(Subwords::learn({learned}, 300))}) {
    CAPTURE(name_of(tokenizer.split()));
    const Model model = masked_model_of(learned, tokenizer);
    const Page page(model, {question(model, "the dog <mask> too")});
    chromium->open(page.file);
    show(*chromium, "Try it");
    const std::string notice = "document.querySelector('#main .notice').textContent";
    // Each text differs from the one before by an edit, after which a question could stay at its token.
    for (const char* text : {"the [MASK] of", "the <mask> of", "the [MASK] of <mask>", "[MASK]", "the<mask>", "the of",
                             "the of [MASK] dog", "<mask><mask> dog"}) {
      INFO(text);
      check_as_program(*chromium, model, text);
      const bool hides = std::string(text) != "the of";
      CHECK(chromium->text(notice) == (hides ? ""
                                             : "The text hides no token, so it asks about its last one. Write [MASK] "
                                               "or <mask> for a token to hide it."));
    }
    if (tokenizer.split() == Split::bytes) {
      type(*chromium, "the [MASK] of");
      CHECK(chromium->run("[subject().tokens.length, subject().query]") == Json({8, 4}));
    }
    // A token that the reader presses stays the one asked about.
    type(*chromium, "the [MASK] of [MASK]");
    const int first = question(model, "the [MASK]").query;
    chromium->run(
        fmt::format("askOwn(shownNow().live.engine, {{...shownNow(), live: null, query: {}, isChosen: true}})", first));
    type(*chromium, "the [MASK] of [MASK] dog");
    CHECK(chromium->run("subject().query") == first);
    CHECK(chromium->complaints() == std::vector<std::string>{});
  }
}

TEST_CASE("The page splits texts like the tokenizers of pretrained models") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file);
  const std::vector<std::string> lines = golden_lines();
  REQUIRE(lines.size() > 100);
  CHECK(chromium->run("wholeCharacters(['a', '<0xC3>', '<0xB6>', '<0xF0><0x9F>', '<0x98><0x80>', 'b', '<0xC3>'])") ==
        Json({"a", "ö", "", "😀", "", "b", "<0xC3>"}));
  std::set<std::string> all_equal, few_differ, refused;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/tokenizers")) {
    if (entry.path().extension() != ".json") continue;
    const PretrainedTokenizer tokenizer(read_file(entry.path()));
    const Json parts = page_tokenizer(tokenizer);
    if (parts.is_null()) continue;
    const std::string name = entry.path().stem();
    const Json is_made =
        chromium->run(fmt::format("(() => {{ const all = new Set({}); try {{ globalThis.cut = pretrainedTokenizer({}, "
                                  "(token) => all.has(token)); "
                                  "return true; }} catch {{ return false; }} }})()",
                                  Json(tokenizer.tokens()).dump(), parts.dump()));
    if (is_made == false) {
      refused.insert(name);
      continue;
    }
    int different = 0;
    for (const std::string& line : lines) {
      std::vector<std::string> expected;
      for (const EncodedToken& token : tokenizer.encode(line)) expected.push_back(tokenizer.token(token.id));
      if (chromium->run(fmt::format("cut({})", Json(line).dump())) != Json(expected)) ++different;
    }
    INFO(name << " " << different << " of " << lines.size());
    CHECK(different <= 4);
    (different == 0 ? all_equal : few_differ).insert(name);
  }
  CHECK(all_equal == std::set<std::string>{"deepseek", "gemma", "gpt2", "llama2", "llama3", "mistral", "neox", "qwen2",
                                           "roberta", "starcoder"});
  CHECK(few_differ ==
        std::set<std::string>{"bert_cased", "bert_uncased"});  // the browser's Unicode tables have more punctuation
  CHECK(refused == std::set<std::string>{"bloom"});            // its pattern has a class within a class
}
