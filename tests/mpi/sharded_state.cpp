// Trains one model by one process and by several with sharded moments, in turn, and exits with 1 unless both have the same bits. A
// layer is frozen for some steps, so that its parameters have a number of steps of their own.
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/distributed/communicator.h>
#include <heed/distributed/parallel_optimizer.h>
#include <heed/nn/layers.h>

#include <fmt/format.h>

using namespace heed;

namespace {

struct Model {
  Parameters parameters;
  Linear first{Scope(parameters, 1) / "first", 3, 5};
  Linear second{Scope(parameters, 2) / "second", 5, 2};

  // Updates by `count` steps, of which the first layer takes part in those with an odd number.
  void train(Optimizer& optimizer, int count) {
    for (int i = 0; i < count; ++i) {
      const bool freezes = optimizer.steps() % 2 == 0;
      if (freezes) parameters.freeze("first");
      Random random = Random(3).stream(static_cast<std::uint64_t>(optimizer.steps()));
      const Tensor x = random_normal({4, 3}, random);
      const Gradients gradients = [&] {
        const Recording recording;
        return backward(mean(square(second(tanh(first(x))) - 1)));
      }();
      optimizer.step(gradients, 0.1);
      if (freezes) parameters.unfreeze("first");
    }
  }
};

NamedTensors copied(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const auto& [name, tensor] : tensors) copies.emplace_back(name, tensor.clone());
  return copies;
}

int differences(const char* what, const NamedTensors& one, const NamedTensors& other) {
  int count = one.size() != other.size();
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    if (one[i].first == other[i].first && one[i].second.to_vector() == other[i].second.to_vector()) continue;
    fmt::print("{}: {} differs from {}\n", what, one[i].first, other[i].first);
    ++count;
  }
  return count;
}

NamedTensors values(const Parameters& parameters) { return {parameters.begin(), parameters.end()}; }

}  // namespace

int main() {
  const Communicator processes = Communicator::launched();
  int failures = 0;
  for (const auto method : {OptimizerOptions::Method::adamw, OptimizerOptions::Method::sgd}) {
    const OptimizerOptions options{.method = method, .momentum = method == OptimizerOptions::Method::sgd ? 0.9 : 0};
    Model alone, sharded;
    Optimizer one(alone.parameters, options);
    ParallelOptimizer several(sharded.parameters, options, processes, Moments::part);
    const auto compare = [&](const char* what) {
      failures += differences(what, values(alone.parameters), values(sharded.parameters));
      const NamedTensors state = several.state();
      if (processes.rank() == 0) failures += differences(what, one.state(), state);
    };
    alone.train(one, 5);  // the first layer takes part in 2 of them
    sharded.parameters.load(copied(values(alone.parameters)), "alone");
    several.load_state(processes.rank() == 0 ? copied(one.state()) : NamedTensors{}, "alone");
    compare("several load the state of one");
    alone.train(one, 4);
    sharded.train(several, 4);
    compare("several train as one");

    const NamedTensors state = copied(several.state());
    if (processes.rank() > 0) continue;
    Model resumed;
    Optimizer next(resumed.parameters, options);
    resumed.parameters.load(copied(values(sharded.parameters)), "several");
    next.load_state(state, "several");
    resumed.train(next, 3);
    alone.train(one, 3);
    failures += differences("one loads the state of several", values(alone.parameters), values(resumed.parameters));
    failures += differences("one loads the state of several", one.state(), next.state());
  }
  return failures > 0;
}
