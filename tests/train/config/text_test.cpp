#include "tests/catch.h"
#include "tests/train/config/sample.h"
#include "train/config/config.h"

#include <heed/tokenizers/graphemes.h>

#include <sstream>

using namespace heed;

TEST_CASE("to_yaml writes every key, and parse_config reads the same configuration back") {
  const Config c = parse_config(every_key, "f");
  CHECK(to_yaml(c) == every_key);
  CHECK(c.name == "bank: 银行 \"1\" \\");
  CHECK(c.seed == UINT64_MAX);
  CHECK(c.data.shuffle_antecedents);
  CHECK(c.model.block.attention.d_k == 7);
  CHECK(c.optim.optimizer.beta2 == 0.1 + 0.2);
  CHECK(c.optim.schedule.warmup == 0);
  CHECK(c.dump.every == 9);
  REQUIRE(c.watched.size() == 2);
  CHECK(c.watched[0].text == "小狗没有过马路，因为它太累了 \"\\");
  CHECK(c.watched[1].query == "true");

  const std::string defaults = to_yaml(Config{});
  CHECK(to_yaml(parse_config(defaults, "f")) == defaults);
  std::istringstream lines(defaults), changed(every_key);
  for (std::string line, other; std::getline(lines, line) && std::getline(changed, other);) {
    if (line.ends_with(":")) continue;  // a section
    CHECK(line.substr(0, line.find(':')) == other.substr(0, other.find(':')));
    const bool contradicts_others = line.starts_with("  parallel:") || line.starts_with("  window:") ||
                                    line.starts_with("  folds:") || line.starts_with("  fold:");
    CHECK((line != other) != contradicts_others);
  }
}

TEST_CASE("config_help lists every key with its default and range in at most 80 columns") {
  const std::string help = config_help();
  CHECK(to_yaml(parse_config(help, "help")) == to_yaml(Config{}));
  std::istringstream lines(help), keys(to_yaml(Config{}));
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 80);
  for (std::string key; std::getline(keys, key);) CHECK(help.find(key) != help.npos);
  CHECK(help.find("\n  heads: 2                     # attention heads per layer (1 to 64)\n") != help.npos);
}
