#include "bench/rows.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/safetensors.h>

using namespace heed;

TEST_CASE("The program's row runs the program into an empty directory each time") {
  const Scratch scratch;
  const bench::Row row = bench::program_row("true", "toy.yaml", scratch.path);
  const auto work = row.prepare();
  std::filesystem::create_directory(scratch / "run");
  CHECK(message(work) == "no error");
  CHECK_FALSE(std::filesystem::exists(scratch / "run"));
}

TEST_CASE("A program that fails ends the row with the command that failed") {
  const Scratch scratch;
  const bench::Row row = bench::program_row("false", "toy.yaml", scratch.path);
  const auto work = row.prepare();
  CHECK(message(work) == "'false' --config 'toy.yaml' --out '" + (scratch / "run").string() + "' --quiet: it failed");
  const SafeTensors data = read_safetensors(row.twin["data"].get<std::string>());
  CHECK(data["train.query"].shape() == Shape{4000});
  CHECK(data["held_out.query"].shape() == Shape{1000});
}
