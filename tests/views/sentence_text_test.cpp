#include "views/sentence_text.h"

#include "tests/views/helpers.h"

using namespace heed;

TEST_CASE("token_text shows white space as signs") {
  CHECK(token_text(" ") == "␣");
  CHECK(token_text("  ") == "␣␣");
  CHECK(token_text(" the") == "the");
  CHECK(token_text("\n") == "↵");
  CHECK(token_text(" \t\r\n") == "␣⇥␍↵");
  CHECK(token_text("a\n") == "a␊");
  CHECK(token_text("") == "");
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens[0] = sentence.predicted = " ";
  const std::string text = query_view({0, {sentence}}, {});
  CHECK(text.find("predicts ␣ with") != std::string::npos);
  CHECK(text.find("-> ␣ ") != std::string::npos);
}

TEST_CASE("query_view numbers equal words by their position") {
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens = {"甜", "很", "甜"};
  const std::string text = query_view({0, {sentence}}, {});
  CHECK(text.find("甜₃ -> 甜₁ 0.50") != std::string::npos);
}

TEST_CASE("sentence_text adds no spaces between tokens that contain the spaces of a text") {
  const auto text = [](const std::vector<std::string>& tokens, int width, bool is_text = false) {
    return sentence_text(tokens, 0, {}, {.width = width}, is_text);
  };
  CHECK(text({"T", "o", " ", "b", "e"}, 80) == "To be");
  CHECK(text({"To", " be", " or", " not"}, 80) == "To be or not");
  CHECK(text({"To", " be", " or", " not"}, 8) == "To be or\nnot");
  CHECK(text({"T", "o", "\n", "b", "e"}, 80) == "To↵be");
  CHECK(text({"a", "b"}, 80) == "a b");
  CHECK(text({"a", "b"}, 80, true) == "ab");
  CHECK(text({"天", "地", "玄", "黄"}, 40, true) == "天地玄黄");
}

TEST_CASE("sentence_text breaks lines between words and shortens words wider than the terminal") {
  const auto text = [](const std::vector<std::string>& tokens, int width, bool is_text = false) {
    return sentence_text(tokens, 0, {}, {.width = width}, is_text);
  };
  CHECK(text({"a", " ", "w", "o", "r", "d"}, 5) == "a\nword");
  CHECK(text({"a", " l", "o", "n", "g", "e", "r"}, 5) == "a lon\nger");
  CHECK(text({"incomprehensibility", "of", "it"}, 10) == "incompreh…\nof it");
  check_width(text(std::vector<std::string>(60, "天"), 41, true) + "\n", 41);
}

TEST_CASE("sentence_text puts an antecedent of several tokens in one pair of brackets") {
  const std::vector<std::string> tokens{"the", "old", "dog", "saw", "it"};
  CHECK(sentence_text(tokens, 4, antecedent_span(2, {{3, 4}, {0, 3}}), {}) == "[the old dog] saw it");
  CHECK(sentence_text({"the", " dog", "gy", " saw", " it"}, 4, {1, 3}, {}) == "the [doggy] saw it");
  CHECK(sentence_text(tokens, 4, antecedent_span(2), {}) == "the old [dog] saw it");
  CHECK(sentence_text(tokens, 4, antecedent_span(-1, {{0, 3}}), {}) == "the old dog saw it");
}

TEST_CASE("query_view prints a wrapped legend once, and only if an antecedent is marked") {
  CHECK(query_view(english, at_width(40))
            .ends_with("\n\n[brackets] and ◂ mark the antecedent:\nwhat the query refers to.\n"));
  SentenceAttention without = chinese_sentence();
  without.antecedent = -1;
  const std::string unmarked = query_view({0, {without}}, {});
  CHECK(unmarked.find("brackets") == std::string::npos);
  CHECK(query_view({0, {without, english_sentence(), english_sentence()}}, {}).find("[brackets]") ==
        query_view({0, {without, english_sentence(), english_sentence()}}, {}).rfind("[brackets]"));
}
