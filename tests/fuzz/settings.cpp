// Settings, one --set per line, are rejected, or give a configuration that survives writing and reading.
#include "tests/fuzz/fuzz.h"
#include "train/config/config.h"

#include <sstream>

using namespace heed;

void heed::fuzz::settings(std::string_view input) {
  std::vector<std::string> settings;
  std::istringstream lines{std::string(input)};
  for (std::string line; std::getline(lines, line);) settings.push_back(line);
  fuzz::accepts([&] {
    const std::string written = to_yaml(parse_config("seed: 1\n", "f", settings));
    fuzz::demand(to_yaml(parse_config(written, "written")) == written,
                 "a written configuration is read back unchanged");
  });
}
