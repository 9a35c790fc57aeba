#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/ops.h>
#include <heed/formats/safetensors.h>
#include <heed/formats/training_state.h>
#include <heed/nn/layers.h>

using namespace heed;

namespace {

struct SavedTraining {
  Parameters parameters;
  Linear layer{Scope(parameters, 1), 3, 2};
  Optimizer adam{parameters, {}};
  WeightAverage average{parameters, {.decay = 0.9}};
  Random random{2};
  TrainingState state{
      .parameters = parameters, .optimizer = &adam, .average = &average, .randoms = {{"data", &random}}};

  void take(std::int64_t step, std::int64_t end) {
    for (; step < end; ++step) {
      const Tensor x = random_normal({8, 3}, random);
      const Recording recording;
      adam.step(backward(mean(square(layer(x)))), 0.1);
      average.add();
    }
  }
};

}  // namespace

TEST_CASE("A training continues from its TrainingState bit for bit") {
  const Scratch scratch;
  const std::filesystem::path file = scratch / "state.safetensors";
  SavedTraining whole, stopped, resumed;
  whole.take(0, 9);
  CHECK(stopped.state.load(file) == 0);
  stopped.take(0, 4);
  stopped.state.save(file, 4);
  REQUIRE(resumed.state.load(file) == 4);
  resumed.take(4, 9);
  CHECK(resumed.layer.weight.to_vector() == whole.layer.weight.to_vector());
  CHECK(resumed.average.state()[0].second.to_vector() == whole.average.state()[0].second.to_vector());
  CHECK(resumed.random.state() == whole.random.state());
}

TEST_CASE("TrainingState rejects a file with other parts than the program's") {
  const Scratch scratch;
  const std::filesystem::path file = scratch / "state.safetensors";
  SavedTraining training;
  training.take(0, 1);
  training.state.save(file, 1);
  const auto said = [&] { return message([&] { training.state.load(file); }, file.string()); };
  CHECK(said() == "no error");
  training.state.randoms = {{"dropout", &training.random}};
  CHECK(said() == "FILE: has a generator 'data', which the program does not have");
  training.state.randoms = {{"data", &training.random}, {"dropout", &training.random}};
  CHECK(said() == "FILE: has no generator 'dropout'");
  training.state.randoms.erase("dropout");
  training.state.average = nullptr;
  CHECK(said() == "FILE: has the state of an object that TrainingState::average does not have");
  write_safetensors(file, {{{"x", ones({1})}}, {}});
  CHECK(said() == "FILE: was not written by TrainingState: the metadata entry 'heed.step' is missing");
}

TEST_CASE("TrainingState holds further networks, each with its optimiser and average") {
  const Scratch scratch;
  const std::filesystem::path file = scratch / "state.safetensors";
  struct Pair {
    SavedTraining maker, judge;
    TrainingState state = maker.state;
    Pair() {
      state.networks = {
          {"judge", {.parameters = judge.parameters, .optimizer = &judge.adam, .average = &judge.average}}};
      state.randoms = {{"maker", &maker.random}, {"judge", &judge.random}};
    }
    void take(std::int64_t step, std::int64_t end) {
      maker.take(step, end);
      judge.take(2 * step, 2 * end);  // other numbers than those of the maker
    }
  } whole, stopped, resumed;
  whole.take(0, 9);
  stopped.take(0, 4);
  stopped.state.save(file, 4);
  REQUIRE(resumed.state.load(file) == 4);
  resumed.take(4, 9);
  CHECK(resumed.maker.layer.weight.to_vector() == whole.maker.layer.weight.to_vector());
  CHECK(resumed.judge.layer.weight.to_vector() == whole.judge.layer.weight.to_vector());
  CHECK(resumed.judge.average.state()[0].second.to_vector() == whole.judge.average.state()[0].second.to_vector());

  const auto said = [&] { return message([&] { resumed.state.load(file); }, file.string()); };
  resumed.state.networks["judge"].average = nullptr;
  CHECK(said() == "FILE: has the state of an object that TrainingState::average does not have");
  resumed.state.networks = {{"target", {.parameters = resumed.judge.parameters}}};
  CHECK(said() == "FILE: has a network 'judge', which the program does not have");
  stopped.state.networks.clear();
  stopped.state.save(file, 4);
  CHECK(said() == "FILE: has no network 'target'");
  resumed.state.networks = {{"a.b", {.parameters = resumed.judge.parameters}}};
  CHECK(message([&] { resumed.state.save(file, 4); }) ==
        "TrainingState: expected a name without dots for a network, got 'a.b'");
}
