#include "bench/rows.h"
#include "tests/catch.h"
#include "tests/scratch.h"

#include <heed/formats/safetensors.h>

using namespace heed;
using namespace heed::bench;

TEST_CASE("A row that generates text repeats its logits, also beyond the model's context") {
  const Scratch scratch;
  const std::vector<Row> rows = writing_rows(scratch.path, true);
  REQUIRE(rows.size() == 2);  // without GPT-2
  CHECK(rows[1].counterpart["context"] == 256);
  for (const Row& row : rows) {
    const int tokens = row.counterpart["context"].get<int>() + 10;
    const std::vector<double> logits = row.losses(tokens);
    REQUIRE(std::ssize(logits) == tokens);
    CHECK(row.losses(tokens) == logits);
    const SafeTensors file = read_safetensors(row.counterpart["file"].get<std::string>());
    std::int64_t weights = 0;
    for (const auto& [name, tensor] : file.tensors)
      weights += tensor.rank() == 2 && name != "positions.weight" ? tensor.numel() : 0;
    CHECK(row.bytes == static_cast<double>(4 * 100 * weights));  // 100 tokens, each weight once per token
    const std::function<void()> work = row.prepare();
    work();
    work();
  }
}
