#include "train/training.h"

#include "autograd/cpu/thread_pool.h"
#include "run/dump.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/machine.h>
#include <heed/autograd/ops.h>
#include <heed/files/file.h>
#include <heed/formats/safetensors.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace heed;
namespace fs = std::filesystem;

namespace {

constexpr const char* resumable =
    "data: {sentences: 100, held_out: 20}\n"
    "model: {d_model: 8, dropout: 0.2}\n"
    "train: {steps: 60, batch_size: 4, evaluate_every: 20, checkpoint_every: 25}\n"
    "dump: {every: 15, sentences: 2, weights: true}\n";

// Trains until `last` steps are taken, or to the end.
void train_until(std::int64_t last, const RunDirectory& run, const std::vector<std::string>& settings = {}) {
  Experiment experiment = make_experiment(parse_config(resumable, "f", settings));
  volatile std::sig_atomic_t stop = 0;
  const Listener listener{[&](std::int64_t step, double) { stop = step == last; },
                          [](std::int64_t, double, const Evaluation&) {}};
  train(experiment, run, listener, stop);
}

std::map<std::string, std::string> files(const fs::path& run) {
  std::map<std::string, std::string> result;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run)) {
    if (entry.is_regular_file()) result[fs::relative(entry.path(), run).string()] = read_file(entry.path());
  }
  return result;
}

}  // namespace

TEST_CASE("A run stopped and resumed, with any threads, writes the same files byte for byte") {
  const auto settings =
      GENERATE(std::vector<std::string>{}, std::vector<std::string>{"train.average=20", "train.accumulate=4"});
  const Scratch scratch;
  const int before = threads();
  set_threads(1);
  const Config config = parse_config(resumable, "f", settings);
  train_until(0, RunDirectory::create(config.name, to_yaml(config), scratch / "alone"), settings);
  const auto alone = files(scratch / "alone");
  CHECK(alone.size() == 15);  // configuration, held-out sentences, metrics, model, checkpoint, five dumps, their models
  CHECK(alone.at("models/step-000060.safetensors") == alone.at("model.safetensors"));
  for (const int stop : {1, 7, 15, 20, 25, 27, 40, 47, 59, 60}) {  // 20, 40 and 60: before an evaluation
    const fs::path path = scratch / std::to_string(stop);
    set_threads(stop % 20 == 7 ? 2 : 1);
    train_until(stop, RunDirectory::create(config.name, to_yaml(config), path), settings);
    CHECK((files(path) != alone));
    set_threads(stop % 20 == 7 ? 3 : 1);
    train_until(0, RunDirectory::open(path), settings);
    INFO("stopped after step " << stop);
    CHECK((files(path) == alone));
  }
  set_threads(before);
}

TEST_CASE("dump.weights keeps models of snapshots, also when it is set only to extend a run") {
  const Scratch scratch;
  const RunDirectory run = RunDirectory::create("r", "", scratch / "r");
  const auto train_with = [&](const std::string& steps, const std::string& weights) {
    Experiment experiment =
        make_experiment(parse_config(resumable, "f", {"train.steps=" + steps, "dump.weights=" + weights}));
    const Listener silent{[](std::int64_t, double) {}, [](std::int64_t, double, const Evaluation&) {}};
    const volatile std::sig_atomic_t stop = 0;
    train(experiment, run, silent, stop);
    return experiment;
  };
  train_with("20", "false");
  CHECK(dumped_model_steps(run.path()).empty());
  const Experiment longer = train_with("40", "true");
  CHECK(dumped_model_steps(run.path()) == std::vector<std::int64_t>{0, 30, 40});
  // Each model gives the attention weights of its snapshot.
  for (const std::int64_t step : dumped_model_steps(run.path())) {
    CAPTURE(step);
    const Model model = load_model(dumped_model_path(run.path(), step));
    CHECK(model.step == step);
    const Dump dump = read_dump(dump_path(run.path(), step));
    const SentenceAttention again = attend(model, longer.watched[0]);
    CHECK(again.layers[1].to_vector() == dump.sentences[0].layers[1].to_vector());
  }
}

