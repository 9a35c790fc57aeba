#include "tests/catch.h"
#include "tests/message.h"

#include <heed/data/vocabulary.h>

using namespace heed;

TEST_CASE("Vocabulary numbers words in order of first occurrence") {
  Vocabulary vocabulary;
  CHECK(vocabulary.add("it") == 0);
  CHECK(vocabulary.add("它") == 1);
  CHECK(vocabulary.add("it") == 0);
  CHECK(vocabulary.size() == 2);
  CHECK(vocabulary["它"] == 1);
  CHECK(vocabulary.word(1) == "它");
  CHECK(vocabulary.contains("it"));
  CHECK_FALSE(vocabulary.contains("It"));
}

TEST_CASE("The error for an unknown word names it and suggests the most similar known word") {
  const Vocabulary vocabulary({"animal", "street"});
  CHECK(vocabulary.words() == std::vector<std::string>{"animal", "street"});
  CHECK(message([&] { vocabulary["animals"]; }) ==
        "unknown word 'animals' (did you mean 'animal'?): it is not among the 2 words of the vocabulary");
  CHECK(message([&] { vocabulary["xylophone"]; }) ==
        "unknown word 'xylophone': it is not among the 2 words of the vocabulary");
  CHECK(message([] { Vocabulary({"a", "b", "a"}); }) == "vocabulary: 'a' occurs twice");
  CHECK(message([&] { vocabulary.word(2); }) == "vocabulary: no word has number 2; expected 0 to 1");
  CHECK(message([&] { vocabulary.word(-1); }) == "vocabulary: no word has number -1; expected 0 to 1");
  CHECK(message([&] { vocabulary["\x1b"]; }) == "unknown word '␛': it is not among the 2 words of the vocabulary");
}
