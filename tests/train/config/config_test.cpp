#include "train/config/config.h"

#include "tests/catch.h"
#include "tests/scratch.h"
#include "tests/train/config/sample.h"

#include <heed/autograd/random.h>
#include <heed/files/file.h>

using namespace heed;

TEST_CASE("parse_config fills omitted keys with their defaults") {
  const Config c = parse_config("\xEF\xBB\xBFmodel: {heads: 4}\r\noptim:\r\n  lr: 1e-3  # small\r\n", "f");
  Config expected;
  expected.model.block.attention.heads = 4;
  expected.optim.schedule.lr = 0.001;
  CHECK(to_yaml(c) == to_yaml(expected));
}

TEST_CASE("Settings override the file, and later settings override earlier ones") {
  const Config c = parse_config("model:\n  heads: 4\n", "f",
                                {"model.heads=8", "model.heads=1", "data.task=jsonl", "data.train=a=b: #c",
                                 "optim.lr=.5e0", "model.bias=true", "seed=7", "optim.lr=0.25"});
  CHECK(c.model.block.attention.heads == 1);
  CHECK(c.data.train == "a=b: #c");
  CHECK(c.model.block.attention.bias);
  CHECK(c.seed == 7);
  CHECK(c.optim.schedule.lr == 0.25);
}

TEST_CASE("One error lists the first 50 mistakes of a configuration and its settings, in order") {
  CHECK(config_error("model:\n"
                     "  heads: four\n"
                     "  headz: 3\n"
                     "optim:\n"
                     "    learing_rate: 3\n"
                     "train: 3\n"
                     "model: {}\n",
                     {"model.heads=0", "model.heds=1"}) ==
        "f:2:10: model.heads must be an integer from 1 to 64, got 'four'\n"
        "f:3:3: unknown key 'headz' in model (did you mean 'heads'?)\n"
        "f:5:5: unknown key 'learing_rate' in optim (did you mean 'lr'?)\n"
        "f:6:1: train must be a mapping of keys, got '3'\n"
        "f:7:1: duplicate key 'model': first given on line 1\n"
        "--set model.heads=0: model.heads must be an integer from 1 to 64, got '0'\n"
        "--set model.heds=1: unknown key 'model.heds' (did you mean 'model.heads'?)");

  std::string many = "name: a\n";
  for (int i = 0; i < 60; ++i) many += "zzzzzzzz" + std::to_string(i) + ": 1\n";
  CHECK(config_error(many).ends_with("\nf:51:1: unknown key 'zzzzzzzz49'\n... and 10 more"));
}

TEST_CASE("The message for an unknown key suggests the nearest known one") {
  CHECK(config_error("sed: 3") == "f:1:1: unknown key 'sed' (did you mean 'seed'?)");
  CHECK(config_error("trian: {}") == "f:1:1: unknown key 'trian' (did you mean 'train'?)");
  CHECK(config_error("modle: {}") == "f:1:1: unknown key 'modle' (did you mean 'model'?)");
  CHECK(config_error("probe: []") == "f:1:1: unknown key 'probe' (did you mean 'probes'?)");
  CHECK(config_error("head: 3") == "f:1:1: unknown key 'head' (did you mean 'model.heads'?)");
  CHECK(config_error("num_heads: 3") == "f:1:1: unknown key 'num_heads' (did you mean 'model.heads'?)");
  CHECK(config_error("steps: 3") == "f:1:1: unknown key 'steps' (did you mean 'train.steps'?)");
  CHECK(config_error("model: {num_heads: 3}") == "f:1:9: unknown key 'num_heads' in model (did you mean 'heads'?)");
  CHECK(config_error("optim: {seed: 3}") ==
        "f:1:9: unknown key 'seed' in optim (did you mean 'seed' outside of all sections?)");
  CHECK(config_error("银行: {}") == "f:1:1: unknown key '银行'");
  CHECK(config_error("data.task: bank") == "f:1:1: unknown key 'data.task' (write 'task' inside 'data:')");
  CHECK(config_error("\"\": {}") == "f:1:1: unknown key ''");
}

TEST_CASE("The message for an invalid setting names the setting and says what was expected") {
  const auto set = [](const std::string& setting) { return config_error("seed: 1", {setting}); };
  CHECK(set("seed") == "--set seed: expected KEY=VALUE, such as model.heads=4");
  for (const std::string probes : {"", "x", "[ ]", "{}", "[{text: a b, query: a, antecedent: b}]"}) {
    CHECK(set("probes=" + probes) ==
          "--set probes=" + probes +
              ": --set accepts only probes=[], for no watched sentences of your own; write probes in the file");
  }
  CHECK(set("model={}") == "--set model={}: model holds several values: set one of them, such as model.d_model");
  CHECK(set("=3") == "--set =3: unknown key ''");
  CHECK(set("seed=") == "--set seed=: seed must be an integer from 0 to 18446744073709551615, got ''");
  CHECK(set("data.split=word") ==
        "--set data.split=word: data.tokens must be one of words, characters, bytes, subwords, got 'word' (did you "
        "mean 'words'?)");
}

