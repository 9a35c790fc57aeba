#include "tests/catch.h"

#include <heed/autograd/machine.h>
#include <heed/autograd/ops.h>
#include <heed/optim/optimizer.h>

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
