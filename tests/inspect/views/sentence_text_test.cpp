#include "inspect/views/sentence_text.h"

#include "tests/inspect/views/helpers.h"

using namespace heed;

TEST_CASE("A token that cannot be seen has a sign") {
  CHECK(token_text(" ") == "␣");
  CHECK(token_text("  ") == "␣␣");
  CHECK(token_text(" the") == " the");
  CHECK(token_text("\n") == "␊");
  CHECK(token_text("") == "");
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens[0] = sentence.predicted = " ";
  const std::string text = query_view({0, {sentence}}, {});
  CHECK(text.find("predicts ␣ with") != std::string::npos);
  CHECK(text.find("-> ␣ ") != std::string::npos);
}

TEST_CASE("query_view tells equal words apart by their place") {
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens = {"甜", "很", "甜"};
  const std::string text = query_view({0, {sentence}}, {});
  CHECK(text.find("甜₃ -> 甜₁ 0.50") != std::string::npos);
}

TEST_CASE("Tokens that hold the spaces of a text are not spread") {
  const auto text = [](const std::vector<std::string>& tokens, int width) {
    return sentence_text(tokens, 0, -1, {.width = width});
  };
  CHECK(text({"T", "o", " ", "b", "e"}, 80) == "To be");
  CHECK(text({"To", " be", " or", " not"}, 80) == "To be or not");
  CHECK(text({"To", " be", " or", " not"}, 8) == "To be or\n not");
  CHECK(text({"a", "b"}, 80) == "a b");
}

TEST_CASE("the legend of the antecedent is printed where one is marked, and wrapped") {
  CHECK(query_view(english, at_width(40))
            .ends_with("\n\n[brackets] and ◂ mark the antecedent:\nthe token that the query refers to.\n"));
  SentenceAttention without = chinese_sentence();
  without.antecedent = -1;
  const std::string unmarked = query_view({0, {without}}, {});
  CHECK(unmarked.find("brackets") == std::string::npos);
  CHECK(query_view({0, {without, english_sentence(), english_sentence()}}, {}).find("[brackets]") ==
        query_view({0, {without, english_sentence(), english_sentence()}}, {}).rfind("[brackets]"));
}
