#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/optim/lbfgs.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/weight_average.h>

using namespace heed;

TEST_CASE("WeightAverage leaves buffers as they are") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Tensor w = scope.parameter("w", {1}, Init::zeros()), count = scope.buffer("count", {1}, 0);
  WeightAverage average(parameters, {.decay = 0.5});
  for (const double x : {1, 2, 3}) {
    w.copy_from(tensor({1}, {x}));
    count.copy_from(tensor({1}, {x}));
    average.add();
  }
  {
    const WeightAverage::Shown shown(average);
    CHECK(w.at({0}) == 2.25);
    CHECK(count.at({0}) == 3);
    count.copy_from(tensor({1}, {4.0}));
  }
  CHECK(w.at({0}) == 3);
  CHECK(count.at({0}) == 4);
}

TEST_CASE("WeightAverage::Shown replaces the weights by their mean, and then restores them") {
  Parameters parameters;
  Tensor w = Scope(parameters, 1).parameter("w", {2}, Init::zeros());
  WeightAverage average(parameters);
  const auto set = [&](double a, double b) { w.copy_from(tensor({2}, {a, b})); };
  set(5, 6);
  {
    const WeightAverage::Shown shown(average);
    CHECK(w.to_vector() == std::vector<double>{5, 6});  // no mean yet
  }
  CHECK(average.state().empty());
  for (const double x : {1, 2, 6}) {
    set(x, -x);
    average.add();
  }
  {
    const WeightAverage::Shown shown(average);
    CHECK(w.at({0}) == Approx(3));
    CHECK(w.at({1}) == Approx(-3));
  }
  CHECK(w.to_vector() == std::vector<double>{6, -6});
  CHECK(average.steps() == 3);
  {
    const WeightAverage::Shown shown(average);
    const auto refused = [](const std::string& what) {
      return "WeightAverage: " + what + " while the mean is shown; end that first";
    };
    CHECK(message([&] { average.add(); }) == refused("add()"));
    CHECK(message([&] { average.state(); }) == refused("state()"));
    CHECK(message([&] { average.restart(); }) == refused("restart()"));
    CHECK(message([&] { average.load_state({}, "file"); }) == refused("restart()"));
    CHECK(message([&] { const WeightAverage::Shown twice(average); }) == refused("another Shown"));
    CHECK(w.at({0}) == Approx(3));
  }
  CHECK(w.to_vector() == std::vector<double>{6, -6});

  WeightAverage other(parameters);
  other.load_state(average.state(), "file");
  set(7, -7);
  other.add();
  average.add();
  CHECK(other.steps() == 4);
  CHECK(other.state()[0].second.to_vector() == average.state()[0].second.to_vector());
  CHECK(message([&] {
          other.load_state({{"steps", full({}, 1, DType::float64)}}, "file");
        }).starts_with("file: its tensors do not match"));
  const Tensor late = Scope(parameters, 1).parameter("late", {1}, Init::ones());
  CHECK(message([&] {
          average.add();
        }).starts_with("WeightAverage: expected as many parameters as at the first add(), 1, got 2; make"));
  CHECK(average.steps() == 4);
  { const WeightAverage::Shown shown(average); }
  CHECK((w.to_vector() == std::vector<double>{7, -7} && late.to_vector() == std::vector<double>{1}));
  other.restart();
  CHECK((other.steps() == 0 && other.state().empty()));
}

TEST_CASE("Optimizer and WeightAverage reject a parameter that is a view with gaps") {
  const Tensor whole = zeros({6});
  const Tensor view = GENERATE_COPY(slice(whole, 0, 0, 6, 2), transpose(reshape(whole, {2, 3})),
                                    broadcast_to(slice(whole, 0, 0, 1), {6}));
  Parameters parameters;
  parameters.add("p", variable(view));
  CHECK(message([&] { WeightAverage{parameters}; }) == "WeightAverage: parameter 'p' is a view with gaps");
  CHECK(message([&] { Optimizer(parameters, {}); }) ==
        "Optimizer: parameter 'p' is a view with gaps. If its model was loaded mapped, load it without, or adapt() it; "
        "else give the store a variable of its own, variable(x.clone())");
  parameters.freeze("p");
  CHECK(Optimizer(parameters, {}).steps() == 0);
  parameters.unfreeze("p");  // the views share their memory
}

TEST_CASE("Optimisers refuse a step while an average is shown, which would be lost") {
  Parameters parameters;
  const Tensor w = Scope(parameters, 1).parameter("w", {1}, Init::ones());
  Optimizer optimizer(parameters);
  Lbfgs lbfgs(parameters);
  WeightAverage average(parameters), other(parameters);
  average.add();
  const auto step = [&] {
    const Recording recording;
    optimizer.step(backward(sum(square(w))), 0.1);
  };
  const std::string lost =
      "the parameters hold a WeightAverage until its Shown ends, and new values would then be lost; end that first";
  {
    const WeightAverage::Shown shown(average);
    { const WeightAverage::Shown inner(other); }
    CHECK(message(step) == "Optimizer: " + lost);
    CHECK(message([&] { lbfgs.step([&] { return sum(square(w)); }); }) == "Lbfgs: " + lost);
    CHECK(message([&] { parameters.load({{"w", zeros({1})}}, "w.safetensors"); }) == "w.safetensors: " + lost);
  }
  CHECK(w.item() == 1);
  step();
  CHECK(w.item() < 1);
}

TEST_CASE("A moving average starts with the first weights and survives being restored") {
  Parameters parameters;
  const Tensor w = Scope(parameters, 1).parameter("w", {1}, Init::zeros());
  WeightAverage ema(parameters, {.decay = 0.75}), resumed(parameters, {.decay = 0.75});
  assign(w, 4);
  ema.add();
  assign(w, 8);
  resumed.load_state(ema.state(), "state");
  resumed.add();
  {
    const WeightAverage::Shown shown(resumed);
    CHECK(w.item() == 5);
  }
  CHECK(message([&] { WeightAverage(parameters, {.decay = 1}); }) == "WeightAverage: decay must lie in [0, 1), got 1");
}
