#include "tests/catch.h"
#include "tests/data/helpers.h"

#include <heed/formats/datasets/published.h>

using namespace heed;
using heed::test::TemporaryFile;

namespace {

std::string cloze(const char* id, const char* sentence, const char* one, const char* two, const char* answer) {
  return fmt::format(R"({{"qID": "{}", "sentence": "{}", "option1": "{}", "option2": "{}", "answer": "{}"}})", id,
                     sentence, one, two, answer) +
         "\n";
}

}  // namespace

TEST_CASE("read_winogrande finds options as words or parts of words, and pairs counterparts by qID") {
  const TemporaryFile file(
      "w.jsonl", cloze("A-2", "Nettles sting; Olaf cut the nettle, then Pim, as _ was told.", "pim", "Olaf", "2") +
                     cloze("B-1", "The lids and pots were there, but the _ broke.", "pot", "lid", "1") +
                     cloze("A-1", "Nettles sting; Olaf cut the nettle, then Pim, as _ had asked.", "pim", "Olaf", "1") +
                     cloze("C-1", "A motorboat or a ferry: the _ was late.", "boat", "ferry", "1") +
                     cloze("D-1", "He wore a t-shirt, no shirt: the _ was old.", "shirt", "t-shirt", "1"));
  const std::vector<MarkedText> all = read_winogrande(file.path());
  REQUIRE(all.size() == 5);
  const auto words = [&](std::size_t i, std::size_t c) { return all[i].words(all[i].candidates.at(c)); };
  CHECK(words(0, 0) == "Pim");
  CHECK(words(0, 1) == "Olaf");
  CHECK(all[0].text.substr(all[0].query.begin, 5) == "_ was");
  CHECK(all[0].chosen == 1);
  CHECK(all[0].counterpart == 2);
  CHECK(all[2].counterpart == 0);
  CHECK(words(1, 0) == "pot");
  CHECK(words(1, 1) == "lid");
  CHECK(all[1].counterpart == -1);
  CHECK(words(4, 0) == "shirt");
  CHECK(all[4].candidates[0].begin == 22);
  CHECK(words(4, 1) == "t-shirt");
  CHECK(words(3, 0) == "boat");
}

TEST_CASE("read_winogrande lists every mistake by line") {
  const TemporaryFile file("w.jsonl", cloze("A-1", "No blank here.", "No", "here", "1") + "\n[1]\n" +
                                          cloze("A-1", "A cup or a _ here.", "cup", "jug", "1") +
                                          cloze("A-1", "A cup or a jug: _ here.", "cup", "jug", "3") +
                                          cloze("A-1", "A cup or a jug: _ here.", "cup", "Cup", "1"));
  CHECK(message([&] { read_winogrande(file.path()); }, file.path()) ==
        "FILE:1: expected one blank '_' in the sentence 'No blank here.'\n"
        "FILE:3: expected a text as 'sentence'\n"
        "FILE:4: the option 'jug' is not in the sentence\n"
        "FILE:5: expected the answer \"1\" or \"2\", got \"3\"\n"
        "FILE:6: both options are the same word of the sentence");
}