TEST_CASE("The message for an unknown key in a setting suggests the nearest known one") {
  const auto meant = [](const std::string& key) {
    const std::string error = config_error("seed: 1", {key + "=4"}), start = "--set " + key + "=4: unknown key '" + key;
    return error.starts_with(start) ? error.substr(start.size() + 1) : error;
  };
  CHECK(meant("heads") == " (did you mean 'model.heads'?)");
  CHECK(meant("num_heads") == " (did you mean 'model.heads'?)");
  CHECK(meant("model.num_heads") == " (did you mean 'model.heads'?)");
  CHECK(meant("optim.heads") == " (did you mean 'model.heads'?)");
  CHECK(meant("lr") == " (did you mean 'optim.lr'?)");
  CHECK(meant("learning_rate") == " (did you mean 'optim.lr'?)");
  CHECK(meant("batch_size") == " (did you mean 'train.batch_size'?)");
  CHECK(meant("steps") == " (did you mean 'train.steps'?)");
  CHECK(meant("head") == " (did you mean 'model.heads'?)");
  CHECK(meant("model.layer") == " (did you mean 'model.layers'?)");
  CHECK(meant("probe") == " (did you mean 'probes'?)");
  CHECK(meant("zzzzzzzz") == "");
}

TEST_CASE("The setting probes=[] removes the probes of the file") {
  const std::string probe = "probes: [{text: a b, query: a, antecedent: b}]";
  CHECK(parse_config(probe, "f").watched.size() == 1);
  CHECK(parse_config(probe, "f", {"probes=[]"}).watched.empty());
  CHECK(parse_config("seed: 1\nprobes: []", "f").watched.empty());
  CHECK(config_error("probes: [{text: a b, query: a, antecedent: c}]", {"probes=[]"}) == "no error");
}

TEST_CASE("read_resumed_config changes only the keys that resumable_keys() lists") {
  CHECK(resumable_keys() ==
        "optim.lr, optim.weight_decay, optim.schedule, optim.min_lr, optim.step_size, optim.gamma, optim.decay_steps, "
        "optim.warmup, optim.clip, train.steps, train.shard_optimizer, train.patience, train.evaluate_every, "
        "train.checkpoint_every, dump.every, dump.weights, "
        "and the paths, not the content, of data.train, data.test");
  const Scratch scratch;
  const std::string file = (scratch / "config.yaml").string();
  write_file(file, to_yaml(parse_config("probes: [{text: a b, query: a, antecedent: b}]", "f")));
  const ResumedConfig same = read_resumed_config(file, {"train.steps=400", "model.heads=2"});
  CHECK(same.changes.empty());
  CHECK(to_yaml(same.config) == read_file(file));
  const ResumedConfig longer = read_resumed_config(file, {"train.steps=600", "optim.lr=0.5", "optim.schedule=linear"});
  CHECK((longer.changes == std::vector<std::string>{"optim.lr 0.5 (was 0.003)", "optim.schedule linear (was cosine)",
                                                    "train.steps 600 (was 400)"}));
  CHECK(longer.config.optim.schedule.steps == 600);
  CHECK(longer.config.optim.schedule.warmup == 50);

  const std::string what_may = " cannot change when a run is resumed; these keys can: " + resumable_keys();
  CHECK(message([&] {
          read_resumed_config(file, {"model.heads=4", "seed=2", "train.steps=0", "probes=[]", "model.from=a"});
        }) == "--set model.heads=4: model.heads" + what_may + "\n--set seed=2: seed" + what_may +
                  "\n--set train.steps=0: train.steps must be an integer from 1 to 999999, got '0'" +
                  "\n--set probes=[]: probes" + what_may + "\n--set model.from=a: model.from" + what_may);
  CHECK((read_resumed_config(file, {"train.steps=40"}).changes ==
         std::vector<std::string>{"optim.warmup 20 (was 50)", "train.steps 40 (was 400)"}));
  CHECK(message([&] {
          read_resumed_config(file, {"train.steps=40", "optim.warmup=50"});
        }) == "--set optim.warmup=50: optim.warmup 50 must not exceed train.steps 40");
  write_file(file, to_yaml(parse_config("optim: {warmup: 60}", "f")));
  CHECK(message([&] { read_resumed_config(file, {"train.steps=40"}); }) ==
        "--set train.steps=40: optim.warmup 60 must not exceed train.steps 40");
}

TEST_CASE("A run that was saved before a key existed resumes with the default that its task gives the key") {
  const Scratch scratch;
  const std::string file = (scratch / "config.yaml").string(), key = "  last_residual: true\n";
  std::string saved = to_yaml(parse_config("data: {task: induction, context: 16}", "f"));
  REQUIRE(saved.find(key) != saved.npos);
  saved.erase(saved.find(key), key.size());
  write_file(file, saved);
  for (const std::string& begun_with : {std::string(), saved}) {
    const ResumedConfig resumed = read_resumed_config(file, {}, 10, begun_with);
    CHECK(resumed.changes.empty());
    CHECK(resumed.config.model.last_residual);
  }
}

TEST_CASE("toy.yaml sets the coreference task and watches the sentence of the tired animal") {
  const Config c = read_config("toy.yaml");
  CHECK(c.name == "toy");
  CHECK(c.data.kind == TaskKind::coreference);
  REQUIRE(c.watched.size() == 4);
  CHECK(c.watched[0].text == "The animal didn't cross the street because it was too tired");
  CHECK(c.watched[0].antecedent == "animal");
  CHECK(c.watched[1].antecedent == "street");
}

TEST_CASE("parse_config reads 3,000 randomly damaged configurations or refuses them with a message") {
  Random random(1);
  int refused = 0;
  const std::string pieces = "{}[]:,-#&*!|>'\"%@`?~ \t\n\r\\\x04\xff\xe5:-  x0";
  for (int i = 0; i < 3000; ++i) {
    std::string broken = every_key;
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
    const std::string said = config_error(broken);
    if (said == "no error") continue;
    ++refused;
    CAPTURE(broken, said);
    CHECK(said.starts_with("f:"));
    CHECK(said.size() > 6);
  }
  CHECK(refused > 1000);
  CHECK(refused < 3000);
}
