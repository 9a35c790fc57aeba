#include "views/known_answers.h"

#include "tests/catch.h"
#include "tests/inspect/sample.h"

using namespace heed;

TEST_CASE("known_answer finds the correct answer of a watched sentence in the held-out sentences") {
  const SentenceAttention sentence = english_sentence();  // "... it was too tired", it -> animal
  Example same{
      .tokens = sentence.tokens, .query = sentence.query, .antecedent = sentence.antecedent, .answer = "animal"};
  CHECK(known_answer(sentence, {}) == "");
  CHECK(known_answer(sentence, {same}) == "animal");

  // Another sentence with the same query word and antecedent gives the answer.
  Example other{.tokens = {"it", "animal"}, .query = 0, .antecedent = 1, .answer = "beast"};
  CHECK(known_answer(sentence, {other}) == "beast");
  CHECK(known_answer(sentence, {other, same}) == "animal");  // the same sentence takes precedence
  Example apart = other;
  apart.answer = "creature";
  CHECK(known_answer(sentence, {other, apart}) == "");

  SentenceAttention text = sentence;  // of a language model: no antecedent
  text.antecedent = -1;
  CHECK(known_answer(text, {other}) == "");
  CHECK(known_answer(text, {same}) == "animal");

  SentenceAttention choice = sentence;
  choice.candidates = {{0, 2}, {4, 6}};
  CHECK(known_answer(choice, {same}) == "The animal");
  choice.antecedent = -1;
  CHECK(known_answer(choice, {same}) == "");
}
