#include "train/gradient_check.h"

#include "tests/catch.h"

#include <algorithm>

using namespace heed;

TEST_CASE("Every parameter of a configured model is checked, a line each") {
  const ModelCheck check = check_model_gradients(
      parse_config("data: {sentences: 20, held_out: 4}\nmodel: {d_model: 16, heads: 2, layers: 2, mlp: 3}\n", "f"));
  CHECK(check.passed);
  for (const char* name : {"words.weight ", "positions.weight ", "encoder.0.attention.W_Q.weight ", "output_bias "}) {
    CAPTURE(name, check.table);
    const std::size_t at = check.table.find(std::string("\n") + name);
    REQUIRE(at != std::string::npos);
    CHECK(check.table.substr(at + 1, check.table.find('\n', at + 1) - at - 1).ends_with("  pass"));
  }
  const std::size_t last = check.table.rfind('\n', check.table.size() - 2) + 1;
  const auto parameters = std::ranges::count(check.table, '\n') - 2;  // without the head and the last line
  CHECK(check.table.substr(last).starts_with(fmt::format("{0} of {0} parameters pass", parameters)));
}

TEST_CASE("Few features behind a layer norm, where the loss bends most, are no false alarm") {
  for (const int seed : {1, 2, 3, 4, 5}) {
    const ModelCheck check = check_model_gradients(parse_config(
        "data: {sentences: 20, held_out: 4}\nmodel: {d_model: 4, heads: 2, mlp: 3}\nseed: " + std::to_string(seed),
        "f"));
    CAPTURE(seed, check.table);
    CHECK(check.passed);
  }
}
