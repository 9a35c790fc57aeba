#include "train/seeds.h"

#include "run/program.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/train/program.h"

#include <cmath>

using namespace heed;
namespace fs = std::filesystem;

namespace {

Evaluation ended_with(double accuracy, double weight) {
  Evaluation e;
  e.loss = 1 - accuracy;
  e.accuracy = accuracy;
  e.twin_accuracy = std::numeric_limits<double>::quiet_NaN();
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

TEST_CASE("student_t agrees with published tables") {
  const std::vector<std::pair<int, double>> table{{1, 12.706}, {2, 4.303}, {3, 3.182},  {4, 2.776},
                                                  {7, 2.365},  {8, 2.306}, {30, 2.042}, {120, 1.980}};
  for (const auto& [degrees, t] : table) CHECK(student_t(degrees) == Approx(t).margin(5e-4));
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
     ±   0.6210    62.1 %                  0.73  (95 % interval)
)");
}

TEST_CASE("--seeds trains each seed as a separate run would and keeps finished runs") {
  const SeedsScratch place;
  const Ended first = place.run("train --config small.yaml --seeds 3,1");
  CAPTURE(first.out, first.err);
  REQUIRE(first.code == 0);
  CHECK(first.out.find("run    runs/small-seeds/seed-N\n") != std::string::npos);
  CHECK(first.out.find("\n  seed     loss  accuracy  both of a pair  weight on antecedent\n     3  ") !=
        std::string::npos);
  CHECK(first.out.find("(95 % interval)\n") != std::string::npos);
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
        "1: train: s/seed-2: is a run; --seeds needs a directory for the runs of its seeds: choose another --out\n");
  CHECK(error("train --config small.yaml --seeds 1 --dry-run") ==
        "2: train: --dry-run works on one run and cannot be used with --seeds (see train --help)\n");
  CHECK(error("train --config small.yaml --seeds 1 --set seed=3") ==
        "2: train: --seeds gives the seeds and cannot be used with --set seed (see train --help)\n");
  CHECK(error("train --config small.yaml --seeds a").starts_with("2: train: --seeds: expected seeds such as "));
}
