#include "tests/catch.h"
#include "tests/message.h"
#include "tests/tokenizers/small_tokenizer.h"

#include <heed/tokenizers/marked_text.h>

using namespace heed;

namespace {

using Words = std::vector<std::string>;

MarkedText marked() {
  MarkedText text = without_brackets("[The old cup] can't hold [the tea], it leaks.");
  text.query = find_word(text.text, "it");
  text.chosen = 0;
  return text;
}

}  // namespace

TEST_CASE("cut() converts spans of bytes into spans of tokens for each kind of split") {
  const Example words = cut(marked(), Tokenizer(Split::words));
  CHECK(words.tokens == Words{"The", "old", "cup", "can't", "hold", "the", "tea", ",", "it", "leaks", "."});
  CHECK(words.query == 8);
  CHECK(words.candidates == std::vector<Span>{{0, 3}, {5, 7}});
  CHECK(words.chosen == 0);
  CHECK(words.antecedent == 2);
  CHECK(words.distractor == 6);
  CHECK(words.answer == "cup");
  CHECK(text_of(words, words.candidates[1]) == "the tea");

  MarkedText chinese = without_brackets("[小狗]没有穿过[街道]因为它累了");
  chinese.query = find_word(chinese.text, "它");
  chinese.chosen = 1;
  const Example characters = cut(chinese, Tokenizer(Split::characters));
  CHECK(characters.candidates == std::vector<Span>{{0, 2}, {6, 8}});
  CHECK(characters.query == 10);
  CHECK(characters.antecedent == 7);
}

TEST_CASE("cut() keeps the cue word as its last subword, and the word asked about") {
  const Tokenizer subwords = Tokenizer::of_text(PretrainedTokenizer(tokenizer_json(true)));
  const auto cut_at = [&](std::vector<std::string> tokens, int query, std::string cue) {
    return cut(marked_text({.tokens = std::move(tokens), .query = query, .cue = std::move(cue)}), subwords);
  };
  const Example birds = cut_at({"the", "cat", "saw", "birds"}, 1, "birds");
  CHECK(birds.tokens == Words{"[CLS]", "the", "cat", "saw", "bi", "##rd", "##s", "[SEP]"});
  CHECK(birds.cue == "##s");
  CHECK(birds.source.query.empty());
  CHECK(cut_at({"the", "cat", "was", "big"}, 1, "big").cue == "big");
  CHECK(cut_at({"cats", "saw", "birds"}, 1, "birds").cue == "bi");  // "##s" would be that of "cats"
  CHECK(cut_at({"bis", "saw", "birds"}, 1, "birds").cue.empty());   // "bi" would be that of "bis"
  CHECK(cut_at({"the", "cat", "was", "big"}, 1, "").cue.empty());
  CHECK(cut_at({"the", "cat", "saw", "birds"}, 3, "").source.query == "birds");
}

TEST_CASE("cut() extends a span within a token to the whole token") {
  MarkedText text{.text = "Ann's cat saw Bo, and she left"};
  text.candidates = {find_word(text.text, "ann"), find_word(text.text, "Bo")};
  text.query = find_word(text.text, "she");
  const Example example = cut(text, Tokenizer(Split::words));
  CHECK(example.tokens[0] == "Ann's");
  CHECK(example.candidates == std::vector<Span>{{0, 1}, {3, 4}});
  CHECK(example.chosen == -1);
  CHECK(example.antecedent == -1);
}

TEST_CASE("find_word finds only whole words, in upper and lower case") {
  CHECK(find_word("a cart, a CAR", "car") == MarkedText::Place{10, 13});
  CHECK(find_word("car car", "car", 1) == MarkedText::Place{4, 7});
  CHECK(find_word("cart", "car").end == 0);
  CHECK(find_word("cart", "").end == 0);
  CHECK(find_word("RaceCAR CAR_x", "car") == MarkedText::Place{8, 11});
}

TEST_CASE("cut() and without_brackets reject invalid queries, candidates and brackets") {
  MarkedText text = marked();
  text.candidates.push_back(text.query);
  CHECK(message([&] { cut(text, Tokenizer(Split::words)); }) == "the query 'it' is a candidate, too");
  MarkedText blank = without_brackets("a[ ]cup, it[ ]leaks");
  blank.query = blank.candidates[1];
  CHECK(message([&] { cut(blank, Tokenizer(Split::words)); }) == "the query ' ' contains no token");
  blank.query = find_word(blank.text, "it");
  CHECK(message([&] { cut(blank, Tokenizer(Split::words)); }) == "the candidate ' ' contains no token");
  CHECK(message([] { without_brackets("a [b"); }) == "'[' without ']' after it");
  CHECK(message([] { without_brackets("a] b"); }) == "']' without '[' before it");
  CHECK(message([] { without_brackets("a [[b]"); }) == "'[' without ']' before it");
  CHECK(message([] { without_brackets("a [] b"); }) == "'[]' is empty");
}

TEST_CASE("pair_neighbours pairs adjacent sentences with the same candidates and different answers") {
  std::vector<MarkedText> texts(4, marked());
  texts[1].chosen = 1;
  texts[3].chosen = 1;
  texts[3].candidates[0].end -= 1;  // other words
  pair_adjacent(texts);
  CHECK(texts[0].counterpart == 1);
  CHECK(texts[1].counterpart == 0);
  CHECK(texts[2].counterpart == -1);
  CHECK(texts[3].counterpart == -1);
}
