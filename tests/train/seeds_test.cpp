#include "train/seeds.h"

#include "run/internal/program.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/train/program.h"

#include <heed/formats/datasets/jsonl.h>

#include <cmath>
#include <set>

using namespace heed;
namespace fs = std::filesystem;

namespace {

Evaluation ended_with(double accuracy, double weight) {
  Evaluation e;
  e.loss = 1 - accuracy;
  e.accuracy = accuracy;
  e.counterpart_accuracy = std::numeric_limits<double>::quiet_NaN();
  e.antecedent_weight = {{0.1, 0.2}, {weight, 0.3}};
  return e;
}

struct SeedsScratch : Scratch {
  SeedsScratch() {
    write_file(*this / "small.yaml",
               "name: small\n"
               "data: {sentences: 200, held_out: 40}\n"
               "model: {d_model: 16}\n"
               "train: {steps: 20, batch_size: 8, evaluate_every: 10}\n"
               "dump: {every: 10, sentences: 2}\n");
  }
  Ended run(const std::string& command) const { return run_program(*this, command); }
};

}  // namespace

TEST_CASE("parse_seeds reads numbers and ranges, and refuses repeats and more than 1,000 seeds") {
  CHECK(parse_seeds("1-4") == std::vector<std::uint64_t>{1, 2, 3, 4});
  CHECK(parse_seeds("7,1,3-4") == std::vector<std::uint64_t>{7, 1, 3, 4});
  CHECK(parse_seeds("18446744073709551615").size() == 1);
  const auto mistake = [](const char* text) { return message([&] { parse_seeds(text); }); };
  CHECK(mistake("") ==
        "--seeds: expected seeds such as 1-8 or 1,3,5, got '': expected a seed or a range such as 1-8, got ''");
  CHECK(mistake("1,").ends_with(": expected a seed or a range such as 1-8, got ''"));
  CHECK(mistake("1-").ends_with(": expected a seed or a range such as 1-8, got '1-'"));
  CHECK(mistake("-1").ends_with(": expected a seed or a range such as 1-8, got '-1'"));
  CHECK(mistake("4-1").ends_with(": 1 is before 4"));
  CHECK(mistake("1-4,3").ends_with(": 3 twice"));
  CHECK(mistake("0-18446744073709551615").ends_with(": more than 1000 seeds"));
  CHECK(mistake("0-999,5000").ends_with(": more than 1000 seeds"));
}

TEST_CASE("The table of seeds ends with means and 95 % intervals and omits unknown figures") {
  SeedTable table;
  CHECK(table.summary().empty());
  std::string text = table.row(3, ended_with(0.5, 0.875));
  CHECK(table.summary() == "  mean   0.5000    50.0 %                  0.88\n");
  text += table.row(12, ended_with(1, 0.25)) + table.row(4, ended_with(0.75, 0.5));
  CHECK("\n" + text + table.summary() == R"(
  seed     loss  accuracy  weight on antecedent
     3   0.5000    50.0 %                  0.88  layer 2 head 1
    12   0.0000   100.0 %                  0.30  layer 2 head 2
     4   0.2500    75.0 %                  0.50  layer 2 head 1
  mean   0.2500    75.0 %                  0.56
     ±   0.6210    62.1 %                  0.73  (95 % interval over seeds)
)");
  SeedTable equal;
  (void)equal.row(1, ended_with(1, 0.25)), (void)equal.row(2, ended_with(1, 0.5));
  CHECK(equal.summary().find("     ±        -         -") != std::string::npos);
  CHECK(equal.summary().ends_with("  (95 % interval over seeds; -: all are equal)\n"));
}

TEST_CASE("--seeds trains each seed as a separate run would and keeps finished runs") {
  const SeedsScratch place;
  const Ended first = place.run("train --config small.yaml --seeds 3,1");
  CAPTURE(first.out, first.err);
  REQUIRE(first.code == 0);
  CHECK(first.out.find("run    runs/small-seeds/seed-N\n") != std::string::npos);
  CHECK(first.out.find("\n  seed     loss  accuracy  both of a pair  weight on antecedent\n     3  ") !=
        std::string::npos);
  CHECK(first.out.find("(95 % interval over seeds") != std::string::npos);
  CHECK(
      first.out.ends_with("Look closer: inspect runs/small-seeds/seed-3\n"
                          "Heads that do the same: inspect match runs/small-seeds/seed-*\n"));
  const fs::path runs = place / "runs/small-seeds";
  REQUIRE(place.run("train --quiet --config small.yaml --set seed=3 --out alone").code == 0);
  for (const char* file : {"model.safetensors", "metrics.jsonl", "config.yaml", "attention/step-000020.safetensors"}) {
    CHECK(read_file(runs / "seed-3" / file) == read_file(place / "alone" / file));
  }
  CHECK(read_file(runs / "seed-1/model.safetensors") != read_file(place / "alone/model.safetensors"));

  const auto written = fs::last_write_time(runs / "seed-3/model.safetensors");
  const Ended more = place.run("train --config small.yaml --seeds 1-3");
  CHECK(more.code == 0);
  CHECK(fs::last_write_time(runs / "seed-3/model.safetensors") == written);
  const auto row_of = [](const std::string& text, const char* seed) {
    const std::size_t begin = text.find(seed);
    return text.substr(begin, text.find('\n', begin + 1) - begin);
  };
  CHECK(row_of(more.out, "\n     3  ") == row_of(first.out, "\n     3  "));
  CHECK(row_of(more.out, "\n     2  ").find("layer ") != std::string::npos);
}

