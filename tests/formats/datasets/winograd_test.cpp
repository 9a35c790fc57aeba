#include "tests/catch.h"
#include "tests/data/helpers.h"

#include <heed/formats/datasets/published.h>

using namespace heed;
using heed::test::TemporaryFile;

namespace {

constexpr const char* soup =
    "en\tone\t?\tThe soup burned the cook's \"best\" pan because it was hot.\t"
    R"(["The", "soup", "burned", "the", "cook", "'s", "``", "best", "''", "pan", "because", "it", "was", "hot", "."])"
    "\t"
    R"(["it", [11, 12], ["it"]])"
    "\t"
    R"([["The soup", [0, 2], ["The", "soup"], true], ["best pan", [7, 10], ["best", "''", "pan"], false]])";

std::string with(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

}  // namespace

TEST_CASE("read_winograd reads schemas from token spans, and selects sets by name") {
  const std::string counterpart = with(with(with(soup, "true", "TRUE"), "false", "true"), "TRUE", "false");
  const TemporaryFile file(
      "s.tsv", std::string(soup) + "\n" + counterpart + "\n" + "\n" + with(soup, "en\tone", "fr\ttwo") + "\n");
  const std::vector<MarkedText> all = read_winograd(file.path(), "en/one,fr/two");
  REQUIRE(all.size() == 3);
  const auto words = [&](const MarkedText::Place& p) { return all[0].words(p); };
  CHECK(words(all[0].query) == "it");
  REQUIRE(all[0].candidates.size() == 2);
  CHECK(words(all[0].candidates[0]) == "The soup");
  CHECK(words(all[0].candidates[1]) == "best\" pan");
  CHECK(all[0].chosen == 0);
  CHECK(all[1].chosen == 1);
  CHECK(all[0].counterpart == 1);
  CHECK(all[2].counterpart == -1);
  CHECK(read_winograd(file.path(), "fr/two").size() == 1);
  const TemporaryFile single("s.tsv", std::string(soup) + "\n" + counterpart + "\n");
  CHECK(read_winograd(single.path()).size() == 2);
  CHECK(message([&] { read_winograd(file.path(), "en/on"); }, file.path()) ==
        "FILE: unknown set 'en/on' (did you mean 'en/one'?); its sets: en/one, fr/two");
}

TEST_CASE("read_winograd lists every mistake by line") {
  const TemporaryFile file("s.tsv", std::string("en\tone\n") + soup + "\n" + with(soup, "\"burned\"", "\"boiled\"") +
                                        "\n" + with(soup, "[11, 12]", "[11, 99]") + "\n" + with(soup, "false", "true") +
                                        "\n" + with(soup, "true", "false") + "\n" +
                                        std::string(soup).substr(0, std::string(soup).find("[[\"The soup")) + "[]\n");
  CHECK(message([&] { read_winograd(file.path()); }, file.path()) ==
        "FILE:1: expected language, set, source, sentence, tokens, pronoun and candidates, separated by tabs; got 2 "
        "fields\n"
        "FILE:3: the token 'boiled' is not in the sentence after the ones before it\n"
        "FILE:4: expected a span of its 15 tokens, got [11,99]\n"
        "FILE:5: two candidates are true; expected one\n"
        "FILE:6: no candidate is true; expected one\n"
        "FILE:7: no candidates");
}

TEST_CASE("read_winograd requires spans of two whole numbers, and its errors state the expected form") {
  const auto refusal = [](const std::string& line) {
    const TemporaryFile file("s.tsv", line + "\n");
    return message([&] { read_winograd(file.path()); }, file.path());
  };
  for (const char* span : {"[11.0,12.5]", "[0,4294967300]", "[-4294967295,2]", "[true,false]", "[1e+99,2e+99]"}) {
    CHECK(refusal(with(soup, "[11, 12]", span)) ==
          fmt::format("FILE:1: expected a span of its 15 tokens, got {}", span));
  }
  const std::string expected =
      "FILE:1: expected tokens as [\"a\", ...], the pronoun as [\"it\", [8, 9], [\"it\"]], and candidates as a list of "
      "such, each with true or false";
  CHECK(refusal(with(soup, "[11, 12]", "11")) == expected);
  CHECK(refusal(with(soup, "\"burned\"", "7")) == expected);
}
