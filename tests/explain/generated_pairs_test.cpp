#include "explain/internal/pair_words.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/sample.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <set>

using namespace heed;

namespace {

// A language model that knows all words of all templates, and the years as one token per digit.
Model language_model_of(Split split, bool is_masked = false, int max_length = 64) {
  Model model;
  model.tokenizer = Tokenizer::of_text(split);
  const auto add = [&](const std::string& text) {
    for (const std::string& token : model.tokenizer(text)) model.vocabulary.add(token);
  };
  const PairLanguage language = split == Split::words ? PairLanguage::english : PairLanguage::chinese;
  for (const Behaviour behaviour : {Behaviour::ioi, Behaviour::greater_than, Behaviour::agreement, Behaviour::gender}) {
    const PairVocabulary words = pair_vocabulary(behaviour, language);
    for (const PairTemplate& form : words.templates) {
      std::string text = std::string(form.text) + form.tail;
      for (const char* slot : {"{A}", "{B}", "{S}", "{X}", "{place}", "{object}", "{event}", "{other}", "{C}", "{Y}"}) {
        for (std::size_t at; (at = text.find(slot)) != std::string::npos;)
          text.replace(at, std::string(slot).size(), "we");
      }
      add(text);
    }
    for (const std::string& name : words.people) add(" " + name);
    for (const WordPair& pair : words.swapped) {
      for (const std::string& word : {pair.first, pair.second}) add(" " + word);
      for (const std::string& word : pair.of_first) add(" " + word);
      for (const std::string& word : pair.of_second) add(" " + word);
    }
    for (const SlotWords& slot : words.slots) {
      for (const std::string& word : slot.words) add(" " + word);
    }
  }
  for (const char digit : std::string("0123456789")) add(std::string(1, digit));
  if (is_masked) model.vocabulary.add("<mask>");
  TransformerConfig shape = small_config();
  shape.vocabulary = model.vocabulary.size(), shape.max_length = max_length;
  model.build(Scope(model.parameters, 3), is_masked ? masked_language_model(shape) : decoder_of(shape));
  return model;
}

std::vector<TextPair> read_back(const Model& model, const std::vector<WrittenPair>& pairs) {
  const Scratch scratch;
  std::string text;
  for (const WrittenPair& pair : pairs) text += pair_line(pair) + "\n";
  write_file(scratch.path / "pairs.jsonl", text);
  return read_pairs(model, scratch.path / "pairs.jsonl");
}

void check_pairs(const Model& model, Behaviour behaviour, const PairOptions& options) {
  INFO(name_of(behaviour) << " " << name_of(options.language));
  const std::vector<WrittenPair> written = generate_pairs(model, behaviour, options);
  REQUIRE(std::ssize(written) == options.count);
  const std::vector<TextPair> pairs = read_back(model, written);
  REQUIRE(pairs.size() == written.size());
  std::set<std::string> texts;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<std::string>&clean = pairs[i].clean.tokens, &corrupted = pairs[i].corrupted.tokens;
    CHECK(texts.insert(written[i].clean + written[i].corrupted).second);
    REQUIRE(clean.size() == corrupted.size());
    CHECK(clean != corrupted);
    if (!model.head().generates()) continue;
    for (std::size_t a = 0; a < written[i].answer.size(); ++a) {  // the text continues with the token that counts
      const bool has_space = options.language == PairLanguage::english && behaviour != Behaviour::greater_than;
      std::vector<std::string> expected = clean;
      expected.push_back(model.vocabulary.word(pairs[i].right.at(a)));
      CHECK(model.tokenizer(written[i].clean + (has_space ? " " : "") + written[i].answer[a]) == expected);
    }
  }
}

constexpr Behaviour every_behaviour[]{Behaviour::ioi, Behaviour::greater_than, Behaviour::agreement, Behaviour::gender,
                                      Behaviour::induction};

}  // namespace

TEST_CASE("Generated pairs of every behaviour are read as what they mean") {
  const Model english = language_model_of(Split::words), chinese = language_model_of(Split::characters);
  for (const Behaviour behaviour : every_behaviour) {
    if (behaviour != Behaviour::greater_than)
      check_pairs(english, behaviour, {.count = 30});  // its years are one token
    check_pairs(chinese, behaviour, {.language = PairLanguage::chinese, .count = 30});
  }
}

