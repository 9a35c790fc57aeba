// A configuration is rejected, or survives writing and reading.
#include "tests/fuzz/fuzz.h"
#include "train/config/config.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::accepts([&] {
    const std::string written = to_yaml(parse_config(std::string(fuzz::text_of(data, size)), "f"));
    fuzz::demand(to_yaml(parse_config(written, "written")) == written,
                 "a written configuration is read back unchanged");
  });
  return 0;
}