TEST_CASE("The training loss in a line of metrics is the mean since the previous line") {
  const Scratch scratch;
  const auto train_with = [&](const std::string& steps, const std::string& every, const RunDirectory& run) {
    Experiment experiment =
        make_experiment(parse_config(resumable, "f", {"train.steps=" + steps, "train.evaluate_every=" + every}));
    double sum = 0;
    int count = 0;
    const Listener listener{[&](std::int64_t, double loss) { sum += loss, ++count; },
                            [&](std::int64_t step, double train_loss, const Evaluation&) {
                              if (count == 0) return;  // the evaluation before the first step
                              CAPTURE(step);
                              CHECK(train_loss == Approx(sum / count));
                              sum = count = 0;
                            }};
    const volatile std::sig_atomic_t stop = 0;
    train(experiment, run, listener, stop);
  };
  train_with("50", "20", RunDirectory::create("r", "", scratch / "r"));
  train_with("75", "30", RunDirectory::open(scratch / "r"));
  const std::vector<Metrics> lines = read_metrics(scratch / "r");
  REQUIRE(lines.size() == 6);  // 0, 20, 40, 50; 60, 75
  CHECK((lines[3].step == 50 && lines[4].step == 60 && lines[5].step == 75));
}

namespace {

// The weights after all steps of `settings`, in the file `name` of the run.
NamedTensors weights_after(const fs::path& path, const std::vector<std::string>& settings,
                           const char* name = "model.safetensors") {
  const Config config = parse_config(resumable, "f", settings);
  train_until(0, RunDirectory::create(config.name, to_yaml(config), path), settings);
  return read_safetensors(path / name).tensors;
}

double largest_difference(const NamedTensors& a, const NamedTensors& b) {
  double largest = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].first == b[i].first);
    largest = std::max(largest, std::sqrt(max(square(a[i].second - b[i].second)).item()));
  }
  return largest;
}

}  // namespace

TEST_CASE("train.accumulate gives the gradient of the whole batch to rounding, for any threads") {
  const Scratch scratch;
  // One step of plain descent: the weights differ as the gradients do.
  const std::vector<std::string> settings{"train.steps=1", "train.batch_size=12", "model.dropout=0", "optim.name=sgd",
                                          "optim.lr=1",    "optim.clip=0",        "optim.warmup=0"};
  const auto in_parts = [&](const std::string& parts) {
    std::vector<std::string> all = settings;
    all.push_back("train.accumulate=" + parts);
    return all;
  };
  const NamedTensors whole = weights_after(scratch / "whole", settings);
  for (const char* parts : {"2", "3", "4", "12"}) {
    INFO(parts << " parts");
    const NamedTensors cut = weights_after(scratch / parts, in_parts(parts));
    CHECK(largest_difference(cut, whole) < 1e-6);
  }
  const std::string model = read_file(scratch / "3" / "model.safetensors");
  const int before = threads();
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    const fs::path path = scratch / fmt::format("threads-{}", count);
    weights_after(path, in_parts("3"));
    CHECK((read_file(path / "model.safetensors") == model));
  }
  set_threads(before);
}

TEST_CASE("train.average saves the mean of the last weights and evaluates that mean") {
  const Scratch scratch;
  const std::string steps = "train.steps=5";
  NamedTensors sum;
  for (const char* step : {"3", "4", "5"}) {  // with a constant rate, the first steps of these runs are equal
    const std::vector<std::string> settings{fmt::format("train.steps={}", step), "optim.schedule=constant",
                                            "optim.warmup=1"};
    for (const auto& [name, w] : weights_after(scratch / step, settings)) {
      if (step[0] == '3')
        sum.emplace_back(name, w);
      else
        std::find_if(sum.begin(), sum.end(), [&n = name](auto& s) { return s.first == n; })->second += w;
    }
  }
  for (auto& [name, w] : sum) w /= 3.0;
  const std::vector<std::string> averaging{steps, "optim.schedule=constant", "optim.warmup=1", "train.average=3"};
  CHECK(largest_difference(weights_after(scratch / "mean", averaging), sum) < 1e-6);
  CHECK(largest_difference(weights_after(scratch / "none", {steps, "optim.schedule=constant", "optim.warmup=1"}), sum) >
        1e-4);
  Experiment e = make_experiment(parse_config(resumable, "f", averaging));
  e.model = load_model(model_path(scratch / "mean"));
  CHECK(read_metrics(scratch / "mean").back().held_out.loss == Approx(evaluate(e).loss).epsilon(1e-6));
  // An extended run averages its new last steps, and not its former last steps.
  const std::vector<std::string> longer{"train.steps=9", "optim.schedule=constant", "optim.warmup=1",
                                        "train.average=3"};
  train_until(0, RunDirectory::open(scratch / "mean"), longer);
  weights_after(scratch / "at once", longer);
  CHECK((read_file(model_path(scratch / "mean")) == read_file(model_path(scratch / "at once"))));
}