TEST_CASE("Generated pairs ask about the indirect object, in both orders of the names") {
  const Model model = language_model_of(Split::words);
  std::vector<double> told;
  const auto progress = [&](const std::string&, double share, double) { told.push_back(share); };
  const std::vector<WrittenPair> pairs = generate_pairs(model, Behaviour::ioi, {.count = 60, .progress = progress});
  CHECK(told == std::vector<double>{50.0 / 60});
  std::set<std::string> groups;
  for (const WrittenPair& pair : pairs) {
    groups.insert(pair.group);
    const auto times = [](const std::string& text, const std::string& name) {
      int count = 0;
      for (std::size_t at = 0; (at = text.find(name + " ", at)) != std::string::npos; ++at) ++count;
      return count;
    };
    CHECK(times(pair.clean, pair.wrong[0]) + times(pair.clean, pair.wrong[0] + ",") >
          times(pair.clean, pair.answer[0]));
    CHECK(times(pair.corrupted, pair.answer[0]) > times(pair.clean, pair.answer[0]));
    const bool answer_is_first = pair.clean.find(pair.answer[0]) < pair.clean.find(pair.wrong[0]);
    CHECK(answer_is_first == pair.group.starts_with("ABBA"));
  }
  CHECK(groups.size() == 8);
  const auto lines = [&](std::uint64_t seed) {
    std::string text;
    for (const WrittenPair& pair : generate_pairs(model, Behaviour::ioi, {.count = 5, .seed = seed}))
      text += pair_line(pair);
    return text;
  };
  CHECK(lines(1) == lines(1));
  CHECK(lines(1) != lines(2));
}

TEST_CASE("Years that are later count for, others against, by their first digit where tokens are digits") {
  const Model model = language_model_of(Split::characters);
  for (const WrittenPair& pair : generate_pairs(model, Behaviour::greater_than, {.language = PairLanguage::chinese})) {
    const std::size_t year = pair.clean.find_first_of("0123456789");
    const char tens = pair.clean[year + 2];
    for (const std::string& answer : pair.answer) CHECK(answer[0] > tens);
    for (const std::string& answer : pair.wrong) CHECK(answer[0] < tens);
    CHECK(pair.corrupted.substr(year + 2, 2) == "01");
  }
}

TEST_CASE("Generated pairs of a masked language model hide their answer") {
  const Model model = language_model_of(Split::words, true);
  for (const Behaviour behaviour : {Behaviour::ioi, Behaviour::agreement, Behaviour::gender}) {
    check_pairs(model, behaviour, {.count = 20});
  }
  CHECK(generate_pairs(model, Behaviour::gender, {.count = 1})[0].clean.ends_with("<mask> was tired."));
  CHECK(message([&] { (void)generate_pairs(model, Behaviour::greater_than); }) ==
        "greater_than: needs a model that predicts the next token, since a year has several tokens");
}

TEST_CASE("Pairs that repeat tokens use every word of a model that has only its own") {
  Model model;
  for (char sign = 'A'; sign <= 'T'; ++sign) model.vocabulary.add(std::string(1, sign));
  model.vocabulary.add("<unk>");
  TransformerConfig shape = small_config();
  shape.vocabulary = model.vocabulary.size();
  shape.max_length = 48;
  model.build(Scope(model.parameters, 3), decoder_of(shape));
  check_pairs(model, Behaviour::induction, {.count = 30});
  for (const WrittenPair& pair : generate_pairs(model, Behaviour::induction)) {
    CHECK(pair.clean.find('<') == std::string::npos);
  }
}

TEST_CASE("generate_pairs says how many words are left where they are too few") {
  Model model;
  model.tokenizer = Tokenizer::of_text(Split::words);
  for (const char* token : {" Mary", " John", "to", "a"}) model.vocabulary.add(token);
  TransformerConfig shape = small_config();
  shape.vocabulary = model.vocabulary.size();
  model.build(Scope(model.parameters, 3), decoder_of(shape));
  CHECK(message([&] { (void)generate_pairs(model, Behaviour::ioi); }) ==
        "ioi: expected at least 2 places that the model knows as single tokens, got 0 of 11 (--language en)");
  CHECK(message([&] { (void)generate_pairs(model, Behaviour::induction); }) ==
        "induction: expected more than 12 words in lower-case letters that are single tokens of the model, got 0 "
        "(--language en)");
  const Model short_sighted = language_model_of(Split::words, false, 14);
  CHECK(message([&] { (void)generate_pairs(short_sighted, Behaviour::induction); }) ==
        "induction: the text has 15 tokens; the model sees 14 at once");
  const Model chinese = language_model_of(Split::characters);
  const std::string few = message([&] {
    (void)generate_pairs(chinese, Behaviour::agreement, {.language = PairLanguage::chinese, .count = 100'000});
  });
  CAPTURE(few);
  CHECK(few.find("of the 100000 pairs asked for; the model knows 3 templates and 154 pairs of nouns") !=
        std::string::npos);
  CHECK(
      few.ends_with("The last 1001 drafts: 1001 repeat a pair or a text, 0 have texts of different numbers of tokens, "
                    "and 0 have no answer of one token"));
}
