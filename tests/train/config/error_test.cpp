#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"
#include "train/config/config.h"

#include <heed/files/file.h>

using namespace heed;

namespace {

std::string said(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return message([&] { parse_config(text, "f", overrides); });
}

}  // namespace

TEST_CASE("All mistakes of a configuration are told at once, in their order") {
  CHECK(said("model:\n"
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
  CHECK(said(many).ends_with("\nf:51:1: unknown key 'zzzzzzzz49'\n... and 10 more"));
}

TEST_CASE("An unknown key is told its nearest") {
  CHECK(said("sed: 3") == "f:1:1: unknown key 'sed' (did you mean 'seed'?)");
  CHECK(said("modle: {}") == "f:1:1: unknown key 'modle' (did you mean 'model'?)");
  CHECK(said("probe: []") == "f:1:1: unknown key 'probe' (did you mean 'probes'?)");
  CHECK(said("steps: 3") == "f:1:1: unknown key 'steps' (did you mean 'train.steps'?)");
  CHECK(said("model: {num_heads: 3}") == "f:1:9: unknown key 'num_heads' in model (did you mean 'heads'?)");
  CHECK(said("data: {seed: 3}") == "f:1:8: unknown key 'seed' in data (did you mean 'seed' outside of all sections?)");
  CHECK(said("银行: {}") == "f:1:1: unknown key '银行'");
  CHECK(said("data.task: bank") == "f:1:1: unknown key 'data.task' (write 'task' inside 'data:')");
  CHECK(said("\"\": {}") == "f:1:1: unknown key ''");
}

TEST_CASE("A value of another type or outside its range is refused") {
  const auto heads = [](const std::string& value) { return said("model:\n  heads: " + value); };
  const auto expected = [](const std::string& got) {
    return "f:2:10: model.heads must be an integer from 1 to 64, got " + got;
  };
  for (const std::string value : {"four", "0", "65", "-1", "99999999999999999999", "0x4", "0o4", "04", "4.0", "4e0",
                                  "+4", "1_0", "true", ".inf", "4 4"}) {
    CHECK(heads(value) == expected("'" + value + "'"));
  }
  CHECK(heads("\"4\"") == expected("the text \"4\""));
  CHECK(heads("[4]") == expected("a sequence"));
  CHECK(heads("{4: 4}") == expected("a mapping"));
  CHECK(heads("") == "f:2:3: model.heads must be an integer from 1 to 64, got nothing");
  CHECK(heads("~") == "f:2:3: model.heads must be an integer from 1 to 64, got nothing");
  CHECK(heads(std::string(500, 'x')) == expected("'" + std::string(59, 'x') + "…'"));

  for (const std::string value :
       {".inf", "-.inf", ".nan", "inf", "nan", "0", "-1", "1e999", "1e-999", "0x1p3", "1_0", "fast"}) {
    CHECK(said("optim: {lr: " + value + "}") == "f:1:13: optim.lr must be a number above 0, got '" + value + "'");
  }
  CHECK(said("optim: {beta1: 1}") == "f:1:16: optim.beta1 must be a number from 0 to below 1, got '1'");
  CHECK(said("optim: {clip: -1}") == "f:1:15: optim.clip must be a number from 0 upwards, got '-1'");
  for (const std::string value : {"3e-3", "1", "1.", ".5", "1E+2", "0.003"}) {
    CHECK(said("optim: {lr: " + value + "}") == "no error");
  }
  CHECK(said("model: {bias: yes}") == "f:1:15: model.bias must be true or false, got 'yes'");
  CHECK(said("model: {bias: \"true\"}") == "f:1:15: model.bias must be true or false, got the text \"true\"");
  CHECK(said("seed: 18446744073709551616") ==
        "f:1:7: seed must be an integer from 0 to 18446744073709551615, got '18446744073709551616'");
  CHECK(said("optim: {name: adm}") ==
        "f:1:15: optim.name must be one of sgd, adam, adamw, got 'adm' (did you mean 'adam'?)");
  CHECK(said("name: \"a\\nb\"") == "f:1:7: name must be one line of text, got the text \"a b\"");
}

TEST_CASE("What is not plain YAML is refused") {
  CHECK(said("seed: &a 3\nmodel: {heads: *a}") ==
        "f:1:7: anchors ('&') are not accepted\nf:2:16: aliases ('*') are not accepted");
  CHECK(said("model: &m {heads: 3, heads: 4}") ==
        "f:1:8: anchors ('&') are not accepted\nf:1:22: duplicate key 'heads': first given on line 1");
  CHECK(said("seed: !!int 3") == "f:1:7: tags ('!') are not accepted");
  CHECK(said("? [a]\n: 3") == "f:1:3: a key must be a word");
  CHECK(said("seed: 1\n---\nseed: 2") == "f:2:1: expected one document, got another");
  CHECK(said("a: [[[[[[[1]]]]]]]") == "f:1:1: unknown key 'a'");
  CHECK(said("a: [[[[[[[[1]]]]]]]]") == "f:1:11: nested deeper than 8");
  CHECK(said("a: " + std::string(50'000, '[')).ends_with(": nested deeper than 8"));
  CHECK(said("- 1") == "f:1:1: expected keys such as 'seed: 1', got a sequence");
  CHECK(said("seed") == "f:1:1: expected keys such as 'seed: 1', got 'seed'");
  CHECK(said("# nothing") == "f: expected keys such as 'seed: 1', got an empty file");
  CHECK(said("seed: 1\nmodel: {heads: 3") == "f:2:17: end of map flow not found");
  CHECK(said("seed: 1: 2\nsed: 3") == "f:1:8: illegal map value");
  CHECK(said("seed: 1\x04\nsed: 3") == "f:1:8: control character 0x04 in the text");
  CHECK(said("seed: \xff") == "f: not UTF-8 at byte 6: 0xff");
  CHECK(said("", {"name=\xff"}) == "--set: not UTF-8 at byte 5: 0xff");
  CHECK(said(std::string(70'000, '#')) == "f: 70000 bytes, expected at most 65536: is it a configuration?");

  const Scratch scratch;
  const std::string path = (scratch / "none.yaml").string();
  CHECK(message([&] { read_config(path); }) == "cannot read " + path + ": No such file or directory");
  write_file(path, "seed: x");
  CHECK(message([&] { read_config(path); }) ==
        path + ":1:7: seed must be an integer from 0 to 18446744073709551615, got 'x'");
}

TEST_CASE("Keys that do not go together are refused where the last of them is given") {
  const std::string divide =
      ": model.heads 3 does not divide model.d_model 64: choose heads that do, or set both "
      "model.d_k and model.d_v";
  CHECK(said("model:\n  heads: 3") == "f:2:10" + divide);
  CHECK(said("model:\n  heads: 3\n  d_model: 64") == "f:3:12" + divide);
  CHECK(said("seed: 1", {"model.heads=3"}) == "--set model.heads=3" + divide);
  CHECK(said("model: {heads: 3, d_k: 8}") == "f:1:24" + divide);
  CHECK(said("model: {heads: 3, d_k: 8, d_v: 8}") == "no error");
  CHECK(said("model: {heads: 3, d_model: x}") == "f:1:28: model.d_model must be an integer from 1 to 4096, got 'x'");
  CHECK(said("model: {tie: K_is_V, d_k: 8}") == "f:1:27: tie K_is_V needs model.d_k = model.d_v, got 8 and 32");
  CHECK(said("model: {tie: Q_is_K, d_k: 8}") == "no error");
  CHECK(said("optim: {nesterov: true}") == "f:1:19: optim.nesterov needs optim.momentum above 0, got 0");
  CHECK(said("optim: {momentum: 0.9}") == "f:1:19: optim.momentum 0.9 is for sgd, optim.name is adam");
  CHECK(said("train: {steps: 20}") == "f:1:16: optim.warmup 50 must not exceed train.steps 20");
  CHECK(said("data: {task: babi}") == "f:1:14: task babi needs a file: set data.train");
  CHECK(said("data: {task: bank, test: a}") ==
        "f:1:26: task bank makes its own sentences: data.test is for babi and jsonl");
  CHECK(said("data: {task: babi}", {"data.train=a"}) == "no error");
  for (const std::string name : {"", "..", "a/b", ".a"}) {
    CHECK(said("name: \"" + name + "\"") ==
          "f:1:7: name '" + name + "' must name a directory in runs/: not empty, no '/', no '.' in front");
  }
}

TEST_CASE("A setting has a key and a value") {
  const auto set = [](const std::string& setting) { return said("seed: 1", {setting}); };
  CHECK(set("seed") == "--set seed: expected KEY=VALUE, such as model.heads=4");
  CHECK(set("probes=[]") == "--set probes=[]: probes holds several values: set it in the file");
  CHECK(set("model={}") == "--set model={}: model holds several values: set it in the file");
  CHECK(set("=3") == "--set =3: unknown key ''");
  CHECK(set("seed=") == "--set seed=: seed must be an integer from 0 to 18446744073709551615, got ''");
  CHECK(set("data.split=word") ==
        "--set data.split=word: data.split must be one of words, characters, got 'word' (did you mean 'words'?)");
}

TEST_CASE("A probe's words must be in its text, each once") {
  CHECK(said("probes:\n"
             "  - text: The cat saw the cat\n"
             "    query: cat\n"
             "    antecedent: car\n"
             "  - {text: a b, query: a, antecedent: a}\n"
             "  - {text: a b, qury: a, antecedent: ''}\n"
             "  - a b\n"
             "  -\n") ==
        "f:3:12: query of probe 1: 'cat' must be one token of the text, found 2 times\n"
        "f:4:17: antecedent of probe 1: 'car' must be one token of the text, found none (did you mean 'cat'?)\n"
        "f:5:39: antecedent of probe 2 must differ from its query\n"
        "f:6:5: probe 3 has no query\n"
        "f:6:17: unknown key 'qury' in probe 3 (did you mean 'query'?)\n"
        "f:6:38: antecedent of probe 3 must be one line of text, got the text \"\"\n"
        "f:7:5: probe 4 must be a mapping of text, query and antecedent, got 'a b'\n"
        "f:8:4: probe 5 must be a mapping of text, query and antecedent, got nothing");
  CHECK(said("probes: 3") == "f:1:1: probes must be a sequence of {text, query, antecedent}, got '3'");
  const std::string chinese = "probes: [{text: 苹果很甜, query: 甜, antecedent: 果}]";
  CHECK(said("data: {split: characters}\n" + chinese) == "no error");
  CHECK(said(chinese) ==
        "f:1:30: query of probe 1: '甜' must be one token of the text, found none\n"
        "f:1:45: antecedent of probe 1: '果' must be one token of the text, found none");
}
