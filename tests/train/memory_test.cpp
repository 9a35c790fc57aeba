#include "train/memory.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"
#include "train/training.h"

#include <heed/autograd/machine.h>
#include <heed/explain/evaluation.h>
#include <heed/files/file.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

using namespace heed;

namespace {

Config sized(const std::string& model, const std::string& optimizer = "{}", int batch_size = 32,
             const std::vector<std::string>& settings = {}) {
  return parse_config(fmt::format("data: {{sentences: 300, held_out: 150}}\nmodel: {}\noptim: {}\n"
                                  "train: {{steps: 2, batch_size: {}}}\n",
                                  model, optimizer, batch_size),
                      "f", settings);
}

// Returns the peak memory of tensors during training as a share of the estimate for parameters, gradients, moments and
// activations.
double share_taken(const Config& config) {
  const Scratch scratch;
  Experiment e = make_experiment(config);
  const RunDirectory run = RunDirectory::create("r", to_yaml(e.config), scratch / "r");
  const std::int64_t before = memory_use().bytes_in_use - 4 * e.model.parameters.numel();
  reset_peak_memory();
  const volatile std::sig_atomic_t stop = 0;
  train(e, run, {[](std::int64_t, double) {}, [](std::int64_t, double, const Evaluation&) {}}, stop);
  return static_cast<double>(memory_use().peak_bytes - before) /
         static_cast<double>(e.memory.total() - e.memory.checkpoint);
}

}  // namespace

TEST_CASE("The memory estimate covers the tensors of a run and is below 2.5 times their size") {
  for (const char* model :
       {"{d_model: 64, layers: 2}", "{d_model: 64, layers: 4, heads: 8, mlp: 256}",
        "{d_model: 256, layers: 1, heads: 4, mlp: 64}", "{d_model: 32, d_k: 64, d_v: 128, heads: 4}"}) {
    for (const char* optimizer : {"{name: adam}", "{name: sgd}"}) {
      for (const int batch_size : {8, 300}) {  // the evaluation needs the most memory, or a step does
        const double share = share_taken(sized(model, optimizer, batch_size));
        CAPTURE(model, optimizer, batch_size, share);
        CHECK(share <= 1);
        CHECK(share > 0.4);
      }
    }
  }
}

TEST_CASE("The memory estimate covers a decoder and counts the activations of one micro-batch") {
  const std::string decoder =
      "{d_model: 64, layers: 3, heads: 4, kv_heads: 2, mlp: 160, norm: rms, activation: swiglu, positions: rotary, "
      "normalised_heads: true}";
  for (const char* average : {"train.average=0", "train.average=2"}) {
    for (const char* parts : {"train.accumulate=1", "train.accumulate=8"}) {
      const double share = share_taken(sized(decoder, "{}", 400, {parts, average}));
      CAPTURE(average, parts, share);
      CHECK(share <= 1);
      CHECK(share > 0.4);
    }
  }
  const auto activations = [&](const char* parts) {
    return make_experiment(sized(decoder, "{}", 4000, {parts})).memory.activations;
  };
  CHECK(activations("train.accumulate=4") < activations("train.accumulate=1") / 3);
}

TEST_CASE("The memory estimate covers the steps and the evaluation of a language model") {
  for (const char* batch : {"train.batch_size=2", "train.batch_size=200"}) {
    Config config = sized("{d_model: 64, layers: 3, heads: 4, mlp: 256}", "{name: adamw}", 2, {batch});
    config.data = {.kind = TaskKind::text, .train = "/usr/share/common-licenses/GPL-3", .split = Split::characters};
    const double share = share_taken(config);
    CAPTURE(batch, share);
    CHECK(share <= 1);
    CHECK(share > 0.3);
  }
}

TEST_CASE("The memory estimate covers all norm placements, activations, soft caps and windows") {
  const std::string sizes = "d_model: 64, layers: 3, heads: 4, mlp: 256, ";
  for (const char* parts :
       {"norm_placement: both, norm: rms, activation: geglu", "norm_placement: after, embedding_norm: true",
        "norm_placement: output, activation: silu, final_norm: false", "activation: quick_geglu", "activation: relu2",
        "parallel: true, positions: rotary", "soft_cap: 20, score_scale: 0.1, logit_cap: 30"}) {
    const double of_answers = share_taken(sized("{" + sizes + parts + "}", "{}", 300));
    Config text = sized("{" + sizes + parts + "}", "{}", 200);
    text.data = {.kind = TaskKind::text, .train = "/usr/share/common-licenses/GPL-3", .split = Split::characters};
    text.model.block.attention.window = 16;
    const double of_text = share_taken(text);
    CAPTURE(parts, of_answers, of_text);
    CHECK(of_answers <= 1);
    CHECK(of_text <= 1);
    CHECK(std::min(of_answers, of_text) > 0.3);
  }
}

