#include "train/config/rules.h"

#include "tests/catch.h"
#include "tests/train/config/sample.h"

using namespace heed;

TEST_CASE("The error for keys that contradict each other points at the last of them") {
  const std::string divide =
      ": model.heads 3 does not divide model.d_model 64: choose heads that do, or set both "
      "model.d_k and model.d_v";
  CHECK(config_error("model:\n  d_k: 0\n  heads: 3") == "f:3:10" + divide);
  CHECK(config_error("model:\n  heads: 3\n  d_k: 0\n  d_model: 64") == "f:4:12" + divide);
  CHECK(config_error("model: {d_v: 0}", {"model.heads=3"}) == "--set model.heads=3" + divide);
  CHECK(config_error("model: {heads: 3, d_v: 0, d_k: 8}") == "f:1:32" + divide);
  CHECK(config_error("model: {heads: 3, d_model: x}") ==
        "f:1:28: model.d_model must be an integer from 1 to 4096, got 'x'");
  CHECK(config_error("model: {tie: K_is_V, d_k: 8, d_v: 9}") ==
        "f:1:35: tie K_is_V needs model.d_k = model.d_v, got 8 and 9");
  CHECK(config_error("model: {tie: Q_is_K, d_k: 8}") == "no error");
  CHECK(config_error("model: {heads: 4, kv_heads: 3}") == "f:1:29: model.kv_heads 3 must divide model.heads 4");
  CHECK(config_error("model: {heads: 4, kv_heads: 2, tie: Q_is_K}") ==
        "f:1:37: tie Q_is_K needs as many model.kv_heads as model.heads, got 2 and 4");
  CHECK(config_error("model: {positions: rotary, d_k: 5}") ==
        "f:1:33: model.positions rotary rotates pairs of numbers, so model.d_k must be even, got 5");
  CHECK(config_error("model: {positions: rotary, rotary_fraction: 1.5}") ==
        "f:1:45: model.rotary_fraction 1.5 must be at most 1 and rotate a pair or more of the 32 numbers of a head");
  CHECK(config_error("model: {positions: rotary, rotary_fraction: 0.06}") ==
        "f:1:45: model.rotary_fraction 0.06 must be at most 1 and rotate a pair or more of the 32 numbers of a head");
  CHECK(config_error("model: {positions: rotary, rotary_fraction: 0.0625}") == "no error");
  CHECK(config_error("model: {mlp: 8, parallel: true, norm_placement: both}") ==
        "f:1:49: model.parallel needs model.norm_placement before, got both");
  CHECK(config_error("model: {mlp: 8, parallel: true}") == "no error");
  CHECK(config_error("model: {window: 3}") == "no error");
  CHECK(config_error("train: {batch_size: 8, accumulate: 3}") ==
        "f:1:36: train.accumulate 3 must divide train.batch_size 8");
  CHECK(config_error("optim: {name: sgd, nesterov: true}") ==
        "f:1:30: optim.nesterov needs optim.momentum above 0, got 0");
  CHECK(config_error("optim: {warmup: 50}\ntrain: {steps: 20}") ==
        "f:2:16: optim.warmup 50 must not exceed train.steps 20");
  CHECK(config_error("data: {task: babi}") == "f:1:14: task babi needs a file: set data.train");
  CHECK(config_error("data: {task: bank, test: a}") ==
        "f:1:26: task bank makes its own sentences: data.test is for babi, jsonl, text, masked_text and candidates");
  CHECK(config_error("data: {task: babi}", {"data.train=a"}) == "no error");
  for (const std::string name : {"", "..", "a/b", ".a"}) {
    CHECK(config_error("name: \"" + name + "\"") ==
          "f:1:7: name '" + name + "' must name a directory in runs/: not empty, no '/', no '.' in front");
  }
}

TEST_CASE("Settings of an optimiser or a schedule are refused by name with another one") {
  CHECK(config_error("optim: {momentum: 0.9}") == "f:1:19: optim.momentum is for sgd, rmsprop, muon, got adam");
  CHECK(config_error("optim: {name: lion}", {"optim.momentum=0.9"}) ==
        "--set optim.momentum=0.9: optim.momentum is for sgd, rmsprop, muon, got lion");
  CHECK(config_error("optim: {nesterov: true}") == "f:1:19: optim.nesterov is for sgd, muon, got adam");
  CHECK(config_error("optim: {centered: true}") == "f:1:19: optim.centered is for rmsprop, got adam");
  CHECK(config_error("optim: {name: lion}", {"optim.amsgrad=true"}) ==
        "--set optim.amsgrad=true: optim.amsgrad is for adam, adamw, muon, got lion");
  CHECK(config_error("optim: {alpha: 0.9}") == "f:1:16: optim.alpha is for rmsprop, got adam");
  CHECK(config_error("optim: {name: sgd}", {"optim.beta1=0.8"}) ==
        "--set optim.beta1=0.8: optim.beta1 is for adam, adamw, lion, muon, got sgd");
  CHECK(config_error("optim: {gamma: 0.5}") == "f:1:16: optim.gamma is for optim.schedule step, got cosine");
  CHECK(config_error("optim: {step_size: 5}") == "f:1:20: optim.step_size is for optim.schedule step, got cosine");
  CHECK(config_error("optim: {decay_steps: 5}") ==
        "f:1:22: optim.decay_steps is for optim.schedule warmup_stable_decay, got cosine");
  CHECK(config_error("optim: {schedule: step, step_size: 5, gamma: 0.5}") == "no error");
  CHECK(config_error("optim: {schedule: warmup_stable_decay, decay_steps: 5}") == "no error");
}