TEST_CASE("Training of several seeds continues after a signal and ends with the same model") {
  const SeedsScratch place;
  const std::string command = "train --quiet --config small.yaml --set train.steps=1000 --seeds 1-2 --out ";
  const Ended stopped = place.run(command +
                                  "s & await [ -e s/seed-1/checkpoint.safetensors ]; "
                                  "kill -TERM $!; wait $!");
  CHECK(stopped.code == 143);
  CHECK(stopped.err == "train: stopped; the runs are saved. Repeat the command to continue\n");
  CHECK_FALSE(fs::exists(place / "s/seed-2"));
  REQUIRE(place.run(command + "s").code == 0);
  REQUIRE(place.run(command + "whole").code == 0);
  for (const char* file : {"seed-1/model.safetensors", "seed-2/model.safetensors", "seed-1/metrics.jsonl"}) {
    CHECK(read_file(place / "s" / file) == read_file(place / "whole" / file));
  }
}

TEST_CASE("--seeds refuses another configuration, a run as --out, --dry-run and --set seed") {
  const SeedsScratch place;
  REQUIRE(place.run("train --quiet --config small.yaml --seeds 2 --out s").code == 0);
  const std::string model = read_file(place / "s/seed-2/model.safetensors");
  const auto error = [&](const std::string& command) {
    const Ended ended = place.run(command);
    return std::to_string(ended.code) + ": " + ended.err;
  };
  CHECK(error("train --config small.yaml --seeds 1-2 --out s --set model.heads=1") ==
        "1: train: s/seed-2: was trained with 'heads: 2', but this command has 'heads: 1'. Choose another "
        "--out, or use the configuration with which it was started\n");
  CHECK_FALSE(fs::exists(place / "s/seed-1"));
  CHECK(read_file(place / "s/seed-2/model.safetensors") == model);
  CHECK(error("train --config small.yaml --seeds 1 --out s/seed-2") ==
        "1: train: s/seed-2: is a run; --seeds needs a directory for its runs: choose another --out\n");
  CHECK(error("train --config small.yaml --seeds 1 --dry-run") ==
        "2: train: --dry-run works on one run and cannot be used with --seeds (see train --help)\n");
  CHECK(error("train --config small.yaml --seeds 1 --set seed=3") ==
        "2: train: --seeds gives the seeds and cannot be used with --set seed (see train --help)\n");
  CHECK(error("train --config small.yaml --seeds a").starts_with("2: train: --seeds: expected seeds such as "));
}

TEST_CASE("--folds holds each sentence out once, keeps pairs together and sums up all answers") {
  const SeedsScratch place;
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    const std::string thing = "thing" + std::to_string(i);
    for (const auto& [cue, antecedent] : {std::pair("tired", 0), std::pair("wide", 1)}) {
      lines +=
          fmt::format("{{\"tokens\":[\"{}\",\"street\",\"it\",\"{}\"],\"query\":2,\"antecedent\":{},\"other\":{}}}\n",
                      thing, cue, antecedent, 1 - antecedent);
    }
  }
  write_file(place / "mine.jsonl", lines);
  write_file(place / "small.yaml", "data: {sentences: 200, held_out: 40}\n");
  write_file(place / "mine.yaml",
             "name: mine\ndata: {task: jsonl, train: mine.jsonl}\nmodel: {d_model: 16}\n"
             "train: {steps: 20, batch_size: 8, evaluate_every: 10}\ndump: {sentences: 2}\n");
  const Ended ended = place.run("train --config mine.yaml --folds 4");
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  CHECK(ended.out.find("\n  fold     loss  accuracy  both of a pair") != std::string::npos);
  CHECK(ended.out.find("±") == std::string::npos);  // the folds are not independent
  CHECK(ended.out.find("\nAll 40 sentences, each held out once: ") != std::string::npos);
  CHECK(ended.out.ends_with("Look closer: inspect runs/mine-folds/fold-1\n"));
  std::set<std::string> all;
  double right = 0;
  for (int fold = 1; fold <= 4; ++fold) {
    const fs::path run = place / fmt::format("runs/mine-folds/fold-{}", fold);
    const std::vector<Example> held_out = read_jsonl(run / "held_out.jsonl");
    CHECK(held_out.size() == 10);
    for (const Example& e : held_out) {
      CHECK(e.counterpart >= 0);  // its counterpart is held out, too
      CHECK(all.insert(fmt::format("{} {}", e.tokens[0], e.tokens[3])).second);
    }
    right += read_metrics(run).back().held_out.accuracy * 10;
  }
  CHECK(all.size() == 40);
  CHECK(ended.out.find(fmt::format("once: {:.1f} % are answered", right / 40 * 100)) != std::string::npos);
  const auto error = [&](const std::string& command) {
    const Ended failed = place.run(command);
    return std::to_string(failed.code) + ": " + failed.err;
  };
  CHECK(error("train --config mine.yaml --folds 21 --out x") ==
        "1: train: task 'jsonl': 20 groups of examples (sentences, minimal pairs, stories) make no 21 parts to hold "
        "out in "
        "turn\n");
  CHECK(error("train --config mine.yaml --folds 1") == "2: train: --folds must be at least 2 (see train --help)\n");
  CHECK(error("train --config mine.yaml --folds 4 --seeds 1-2")
            .starts_with("2: train: --folds cannot be used with --seeds"));
  CHECK(
      error("train --config mine.yaml --folds 4 --set data.folds=3").starts_with("2: train: --folds gives the folds"));
  CHECK(error("train --config small.yaml --folds 4")
            .find("data.folds is for babi, jsonl and candidates without data.test, got "
                  "task coreference") != std::string::npos);
  CHECK(error("train --config mine.yaml --set data.folds=3 --set data.fold=4")
            .find("data.fold 4 must be at most data.folds 3") != std::string::npos);
}