TEST_CASE("A model too large for memory is estimated in 2 s, without allocating it, and refused") {
  const Config config = sized("{d_model: 4096, layers: 64, mlp: 8192}");
  const std::int64_t before = memory_use().bytes_reserved;
  const auto start = std::chrono::steady_clock::now();
  const Experiment e = make_experiment(config, {.values = Values::none});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  CHECK(memory_use().bytes_reserved - before < 1 << 20);
  CHECK(e.model.parameters.numel() > std::int64_t{8'500'000'000});
  CHECK(memory_text(e.memory).find(" GiB: parameters 32 GiB, gradients 32 GiB, moments 64 GiB, a step ") !=
        std::string::npos);
  CHECK(message([&] {
          check_memory(e.memory, {std::int64_t{16} << 30, "its cgroup"});
        }) == "training needs " + memory_text(e.memory) +
                  "; its cgroup has 16 GiB. Choose smaller model.d_model, model.layers, model.mlp or train.batch_size");
  check_memory(e.memory, {e.memory.total(), "this machine"});
}

TEST_CASE("size_text writes KiB, MiB or GiB, with one decimal below 10") {
  CHECK(size_text(90'148) == "88 KiB");
  CHECK(size_text(500) == "0.5 KiB");
  CHECK(size_text(5'000'000) == "4.8 MiB");
  CHECK(size_text(std::int64_t{1} << 30) == "1.0 GiB");
  CHECK(size_text((std::int64_t{1} << 30) - 1) == "1.0 GiB");
  CHECK(size_text(std::int64_t{3510} << 30) == "3510 GiB");
}

TEST_CASE("The memory error names the file and line of the longest sentence and the length that fits") {
  const Scratch scratch;
  const std::string file = (scratch / "mine.jsonl").string();
  const auto sentence = [](const std::string& word, int tokens) {
    std::string list;
    for (int i = 0; i < tokens; ++i) list += fmt::format("\"{}\", ", i < 2 ? word : "and");
    return fmt::format(R"({{"tokens": [{}"it"], "query": {}, "antecedent": 0}})", list, tokens) + "\n";
  };
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += sentence(fmt::format("dog{}", i), 12);
  write_file(file, lines + sentence("cat", 200'000) + sentence("cow", 12));
  const std::string settings = "data: {task: jsonl, train: " + file + "}\nmodel: {d_model: ";
  const auto hint = [&](const std::string& model, std::int64_t bytes) {
    const Config config = parse_config(settings + model + "}\n", "f");
    const Experiment e = make_experiment(config, {.values = Values::none});
    const MemoryLimit limit{bytes, "this machine"};
    return message(
        [&] { check_memory(e.memory, limit, longest_sentence(config, e.task, e.model.parameters.numel(), limit)); });
  };
  const std::string said = hint("64", std::int64_t{1} << 30);
  const std::string before =
      "; this machine has 1.0 GiB. The longest sentence, " + file + ":21, has 200001 tokens; about ";
  const std::size_t at = said.find(before);
  REQUIRE(at != said.npos);
  const std::string rest = said.substr(at + before.size());
  const int fits = std::atoi(rest.c_str());
  CHECK(rest == fmt::format("{} fit: shorten or remove it. Or choose smaller model.d_model, model.layers, model.mlp or "
                            "train.batch_size",
                            fits));
  // That many tokens fit, and a tenth more do not.
  for (const double share : {1.0, 1.1}) {
    write_file(file, lines + sentence("cat", static_cast<int>(share * fits) - 1));
    CAPTURE(fits, share);
    CHECK((hint("64", std::int64_t{1} << 30) == "no error") == (share == 1.0));
  }
  // If the model alone is too large, the message names no sentence.
  write_file(file, lines + sentence("cat", 20));
  CHECK(hint("4096", std::int64_t{1} << 28).find("has 256 MiB. Choose smaller model.d_model") != std::string::npos);
}

TEST_CASE("of_one_process estimates gradients, moments and checkpoint of one of several processes") {
  Config config = sized("{d_model: 64}");
  config.train.accumulate = 8;
  const MemoryNeed alone{.parameters = 10, .gradients = 40, .moments = 24, .activations = 5, .checkpoint = 64};
  CHECK(of_one_process(alone, config, 1, 1).total() == alone.total());
  const MemoryNeed of_4 = of_one_process(alone, config, 4, 2);
  CHECK((of_4.gradients == 20 && of_4.moments == 24 && of_4.checkpoint == 32 && of_4.activations == 5));
  CHECK(of_one_process(alone, config, 3, 3).gradients == 60);  // 3, 3 and 2 micro-batches
  config.train.shard_optimizer = true;
  CHECK(of_one_process(alone, config, 8, 8).moments == 3);
  CHECK(of_one_process(alone, config, 8, 8).gradients == 10);
  config.train.average = 5;  // every process keeps the averaged weights
  CHECK(of_one_process(alone, config, 2, 1).moments == 17);
}

TEST_CASE("The memory for a sentence of a hundred million tokens does not overflow") {
  Config config = sized("{d_model: 64, layers: 64, heads: 64}");
  Task task;
  task.held_out.resize(128);
  task.max_length = 100'000'000;
  const MemoryNeed need = memory_need(config, task, 1'000'000, 1'000'000);
  CHECK(need.activations == std::int64_t{1'000'000'000'000'000'000});
  CHECK(need.total() > need.activations);
}

TEST_CASE("memory_limit returns 64 MiB to 1 PiB and names what sets the limit") {
  const MemoryLimit limit = memory_limit();
  CHECK(limit.bytes > 1 << 26);
  CHECK(limit.bytes < std::int64_t{1} << 50);
  CHECK_FALSE(limit.of.empty());
}
