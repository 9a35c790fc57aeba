#include "tests/catch.h"

#include <heed/autograd/machine.h>
#include <heed/autograd/ops.h>
#include <heed/optim/optimizer.h>

#include <algorithm>

using namespace heed;

TEST_CASE("An optimiser reads a gradient that is a transposed view correctly") {
  const auto method = GENERATE(OptimizerOptions::Method::sgd, OptimizerOptions::Method::adamw);
  const Tensor values = tensor({2, 3}, {1, -2, 3, 0, 0.5, 9});
  const auto run = [&](const Tensor& gradient) {
    Parameters parameters;
    const Tensor p = Scope(parameters, 1).parameter("p", {3, 2}, Init::normal(1));
    Gradients gradients;
    gradients.set(p, gradient);
    Optimizer(parameters, {.method = method}).step(gradients, 0.1);
    return p.to_vector();
  };
  CHECK(run(transpose(values)) == run(transpose(values).clone()));
}

TEST_CASE("Optimizer::step gives the same bits for any number of threads") {
  const auto run = [](int count) {
    set_threads(count);
    Parameters parameters;
    const Tensor p = Scope(parameters, 1).parameter("p", {100, 333}, Init::normal(1));
    Optimizer optimizer(parameters, {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.1});
    for (int step = 0; step < 3; ++step) {
      Gradients gradients;
      gradients.set(p, transpose(reshape(tanh(p), {333, 100})));
      optimizer.step(gradients, 0.01);
    }
    return p.to_vector();
  };
  const int before = threads();
  const auto one = run(1), three = run(3);
  set_threads(before);
  CHECK(one == three);
}

TEST_CASE("Optimizer::step updates each element once, for parameters of any size") {
  const auto method = GENERATE(OptimizerOptions::Method::sgd, OptimizerOptions::Method::adamw);
  Parameters parameters;
  Gradients gradients;
  const Scope scope(parameters, 1);
  int number = 0;
  for (const std::int64_t n : {30000, 1, 8191, 8192, 5, 20000}) {
    const Tensor p = scope.parameter(fmt::format("p{}", number++), {n}, Init::ones());
    gradients.set(p, ones({n}, p.dtype()));
  }
  Optimizer(parameters, {.method = method}).step(gradients, 0.1);
  for (const auto& [name, p] : parameters) {
    INFO(name);
    CHECK(p.to_vector() == std::vector<double>(static_cast<std::size_t>(p.numel()), parameters["p1"].at({0})));
  }
  CHECK(parameters["p1"].at({0}) == Approx(0.9));
}

TEST_CASE("A parameter that was frozen for some steps is updated as if these had not been") {
  const auto method = GENERATE(OptimizerOptions::Method::adam, OptimizerOptions::Method::adamw,
                               OptimizerOptions::Method::muon);  // muon: adamw for vectors
  const auto missing =
      GENERATE(OptimizerOptions::MissingGradient::error, OptimizerOptions::MissingGradient::leave_unchanged);
  const OptimizerOptions options{.method = method, .weight_decay = 0.1, .missing_gradient = missing};
  Parameters parameters, alone;
  const Tensor p = Scope(parameters, 1).parameter("p", {2}, Init::ones());
  const Tensor q = Scope(parameters, 1).parameter("q", {2}, Init::ones());
  const Tensor expected = Scope(alone, 1).parameter("q", {2}, Init::ones());
  const auto step = [](Optimizer& optimizer, const std::vector<Tensor>& trained) {
    Gradients gradients;
    for (const Tensor& one : trained) gradients.set(one, square(one.detach()));
    optimizer.step(gradients, 0.1);
  };
  const auto names = [](const Optimizer& optimizer) {
    std::vector<std::string> all;
    for (const auto& [name, value] : optimizer.state()) all.push_back(name);
    return all;
  };
  Optimizer optimizer(parameters, options), reference(alone, options);
  const bool counts_each = missing == OptimizerOptions::MissingGradient::leave_unchanged;
  step(optimizer, {p, q});
  CHECK(std::ranges::count(names(optimizer), "q.steps") == counts_each);
  step(reference, {expected});
  parameters.freeze("q");
  for (int i = 0; i < 50; ++i) step(optimizer, {p});
  parameters.unfreeze("q");
  step(optimizer, {p, q});
  step(reference, {expected});
  CHECK(q.to_vector() == expected.to_vector());
  CHECK(std::ranges::count(names(optimizer), "q.steps") == 1);
  CHECK(std::ranges::count(names(optimizer), "p.steps") == counts_each);

  Optimizer resumed(parameters, {.method = method, .weight_decay = 0.1});
  resumed.load_state(optimizer.state(), "state");
  CHECK(resumed.steps() == 52);
  step(resumed, {p, q});
  step(reference, {expected});
  CHECK(q.to_vector() == expected.to_vector());
}

TEST_CASE("An optimiser that allows missing gradients continues from a state of one that does not") {
  using Missing = OptimizerOptions::MissingGradient;
  const auto run = [](Missing second) {
    Parameters parameters;
    const Tensor p = Scope(parameters, 1).parameter("p", {2}, Init::ones());
    Gradients gradients;
    gradients.set(p, tensor({2}, {1, 2}));
    Optimizer optimizer(parameters, {}), resumed(parameters, {.missing_gradient = second});
    for (int i = 0; i < 3; ++i) optimizer.step(gradients, 0.1);
    resumed.load_state(optimizer.state(), "state");
    resumed.step(gradients, 0.1);
    return p.to_vector();
  };
  CHECK(run(Missing::leave_unchanged) == run(Missing::error));
}
