#include "bench/rows.h"
#include "tests/catch.h"
#include "tests/scratch.h"

#include <heed/formats/safetensors.h>

#include <cmath>

using namespace heed;
using namespace heed::bench;

TEST_CASE("Rows of pretrained models repeat their results, and count each stored weight once") {
  const Scratch scratch;
  const std::vector<Row> rows = pretrained_rows(scratch.path, true);
  REQUIRE(rows.size() == 10);
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const std::function<void()> work = row.prepare();
    work();
    work();
    const SafeTensorsFile file(row.counterpart["directory"].get<std::string>() + "/model.safetensors");
    std::int64_t bytes = 0;
    for (const StoredTensor& tensor : file.tensors()) {
      bytes += tensor.shape.rank() == 2 ? static_cast<std::int64_t>(tensor.end - tensor.begin) : 0;
    }
    const bool is_token = row.counterpart["tokens"] == Json{1, 1};
    const double share = row.counterpart["dtype"] == "q8_0" ? 34.0 / 128 : 1.0;  // of the bytes in F32
    CHECK(row.bytes == (is_token ? share * static_cast<double>(bytes) : 0.0));
    CHECK((row.flops > 0) == (!is_token && row.name.find(" in ") == row.name.npos));
    CHECK(static_cast<bool>(row.losses) == (row.counterpart["dtype"] == "float32"));
    if (!row.losses) continue;
    const std::vector<double> largest = row.losses(70);  // fills the cache of the token row
    CHECK((largest.size() == 70 && std::isfinite(largest.back())));
    CHECK(row.losses(70) == largest);
  }
}
