#include "bench/rows.h"
#include "tests/catch.h"
#include "tests/scratch.h"

#include <heed/formats/safetensors.h>

using namespace heed;
using namespace heed::bench;

TEST_CASE("A model row trains reproducibly, and writes a file that its counterpart reads") {
  const Scratch scratch;
  const std::vector<Row> rows = model_rows(scratch.path, true);
  REQUIRE(rows.size() == 3);
  const Row& toy = rows[0];
  CHECK(toy.name == "toy");
  CHECK(toy.flops > 0);
  const std::vector<double> losses = toy.losses(20);
  REQUIRE(losses.size() == 20);
  CHECK(losses.back() < losses.front());
  CHECK(toy.losses(20) == losses);

  const SafeTensors file = read_safetensors(toy.counterpart["file"].get<std::string>());
  CHECK(file["encoder.0.attention.W_Q.weight"].shape() == Shape{64, 32});
  CHECK(file["batch.0.query"].shape() == Shape{64});
  CHECK(file["batch.19.tokens"].shape()[0] == 64);
}

TEST_CASE("GPT-2 is left out of the quick rows") {
  const Scratch scratch;
  CHECK(model_rows(scratch.path, true).back().name == "char in bfloat16");
  CHECK(model_rows(scratch.path, false).back().name == "gpt2 in bfloat16, T 256");
}
