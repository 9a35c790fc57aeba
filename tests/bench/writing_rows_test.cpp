#include "bench/rows.h"
#include "tests/catch.h"
#include "tests/scratch.h"

#include <heed/files/safetensors.h>

using namespace heed;
using namespace heed::bench;

TEST_CASE(
    "A row that writes gives the same logits each time, beyond what the model sees at once, from its twin's file") {
  const Scratch scratch;
  const std::vector<Row> rows = writing_rows(scratch.path, true);
  REQUIRE(rows.size() == 1);                               // without GPT-2
  const std::vector<double> logits = rows[0].losses(100);  // of 64 at once
  REQUIRE(logits.size() == 100);
  CHECK(rows[0].losses(100) == logits);
  CHECK(rows[0].bytes > 0);
  const SafeTensors file = read_safetensors(rows[0].twin["file"].get<std::string>());
  CHECK(file["words.weight"].shape() == Shape{65, 128});
  const std::function<void()> work = rows[0].prepare();
  work();
  work();
}
