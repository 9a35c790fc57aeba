// A configuration is rejected, or survives writing and reading.
#include "tests/fuzz/fuzz.h"
#include "train/config/config.h"

using namespace heed;

void heed::fuzz::yaml(std::string_view input) {
  fuzz::accepts([&] {
    const std::string written = to_yaml(parse_config(std::string(input), "f"));
    fuzz::demand(to_yaml(parse_config(written, "written")) == written,
                 "a written configuration is read back unchanged");
  });
}
