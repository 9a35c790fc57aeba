#include "tests/catch.h"

#include <heed/data/overlap.h>

using namespace heed;

TEST_CASE("leave_out removes sentences of the training set, however they are split and written") {
  const std::vector<Example> known{{.tokens = {"The", "cat", "didn't", "run", "."}}};
  std::vector<Example> set{{.tokens = {"A", "dog"}, .counterpart = 2},
                           {.tokens = {"the", "CAT", "did", "n't", "run"}, .counterpart = 3},
                           {.tokens = {"A", "cow"}, .counterpart = 0},
                           {.tokens = {"The", "cat", "didn't", "sit", "."}, .counterpart = 1}};
  CHECK(leave_out(set, sentence_numbers(known)) == 1);
  REQUIRE(set.size() == 3);
  CHECK(set[0].counterpart == 1);
  CHECK(set[1].counterpart == 0);
  CHECK(set[2].counterpart == -1);
  CHECK(set[2].tokens[3] == "sit");
  CHECK(leave_out(set, {}) == 0);
}
