#include "train/config/config.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/random.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <sstream>

using namespace heed;

namespace {

// Every key, each with a value that is not its default.
const std::string everything = R"(name: "bank: 银行 \"1\" \\"
seed: 18446744073709551615
data:
  task: jsonl
  train: "some where/训练.jsonl"
  test: "#test"
  split: characters
  sentences: 10
  held_out: 20
  shuffle_antecedents: true
model:
  d_model: 30
  heads: 4
  d_k: 7
  d_v: 7
  layers: 3
  mlp: 128
  positions: sinusoidal
  tie: K_is_V
  dropout: 0.25
  bias: true
optim:
  name: sgd
  lr: 0.1
  momentum: 0.9
  nesterov: true
  beta1: 0.8
  beta2: 0.30000000000000004
  eps: 1e-12
  weight_decay: 5e-324
  schedule: linear
  warmup: 0
  clip: 1.7976931348623157e+308
train:
  steps: 999999
  batch_size: 1
  evaluate_every: 7
  checkpoint_every: 8
dump:
  every: 9
  sentences: 1
probes:
  - text: "小狗没有过马路，因为它太累了 \"\\"
    query: "它"
    antecedent: "狗"
  - text: "true: no"
    query: "true"
    antecedent: "no"
)";

}  // namespace

TEST_CASE("A configuration is written with every key and comes back the same") {
  const Config c = parse_config(everything, "f");
  CHECK(to_yaml(c) == everything);
  CHECK(c.name == "bank: 银行 \"1\" \\");
  CHECK(c.seed == UINT64_MAX);
  CHECK(c.data.shuffle_antecedents);
  CHECK(c.model.attention.d_k == 7);
  CHECK(c.optimizer.beta2 == 0.1 + 0.2);
  CHECK(c.schedule.warmup == 0);
  CHECK(c.dump.every == 9);
  REQUIRE(c.watched.size() == 2);
  CHECK(c.watched[0].text == "小狗没有过马路，因为它太累了 \"\\");
  CHECK(c.watched[1].query == "true");

  const std::string defaults = to_yaml(Config{});
  CHECK(to_yaml(parse_config(defaults, "f")) == defaults);
  std::istringstream lines(defaults), changed(everything);
  for (std::string line, other; std::getline(lines, line) && std::getline(changed, other);) {
    if (line.ends_with(":")) continue;  // a section
    CHECK(line.substr(0, line.find(':')) == other.substr(0, other.find(':')));
    CHECK(line != other);
  }
}

TEST_CASE("What a configuration leaves out has its default") {
  const Config c = parse_config("\xEF\xBB\xBFmodel: {heads: 4}\r\noptim:\r\n  lr: 1e-3  # small\r\n", "f");
  Config expected;
  expected.model.attention.heads = 4;
  expected.schedule.lr = 0.001;
  CHECK(to_yaml(c) == to_yaml(expected));
}

TEST_CASE("Settings override the file, the later the earlier") {
  const Config c = parse_config("model:\n  heads: 4\n", "f",
                                {"model.heads=8", "model.heads=1", "data.task=jsonl", "data.train=a=b: #c",
                                 "optim.lr=.5e0", "model.bias=true", "seed=7", "optim.lr=0.25"});
  CHECK(c.model.attention.heads == 1);
  CHECK(c.data.train == "a=b: #c");
  CHECK(c.model.attention.bias == Bias::yes);
  CHECK(c.seed == 7);
  CHECK(c.schedule.lr == 0.25);
}

TEST_CASE("The help lists every key with its default and its range, 80 columns wide") {
  const std::string help = config_help();
  CHECK(to_yaml(parse_config(help, "help")) == to_yaml(Config{}));
  std::istringstream lines(help), keys(to_yaml(Config{}));
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 80);
  for (std::string key; std::getline(keys, key);) CHECK(help.find(key) != help.npos);
  CHECK(help.find("\n  heads: 2                     # attention heads in a layer (1 to 64)\n") != help.npos);
}

TEST_CASE("toy.yaml is the coreference task with its famous sentence") {
  const Config c = read_config("toy.yaml");
  CHECK(c.name == "toy");
  CHECK(c.data.kind == TaskKind::coreference);
  REQUIRE(c.watched.size() == 4);
  CHECK(c.watched[0].text == "The animal didn't cross the street because it was too tired");
  CHECK(c.watched[0].antecedent == "animal");
  CHECK(c.watched[1].antecedent == "street");
}

TEST_CASE("A broken configuration is read or refused, never worse") {
  Random random(1);
  int refused = 0;
  const std::string pieces = "{}[]:,-#&*!|>'\"%@`?~ \t\n\r\\\x04\xff\xe5:-  x0";
  for (int i = 0; i < 3000; ++i) {
    std::string broken = everything;
    for (std::int64_t edits = random.below(4); edits >= 0; --edits) {
      const auto at = static_cast<std::size_t>(random.below(std::ssize(broken)));
      const char piece = pieces[static_cast<std::size_t>(random.below(std::ssize(pieces)))];
      switch (random.below(4)) {
        case 0:
          broken[at] = piece;
          break;
        case 1:
          broken.insert(at, 1 + static_cast<std::size_t>(random.below(20)), piece);
          break;
        case 2:
          broken.erase(at, static_cast<std::size_t>(random.below(30)));
          break;
        default:
          broken.insert(at, broken.substr(static_cast<std::size_t>(random.below(std::ssize(broken))), 40));
      }
      if (broken.empty()) broken = " ";
    }
    const std::string said = message([&] { parse_config(broken, "f"); });
    if (said == "no error") continue;
    ++refused;
    CAPTURE(broken, said);
    CHECK(said.starts_with("f:"));
    CHECK(said.size() > 6);
  }
  CHECK(refused > 1000);
  CHECK(refused < 3000);
}