TEST_CASE("Options of the optimiser follow its name, with the defaults of the method") {
  const auto options = [](const std::string& optim) { return parse_config("optim: " + optim, "f").optim.options(); };
  const OptimizerOptions muon = options("{name: muon}"), still = options("{name: muon, momentum: 0}");
  CHECK((muon.muon.momentum == 0.95 && muon.muon.nesterov && muon.muon.match_adamw && muon.momentum == 0));
  CHECK((still.muon.momentum == 0 && !still.muon.nesterov));
  const OptimizerOptions lion = options("{name: lion}"), slow = options("{name: lion, beta1: 0.8, beta2: 0.9}");
  CHECK((lion.lion.beta1 == 0.9 && lion.lion.beta2 == 0.99 && lion.beta2 == 0.999));
  CHECK((slow.lion.beta1 == 0.8 && slow.lion.beta2 == 0.9));
  const OptimizerOptions rmsprop = options("{name: rmsprop, momentum: 0.5, alpha: 0.9, centered: true}");
  CHECK((rmsprop.rmsprop.momentum == 0.5 && rmsprop.rmsprop.alpha == 0.9 && rmsprop.rmsprop.centered));
  CHECK(options("{name: sgd, momentum: 0.9, nesterov: true}").momentum == 0.9);
  Parameters parameters;
  parameters.add("w", variable(ones({2, 2})));
  for (const char* name : {"sgd", "adam", "adamw", "rmsprop", "adagrad", "lion", "muon"}) {
    Config config = parse_config(fmt::format("optim: {{name: {}}}", name), "f");
    CHECK(to_yaml(parse_config(to_yaml(config), "f")) == to_yaml(config));
    config.optim.optimizer.momentum = 0.5;  // as after --set optim.name=adam, optim.beta1 of a file with all keys
    config.optim.optimizer.beta1 = 0.5;
    config.optim.optimizer.amsgrad = true;
    CHECK_NOTHROW(Optimizer(parameters, config.optim.options()));
  }
}

TEST_CASE("A key without effect is refused unless the file or a setting disables it explicitly") {
  const std::string activation = "model.activation relu is for model.mlp above 0, got 0";
  CHECK(config_error("model: {activation: relu}") == "f:1:21: " + activation);
  CHECK(config_error("model: {d_k: 8}", {"model.activation=relu"}) == "--set model.activation=relu: " + activation);
  CHECK(config_error("model: {mlp: 8, activation: relu}", {"model.mlp=0"}) == "no error");
  CHECK(config_error("model: {mlp: 0, activation: relu}") == "no error");
  CHECK(config_error("model: {activation: gelu}") == "no error");
  CHECK(config_error("model: {parallel: true}") == "f:1:19: model.parallel is for model.mlp above 0, got 0");
  CHECK(config_error("model: {rotary_base: 100}") ==
        "f:1:22: model.rotary_base is for model.positions rotary, got learned");
  CHECK(config_error("model: {positions: rotary, rotary_base: 100}") == "no error");
  CHECK(config_error("model: {positions: rotary, rotary_factor: 2}") ==
        "f:1:43: model.rotary_factor 2 is for model.rotary_scaling other than none");
  CHECK(config_error("model: {full_attention_every: 2}") ==
        "f:1:31: model.full_attention_every 2 is for model.window above 0, got 0");
}

TEST_CASE("Task candidates has its own defaults, and keys that do not suit a task are refused") {
  const Config of_candidates = parse_config("data: {task: candidates, train: a}", "f");
  CHECK(of_candidates.answer == Answer::candidate);
  CHECK(of_candidates.data.unknown == Unknown::token);
  CHECK(of_candidates.data.min_count == 2);
  const Config written = parse_config("data: {task: candidates, train: a, unknown: error}\nmodel: {answer: word}", "f");
  CHECK(written.answer == Answer::word);
  CHECK(written.data.unknown == Unknown::error);
  CHECK(written.data.min_count == 1);
  CHECK(parse_config("data: {task: candidates, train: a, tokens: subwords}", "f").data.unknown == Unknown::error);
  CHECK(parse_config("data: {task: jsonl, train: a}", "f").data.unknown == Unknown::error);
  CHECK(config_error("data: {task: jsonl, train: a, min_count: 2}") ==
        "f:1:42: data.min_count 2 makes rare words unknown: also set data.unknown: token");
  CHECK(config_error("data: {task: text, train: a, unknown: token}") ==
        "f:1:39: data.unknown token is for sentences of words or characters, not task text with data.tokens words");
  CHECK(config_error("data: {task: induction}\nmodel: {answer: candidate}") ==
        "f:2:17: task induction predicts tokens: model.answer candidate is for questions");
  CHECK(config_error("data: {task: candidates, train: a, tokens: bytes}") ==
        "f:1:44: task candidates has sentences of words: data.tokens bytes is for text and masked_text");
}