TEST_CASE("train.patience ends a run without progress and saves its best model beside the last") {
  const Scratch scratch;
  // The model overfits: the held-out loss falls, then rises.
  const std::vector<std::string> settings{"data.sentences=12", "train.steps=2000", "train.evaluate_every=10",
                                          "train.patience=3",  "model.dropout=0",  "optim.schedule=constant",
                                          "optim.lr=0.01",     "optim.warmup=0"};
  weights_after(scratch / "r", settings);
  const std::vector<Metrics> lines = read_metrics(scratch / "r");
  const auto best = std::min_element(
      lines.begin(), lines.end(), [](const Metrics& a, const Metrics& b) { return a.held_out.loss < b.held_out.loss; });
  REQUIRE(lines.back().step < 2000);
  CHECK(lines.end() - best == 4);  // three without progress after it
  Experiment e = make_experiment(parse_config(resumable, "f", settings));
  for (const auto& [file, line] : {std::pair("best.safetensors", *best), {"model.safetensors", lines.back()}}) {
    INFO(file);
    e.model = load_model(scratch / "r" / file);
    CHECK(e.model.step == line.step);
    CHECK(evaluate(e).loss == Approx(line.held_out.loss).epsilon(1e-6));
  }
}

TEST_CASE("A run stopped in its first evaluation is resumed from step 0") {
  const Scratch scratch;
  const Config config = parse_config(resumable, "f", {});
  train_until(0, RunDirectory::create(config.name, to_yaml(config), scratch / "alone"));
  Experiment experiment = make_experiment(config);
  const volatile std::sig_atomic_t stop = 1;
  const Listener none{[](std::int64_t, double) {}, [](std::int64_t, double, const Evaluation&) {}};
  CHECK(train(experiment, RunDirectory::create(config.name, to_yaml(config), scratch / "r"), none, stop) == 0);
  train_until(0, RunDirectory::open(scratch / "r"));
  CHECK((files(scratch / "r") == files(scratch / "alone")));
}

TEST_CASE("best.safetensors holds the best model of the steps since train.patience was set") {
  const Scratch scratch;
  const auto settings = [](const char* steps, const char* patience) {
    return std::vector<std::string>{"data.sentences=12",
                                    "train.evaluate_every=10",
                                    "model.dropout=0",
                                    "optim.lr=0.01",
                                    "optim.schedule=constant",
                                    "optim.warmup=0",
                                    steps,
                                    patience};
  };
  const auto best_of = [](const std::vector<Metrics>& lines, std::int64_t from) {
    std::vector<Metrics> kept = lines;
    std::erase_if(kept, [&](const Metrics& m) { return m.step < from; });
    return std::ranges::min_element(kept, {}, [](const Metrics& m) { return m.held_out.loss; })->step;
  };
  const fs::path best = best_model_path(scratch / "r");
  weights_after(scratch / "r", settings("train.steps=500", "train.patience=0"));
  CHECK_FALSE(fs::exists(best));
  train_until(0, RunDirectory::open(scratch / "r"), settings("train.steps=2000", "train.patience=2"));
  const std::vector<Metrics> lines = read_metrics(scratch / "r");
  REQUIRE(lines.back().step < 2000);
  CHECK(load_model(best).step == best_of(lines, 500));
  train_until(0, RunDirectory::open(scratch / "r"), settings("train.steps=2000", "train.patience=0"));
  CHECK(load_model(best).step == best_of(read_metrics(scratch / "r"), 500));
}

TEST_CASE("A held-out loss that is not finite ends the run with the first bad tensor, and no best model") {
  const Scratch scratch;
  const Config config = parse_config(resumable, "f", {"train.patience=2"});
  Experiment experiment = make_experiment(config);
  Tensor bias = experiment.model.parameters["output_bias"];
  bias.copy_from(bias + std::numeric_limits<double>::quiet_NaN());
  const RunDirectory run = RunDirectory::create(config.name, to_yaml(config), scratch / "r");
  const volatile std::sig_atomic_t stop = 0;
  const Listener none{[](std::int64_t, double) {}, [](std::int64_t, double, const Evaluation&) {}};
  CHECK(
      message([&] { train(experiment, run, none, stop); }, (scratch / "r").string()) ==
      "the model computes values that are not finite, the first of them in logits (1, 73): its weights are too large; "
      "the file is damaged, or its training diverged");
  CHECK_FALSE(fs::exists(best_model_path(scratch / "r")));
}
