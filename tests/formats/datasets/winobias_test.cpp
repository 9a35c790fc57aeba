#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/published.h>

using namespace heed;

TEST_CASE("read_winobias takes as distractor a person that other lines mark") {
  const Scratch scratch;
  const std::filesystem::path path = scratch / "pro_one.txt.dev";
  write_file(path,
             "1 [The baker] fed the pilot because [she] was kind.\n"
             "2 The baker fed [the pilot] because [he] was hungry, and left a note for the mason.\n"
             "3 A mason saw [the  baker] and thanked [her] for [her] bread.\n"
             "4 [the mason] slept near the baker, as [he] was tired.\n");
  const std::vector<MarkedText> all = read_winobias(path);
  REQUIRE(all.size() == 4);
  const auto words = [&](std::size_t i, std::size_t c) { return all[i].words(all[i].candidates.at(c)); };
  CHECK(all[0].text == "The baker fed the pilot because she was kind.");
  CHECK(words(0, 0) == "The baker");
  CHECK(words(0, 1) == "the pilot");
  CHECK(all[0].chosen == 0);
  CHECK(words(1, 0) == "The baker");
  CHECK(words(1, 1) == "the pilot");  // not the mason, which comes later
  CHECK(all[1].chosen == 1);
  CHECK(words(2, 0) == "A mason");
  CHECK(all[2].text.substr(all[2].query.begin, 7) == "her for");
  CHECK(all[0].counterpart == 1);
  CHECK(all[0].relation == "pro");
}

TEST_CASE("read_winobias reads names without an article, and ignores spaces and empty lines") {
  const Scratch scratch;
  const std::filesystem::path path = scratch / "anti_one.txt";
  write_file(path,
             "1 [ Mary ] fed cousin Bob because [ she ] was kind.\n \t\n2 Mary fed [Bob] because [he] was hungry.\n");
  const std::vector<MarkedText> all = read_winobias(path);
  REQUIRE(all.size() == 2);
  const auto words = [&](std::size_t i, std::size_t c) { return all[i].words(all[i].candidates.at(c)); };
  CHECK(words(0, 0) == " Mary ");
  CHECK(words(0, 1) == "Bob");
  CHECK(words(1, 0) == "Mary");
  CHECK(all[1].chosen == 1);
  CHECK(all[1].relation == "anti");
}

TEST_CASE("read_winobias lists every mistake by line") {
  const Scratch scratch;
  const std::filesystem::path path = scratch / "x.txt";
  write_file(path,
             "[The baker] fed [her].\n1 The baker fed [her].\n2 [The baker] fed the pilot.\n3 [The baker fed [her].\n"
             "4 [The baker] fed the pilot, as [she] said.\n");
  CHECK(message([&] { read_winobias(path); }, path.string()) ==
        "FILE:1: expected a number and a sentence\n"
        "FILE:2: expected brackets around the antecedent and around a pronoun, got 0 and 1\n"
        "FILE:3: expected brackets around the antecedent and around a pronoun, got 1 and 0\n"
        "FILE:4: '[' without ']' before it\n"
        "FILE:5: found no distractor; expected a second person that other lines mark");
}