TEST_CASE("The defaults of warmup, d_k, d_v, epsilon, final_norm and last_residual depend on the keys that are set") {
  const auto warmup = [](const std::string& text) { return parse_config(text, "f").optim.schedule.warmup; };
  CHECK(warmup("train: {steps: 20}") == 10);
  CHECK(warmup("train: {steps: 1}") == 0);
  CHECK(warmup("train: {steps: 99}") == 49);
  CHECK(warmup("train: {steps: 100}") == 50);
  CHECK(warmup("seed: 1") == 50);
  CHECK(warmup("optim: {warmup: 20}\ntrain: {steps: 20}") == 20);
  CHECK(parse_config("seed: 1", "f", {"train.steps=20"}).optim.schedule.warmup == 10);
  CHECK(to_yaml(parse_config("train: {steps: 20}", "f")).find("\n  warmup: 10\n") != std::string::npos);

  const auto widths = [](const std::string& model) {
    const AttentionConfig a = parse_config("model: {" + model + "}", "f").model.block.attention;
    return std::pair(a.d_k, a.d_v);
  };
  CHECK(widths("heads: 4") == std::pair(0, 0));  // 0: d_model / heads
  CHECK(widths("heads: 3") == std::pair(21, 21));
  CHECK(widths("d_model: 15") == std::pair(7, 7));
  CHECK(widths("d_model: 1") == std::pair(1, 1));
  CHECK(widths("heads: 3, d_k: 8") == std::pair(8, 21));
  CHECK(widths("heads: 3, d_v: 8") == std::pair(21, 8));
  CHECK(widths("tie: K_is_V, d_k: 8") == std::pair(8, 8));
  CHECK(widths("tie: K_is_V, d_v: 8") == std::pair(8, 8));
  CHECK(widths("tie: Q_is_K, d_k: 8") == std::pair(8, 0));
  CHECK(widths("tie: K_is_V, heads: 3") == std::pair(21, 21));

  const auto model = [](const std::string& text) { return parse_config("model: {" + text + "}", "f").model; };
  CHECK(model("norm: layer").block.norm.epsilon == 1e-5);
  CHECK(model("norm: rms").block.norm.epsilon == 1e-6);
  CHECK(model("norm: rms, epsilon: 0.5").block.norm.epsilon == 0.5);
  CHECK(model("norm_placement: output").final_norm);
  CHECK_FALSE(model("norm_placement: after").final_norm);
  CHECK(model("norm_placement: after, final_norm: true").final_norm);

  const auto residual = [](const std::string& text) { return parse_config(text, "f").model.last_residual; };
  CHECK(residual("seed: 1") == false);
  CHECK(residual("model: {answer: candidate}") == false);
  CHECK(residual("model: {last_residual: true}"));
  CHECK(residual("data: {task: induction, context: 16}"));
  CHECK(residual("data: {task: induction, context: 16}\nmodel: {last_residual: false}") == false);
}

TEST_CASE("The query and the antecedent of a probe must each occur once in its text") {
  CHECK(config_error("probes:\n"
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
  CHECK(config_error("probes: 3") == "f:1:1: probes must be a sequence of {text, query, antecedent}, got '3'");
  const std::string chinese = "probes: [{text: 苹果很甜, query: 甜, antecedent: 果}]";
  CHECK(config_error("data: {split: characters}\n" + chinese) == "no error");
  CHECK(config_error(chinese) ==
        "f:1:30: query of probe 1: '甜' must be one token of the text, found none: put spaces between the words, or "
        "set data.tokens: characters\n"
        "f:1:45: antecedent of probe 1: '果' must be one token of the text, found none: put spaces between the words, "
        "or set data.tokens: characters");
  CHECK(config_error("data: {split: characters}\nprobes: [{text: 小狗累了它, query: 它, antecedent: 小狗}]") ==
        "f:2:46: antecedent of probe 1: '小狗' must be one token of the text, found none: with data.tokens: characters "
        "each character is a token");
  CHECK(config_error("probes: [{text: kitten, query: it, antecedent: kitten}]") ==
        "f:1:32: query of probe 1: 'it' must be one token of the text, found none");
}
