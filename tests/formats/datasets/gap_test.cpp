#include "tests/catch.h"
#include "tests/data/helpers.h"

#include <heed/formats/datasets/published.h>

using namespace heed;
using heed::test::TemporaryFile;

namespace {

const std::string titles = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n";

// Offsets in code points: "é" is one.
std::string names(const char* pronoun, int at, const char* A, const char* B) {
  return fmt::format("t-1\tÉva met Zoé Ray, and her dog saw him.\t{}\t{}\tÉva\t0\t{}\tZoé Ray\t8\t{}\thttp://x\n",
                     pronoun, at, A, B);
}

}  // namespace

TEST_CASE("read_gap reads names at their offsets, and the pronoun determines the gender") {
  const TemporaryFile file("g.tsv",
                           titles + names("her", 21, "TRUE", "FALSE") + names("her", 21, "FALSE", "TRUE") +
                               names("him", 33, "FALSE", "FALSE") +
                               "\nt-2\tHis dog bit Bo; Al ran.\tHis\t0\tBo\t12\tTRUE\tAl\t16\tFALSE\thttp://x\n");
  const std::vector<MarkedText> all = read_gap(file.path());
  REQUIRE(all.size() == 4);
  const auto words = [&](const MarkedText::Place& p) { return all[0].words(p); };
  CHECK(words(all[0].query) == "her");
  CHECK(words(all[0].candidates.at(0)) == "Éva");
  CHECK(words(all[0].candidates.at(1)) == "Zoé Ray");
  CHECK(all[0].chosen == 0);
  CHECK(all[1].chosen == 1);
  CHECK(all[2].chosen == -1);
  CHECK(all[0].relation == "feminine");
  CHECK(all[2].relation == "masculine");
  CHECK(all[3].relation == "masculine");  // capital letters do not matter
}

TEST_CASE("read_gap lists every mistake by line") {
  const TemporaryFile file("g.tsv", titles + "t-1\tshort\n" + names("her", 20, "TRUE", "FALSE") +
                                        names("dog", 25, "TRUE", "FALSE") + names("her", 21, "TRUE", "TRUE") +
                                        names("her", 21, "yes", "FALSE") +
                                        "t-2\tshe\tshe\t1e9\tA\t0\tTRUE\tB\t0\tFALSE\thttp://x\n"
                                        "t-3\tshe\tshe\t99\tA\t0\tTRUE\tB\t0\tFALSE\thttp://x\n");
  CHECK(message([&] { read_gap(file.path()); }, file.path()) ==
        "FILE:2: expected 11 fields separated by tabs, got 2\n"
        "FILE:3: expected 'her' at offset 20 of the text, got ' he'\n"
        "FILE:4: expected a form of he or she, got 'dog'\n"
        "FILE:5: both names are TRUE; expected one at most\n"
        "FILE:6: expected TRUE or FALSE, got 'yes'\n"
        "FILE:7: expected the offset of 'she', got '1e9'\n"
        "FILE:8: expected 'she' at offset 99 of the text, got ''");
}
