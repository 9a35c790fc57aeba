#include "tests/golden.h"
#include "tests/message.h"

#include <heed/optim/lbfgs.h>

using namespace heed;

namespace {

struct Rosenbrock {
  Golden golden{"optim"};
  Parameters parameters;
  Tensor p, q;

  explicit Rosenbrock(DType dtype = DType::float64) {
    const Scope scope(parameters, 1, dtype);
    p = scope.parameter("p", {5, 3}, Init::zeros());
    q = scope.parameter("q", {4}, Init::zeros());
    golden.load("start", parameters);
  }

  Tensor loss() const {
    const Tensor x = reshape(p, {-1}), left = slice(x, 0, 0, -1), right = slice(x, 0, 1);
    return sum(100 * square(right - square(left)) + square(1 - left)) + sum(exp(q) + exp(-2.0 * q));
  }
};

constexpr LbfgsOptions few{.max_iterations = 4, .history = 5};

}  // namespace

TEST_CASE("Steps of L-BFGS match PyTorch, with a line search and without") {
  const bool searches = GENERATE(true, false);
  const std::string name = searches ? "lbfgs.wolfe" : "lbfgs.fixed";
  CAPTURE(name);
  Rosenbrock f;
  LbfgsOptions options = few;
  if (!searches) options = {.line_search = LbfgsOptions::LineSearch::none, .lr = 1e-3, .max_iterations = 4};
  Lbfgs lbfgs(f.parameters, options);
  const Tensor losses = f.golden(name + ".loss");
  for (std::int64_t step = 0; step < losses.size(0); ++step) {
    CAPTURE(step);
    CHECK(lbfgs.step([&] { return f.loss(); }) == Approx(losses.at({step})).epsilon(1e-9));
    for (const auto& [key, parameter] : f.parameters) {
      const Tensor expected = f.golden(name + "." + key)[step];
      CHECK(error(parameter, expected) <= 1e-7);
    }
  }
  if (searches) CHECK(lbfgs.step([&] { return f.loss(); }) < 1e-2 * losses.at({0}));
}

TEST_CASE("A restored L-BFGS continues bit for bit") {
  const int before = GENERATE(0, 1, 3);
  Rosenbrock whole(DType::float32), stopped(DType::float32), resumed(DType::float32);
  Lbfgs first(whole.parameters, few), second(stopped.parameters, few), third(resumed.parameters, few);
  for (int step = 0; step < 5; ++step) first.step([&] { return whole.loss(); });
  for (int step = 0; step < before; ++step) second.step([&] { return stopped.loss(); });
  resumed.parameters.load({stopped.parameters.begin(), stopped.parameters.end()}, "model");
  third.load_state(second.state(), "state");
  for (int step = before; step < 5; ++step) third.step([&] { return resumed.loss(); });
  CHECK(resumed.p.to_vector() == whole.p.to_vector());
  CHECK(third.evaluations() == first.evaluations());
  CHECK(third.iterations() == first.iterations());
  Parameters other;
  Scope(other, 1).parameter("p", {2}, Init::ones());
  CHECK(message([&] {
          Lbfgs(other).load_state(second.state(), "state");
        }).starts_with("state: its tensors do not match"));
}

TEST_CASE("L-BFGS goes back from a step to where the loss is not finite") {
  Parameters parameters;
  const Tensor x = Scope(parameters, 1, DType::float64).parameter("x", {1}, Init::constant(0.01));
  Lbfgs lbfgs(parameters, {.lr = 100});
  for (int step = 0; step < 5; ++step) lbfgs.step([&] { return sum(x - log(x)); });  // NaN for x < 0
  CHECK(x.item() == Approx(1).epsilon(1e-6));
}

TEST_CASE("Lbfgs rejects what it cannot minimise") {
  Parameters none, parameters;
  CHECK(message([&] { Lbfgs{none}; }) == "Lbfgs: no parameter to optimise; make the layers before the optimiser");
  const Tensor x = Scope(parameters, 1).parameter("x", {1}, Init::ones());
  const Tensor y = Scope(parameters, 1).parameter("y", {1}, Init::zeros());
  CHECK(message([&] { Lbfgs(parameters, {.history = 0}); }) == "Lbfgs: history must be at least 1, got 0");
  CHECK(message([&] { Lbfgs(parameters, {.lr = -1}); }) == "Lbfgs: lr must be finite and at least 0, got -1");
  Lbfgs lbfgs(parameters);
  CHECK(message([&] { lbfgs.step([&] { return sum(x); }); }) ==
        "Lbfgs: no gradient for y: the loss must depend on each parameter that is not frozen");
  CHECK(message([&] { lbfgs.step([&] { return sum(x / y); }); }) == "Lbfgs: the loss at the start of the step is inf");
}
