#include "train/training.h"

#include "autograd/cpu/thread_pool.h"
#include "tests/catch.h"
#include "tests/scratch.h"

#include <heed/autograd/machine.h>
#include <heed/files/file.h>

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
void train_until(std::int64_t last, const RunDirectory& run) {
  Experiment experiment = make_experiment(parse_config(resumable, "f"));
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
  const Scratch scratch;
  const int before = threads();
  set_threads(1);
  const Config config = parse_config(resumable, "f");
  train_until(0, RunDirectory::create(config.name, to_yaml(config), scratch / "alone"));
  const auto alone = files(scratch / "alone");
  CHECK(alone.size() == 15);  // configuration, held-out sentences, metrics, model, checkpoint, five dumps, their models
  CHECK(alone.at("models/step-000060.safetensors") == alone.at("model.safetensors"));
  for (const int stop : {1, 7, 15, 25, 27, 47, 59}) {
    const fs::path path = scratch / std::to_string(stop);
    set_threads(stop % 20 == 7 ? 2 : 1);
    train_until(stop, RunDirectory::create(config.name, to_yaml(config), path));
    CHECK((files(path) != alone));
    set_threads(stop % 20 == 7 ? 3 : 1);
    train_until(0, RunDirectory::open(path));
    INFO("stopped after step " << stop);
    CHECK((files(path) == alone));
  }
  set_threads(before);
}

TEST_CASE("The model of each dumped step is kept when it is asked for, or from where a run goes on with it") {
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
  // Each gives the weights of its dump.
  for (const std::int64_t step : dumped_model_steps(run.path())) {
    CAPTURE(step);
    const SavedModel model = load_model(dumped_model_path(run.path(), step));
    CHECK(model.step == step);
    const Dump dump = read_dump(dump_path(run.path(), step));
    const SentenceAttention again = attend(*model.reader, model.vocabulary, longer.watched[0]);
    CHECK(again.layers[1].to_vector() == dump.sentences[0].layers[1].to_vector());
  }
}

TEST_CASE("The training loss of a line of metrics is the mean since the line before, whatever the interval was") {
  const Scratch scratch;
  const auto train_with = [&](const std::string& steps, const std::string& every, const RunDirectory& run) {
    Experiment experiment =
        make_experiment(parse_config(resumable, "f", {"train.steps=" + steps, "train.evaluate_every=" + every}));
    double sum = 0;
    int count = 0;
    const Listener listener{[&](std::int64_t, double loss) { sum += loss, ++count; },
                            [&](std::int64_t step, double train_loss, const Evaluation&) {
                              if (count == 0) return;  // of the step before the first
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
