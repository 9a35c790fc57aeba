#include "tests/explain/studies/helpers.h"
#include "tests/message.h"

#include <heed/explain/studies/matched_heads.h>

using namespace heed;

TEST_CASE("match_heads matches the heads of equal models, and rejects too few sentences") {
  const auto load = [] { return small_model(); };
  const std::vector<SeedRun> runs{{"first", load, sentences()}, {"second", load, {sentences()[1]}}};
  const MatchedHeads found = match_heads(runs);
  CHECK((found.runs[0].name == "first" && found.runs[0].held_out == 5 && found.runs[1].held_out == 1));
  CHECK(found.similarity == Approx(1));
  CHECK(message([&] {
          match_heads({{"few", load, {sentences()[1]}}, runs[1]});
        }) ==
        "few: expected at least 4 held-out sentences, got 1: heads are matched on one half and measured on the other");
}
