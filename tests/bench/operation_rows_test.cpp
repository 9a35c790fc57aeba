#include "bench/rows.h"
#include "tests/catch.h"

#include <heed/autograd/profile.h>

#include <set>

using namespace heed;
using namespace heed::bench;

namespace {

Row row(const std::string& name) {
  for (Row& row : operation_rows(true)) {
    if (row.name == name) return row;
  }
  FAIL("no row is named " << name);
  return {};
}

}  // namespace

TEST_CASE("Rows have unique names, and the quick rows are among all rows") {
  std::set<std::string> names;
  for (const Row& row : operation_rows(false)) CHECK(names.insert(row.name).second);
  CHECK(names.contains("AdamW, 256 MB"));
  CHECK(names.contains("attention, T 8192, causal"));
  const std::vector<Row> quick = operation_rows(true);
  CHECK(quick.size() < names.size());
  for (const Row& row : quick) CHECK((names.contains(row.name) || row.name == "graph of 10000 scalars"));
}

TEST_CASE("A row counts the minimal bytes and flops of its operation") {
  CHECK(row("softmax, 1 KB").bytes == 5 * 1024);
  CHECK(row("cross-entropy, 1 KB").bytes == 2 * 1024);
  CHECK(row("AdamW, 1 KB").bytes == 7 * 1024);
  CHECK(row("attention, T 512").flops == 7.0 * 2 * 8 * 512 * 512 * 64);
  CHECK(row("attention, T 512, causal").flops == row("attention, T 512").flops / 2);
  CHECK(row("GQA, T 512, causal").flops == row("attention, T 512, causal").flops);
  CHECK(row("SwiGLU, 1 KB").bytes == 8 * 1024);
  CHECK(row("rotary, T 512").bytes == 4.0 * 4 * 8 * 512 * 64);
}

TEST_CASE("A row runs the operation of its name, forward and backward") {
  const auto operations = [](const std::string& name) {
    const auto work = row(name).prepare();
    const Profile profile;
    work();
    std::set<std::string> names;
    for (const auto& [operation, total] : profile.totals()) names.insert(operation);
    return names;
  };
  CHECK(operations("softmax, 1 KB") == std::set<std::string>{"softmax", "softmax backward"});
  CHECK(operations("layer norm, 1 KB") == std::set<std::string>{"layer_norm", "layer_norm backward"});
  CHECK(operations("cross-entropy, 1 KB") == std::set<std::string>{"cross_entropy", "cross_entropy backward"});
  CHECK(operations("embedding, 1 KB") == std::set<std::string>{"embedding", "embedding backward"});
  CHECK(operations("attention, T 512").contains("attention backward"));
  CHECK(operations("GQA, T 512, causal").contains("attention backward"));
  CHECK(operations("SwiGLU, 1 KB") == std::set<std::string>{"swiglu", "swiglu backward"});
  CHECK(operations("RMSNorm, 1 KB") == std::set<std::string>{"rms_norm", "rms_norm backward"});
  CHECK(operations("rotary, T 512").contains("rotary backward"));
}
