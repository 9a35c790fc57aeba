#include "tests/golden.h"
#include "tests/message.h"

#include <heed/optim/clip.h>
#include <heed/optim/optimizer.h>

using namespace heed;

namespace {

// The two parameters of the golden file, and the gradients of each step.
struct Walk {
  Golden golden{"optim"};
  Parameters parameters;

  explicit Walk(DType dtype) {
    const Scope scope(parameters, 1, dtype);
    scope.parameter("p", {5, 3}, Init::zeros());
    scope.parameter("q", {4}, Init::zeros());
    golden.load("start", parameters);
  }

  Gradients gradients(int step) const {
    Gradients result;
    for (const auto& [name, parameter] : parameters) result.set(parameter, row("gradient." + name, step, parameter));
    return result;
  }

  Tensor row(const std::string& name, int step, const Tensor& like) const {
    return reshape(slice(golden(name, like.dtype()), 0, step, step + 1), like.shape());
  }

  static double lr(int step) { return 0.01 * (1 + step); }
};

struct Recipe {
  const char* name;
  OptimizerOptions options;
};

const std::vector<Recipe> cases{
    {"sgd", {.method = OptimizerOptions::Method::sgd, .weight_decay = 0.1}},
    {"momentum", {.method = OptimizerOptions::Method::sgd, .momentum = 0.9, .weight_decay = 0.1}},
    {"nesterov", {.method = OptimizerOptions::Method::sgd, .momentum = 0.9, .nesterov = true, .weight_decay = 0.1}},
    {"adam", {}},
    {"adam_decay", {.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.1}},
    {"adamw", {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.1}},
    {"adam_amsgrad", {.beta1 = 0.5, .beta2 = 0.6, .amsgrad = true, .weight_decay = 0.1}},
    {"adamw_amsgrad",
     {.method = OptimizerOptions::Method::adamw, .beta1 = 0.5, .beta2 = 0.6, .amsgrad = true, .weight_decay = 0.1}},
    {"adagrad", {.method = OptimizerOptions::Method::adagrad, .eps = 1e-10, .weight_decay = 0.1}},
    {"rmsprop", {.method = OptimizerOptions::Method::rmsprop, .weight_decay = 0.1}},
    {"rmsprop_centered",
     {.method = OptimizerOptions::Method::rmsprop,
      .eps = 1e-6,
      .rmsprop = {.alpha = 0.9, .momentum = 0.5, .centered = true}}},
    {"lion", {.method = OptimizerOptions::Method::lion, .weight_decay = 0.1}},
    {"lion_betas", {.method = OptimizerOptions::Method::lion, .lion = {.beta1 = 0.8, .beta2 = 0.95}}},
    {"muon", {.method = OptimizerOptions::Method::muon, .weight_decay = 0.1}},
    {"muon_plain",
     {.method = OptimizerOptions::Method::muon,
      .weight_decay = 0.1,
      .muon = {.momentum = 0.8, .nesterov = false, .match_adamw = true, .iterations = 3}}},
};

}  // namespace

TEST_CASE("Fifteen steps of each optimiser match PyTorch") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const Recipe& chosen = GENERATE(from_range(cases));
  CAPTURE(to_string(dtype), chosen.name);
  Walk walk(dtype);
  Optimizer optimizer(walk.parameters, chosen.options);
  for (int step = 0; step < 15; ++step) {
    optimizer.step(walk.gradients(step), Walk::lr(step));
    for (const auto& [name, parameter] : walk.parameters) {
      const Tensor expected = walk.row(std::string(chosen.name) + "." + name, step, parameter.to(DType::float64));
      CAPTURE(step, name);
      CHECK(error(parameter, expected) <= tolerance(dtype));
    }
  }
  CHECK(optimizer.steps() == 15);
}

TEST_CASE("Optimizer::step with a gradient factor equals a step with clipped gradients") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const Recipe& chosen = GENERATE(from_range(cases));
  CAPTURE(to_string(dtype), chosen.name);
  Walk by_factor(dtype), by_clipped(dtype);
  Optimizer one(by_factor.parameters, chosen.options), other(by_clipped.parameters, chosen.options);
  for (int step = 0; step < 3; ++step) {
    const Gradients gradients = by_factor.gradients(step);
    one.step(gradients, 0.01, clip_factor(global_norm(gradients), 0.01));
    Gradients clipped = by_clipped.gradients(step);
    REQUIRE(clip_by_global_norm(clipped, 0.01) > 0.02);
    other.step(clipped, 0.01);
  }
  const NamedTensors state = one.state(), expected = other.state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    CHECK(error(state[i].second, expected[i].second.to(DType::float64)) <= tolerance(dtype));
  }
  for (const auto& [name, parameter] : by_factor.parameters) {
    CHECK(error(parameter, by_clipped.parameters[name].to(DType::float64)) <= tolerance(dtype));
  }
}

TEST_CASE("A restored optimiser continues bit for bit") {
  const Recipe& chosen = GENERATE(from_range(cases));
  CAPTURE(chosen.name);
  Walk whole(DType::float32), stopped(DType::float32), resumed(DType::float32);
  Optimizer first(whole.parameters, chosen.options), second(stopped.parameters, chosen.options);
  for (int step = 0; step < 10; ++step) first.step(whole.gradients(step), Walk::lr(step));

  for (int step = 0; step < 4; ++step) second.step(stopped.gradients(step), Walk::lr(step));
  Optimizer third(resumed.parameters, chosen.options);
  resumed.parameters.load({stopped.parameters.begin(), stopped.parameters.end()}, "model");
  third.load_state(second.state(), "optimiser");
  CHECK(third.steps() == 4);
  for (int step = 4; step < 10; ++step) third.step(resumed.gradients(step), Walk::lr(step));

  for (const auto& [name, parameter] : whole.parameters) {
    CHECK(resumed.parameters[name].to_vector() == parameter.to_vector());
  }
}

TEST_CASE("The optimiser's state is named after the parameters, and loading it is strict") {
  Walk walk(DType::float32);
  Optimizer adam(walk.parameters, {}), sgd(walk.parameters, {.method = OptimizerOptions::Method::sgd, .momentum = 0.9});
  std::vector<std::string> names;
  for (const auto& [name, value] : adam.state()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"p.m", "p.v", "q.m", "q.v", "steps"});
  CHECK(message([&] {
          sgd.load_state({{"p.b", zeros({5, 3})}, {"q.m", zeros({4})}, {"steps", zeros({})}}, "state");
        }) ==
        "state: its tensors do not match; was the model or the optimiser configured differently?\n"
        "  missing: q.b (4)\n"
        "  extra: q.m (4)");
}

TEST_CASE("Optimizer::step names parameters without a gradient, and changes nothing") {
  Walk walk(DType::float32);
  Optimizer optimizer(walk.parameters, {});
  const auto before = walk.parameters["p"].to_vector();
  Gradients partial;
  const std::string remedy = "; MissingGradient::leave_unchanged skips those of unused branches";
  CHECK(message([&] { optimizer.step(partial, 0.1); }) ==
        "Optimizer: no gradient for p, q: the loss must depend on each parameter that is not frozen" + remedy);
  partial.set(walk.parameters["p"], ones({5, 3}));
  CHECK(message([&] { optimizer.step(partial, 0.1); }) ==
        "Optimizer: no gradient for q: the loss must depend on each parameter that is not frozen" + remedy);
  CHECK(walk.parameters["p"].to_vector() == before);
  CHECK(optimizer.steps() == 0);
}

TEST_CASE("Optimizer::step names parameters created after the optimiser, and changes nothing") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Tensor early = scope.parameter("early", {2}, Init::ones());
  parameters.freeze("early");
  Optimizer optimizer(parameters, {}), other(parameters, {});
  Optimizer moved = std::move(other);
  const Tensor late = (scope / "late").parameter("weight", {2}, Init::ones());
  const Tensor last = (scope / "late").parameter("bias", {2}, Init::ones());
  Gradients gradients;
  gradients.set(late, ones({2}));
  gradients.set(last, ones({2}));
  const std::string expected =
      "Optimizer: parameters made or unfrozen after the Optimizer would not be trained: late.weight, late.bias; make "
      "the Optimizer after them";
  CHECK(message([&] { optimizer.step(gradients, 0.1); }) == expected);
  CHECK(message([&] { moved.step(gradients, 0.1); }) == expected);
  CHECK(late.to_vector() == std::vector<double>{1, 1});
  CHECK(optimizer.steps() == 0);
}

TEST_CASE("Optimizer rejects an empty parameter store") {
  Parameters parameters;
  CHECK(message([&] { Optimizer(parameters, {}); }) ==
        "Optimizer: the parameter store is empty; make the layers before the optimiser");
}

TEST_CASE("An optimiser outlives its moved store, and still notices later parameters") {
  auto first = std::make_unique<Parameters>();
  Scope(*first, 1).parameter("a", {1}, Init::ones());
  Optimizer optimizer(*first, {});
  Parameters second = std::move(*first);  // NOLINT(performance-move-const-arg): moving is copying
  first.reset();
  Gradients gradients;
  gradients.set(second["a"], ones({1}));
  optimizer.step(gradients, 0.1);
  Scope(second, 1).parameter("b", {1}, Init::ones());
  CHECK(message([&] {
          optimizer.step(gradients, 0.1);
        }).starts_with("Optimizer: parameters made or unfrozen after the Optimizer would not be trained: b;"));
}

TEST_CASE("Two optimisers can train disjoint parameters from one set of gradients") {
  Parameters first, second;
  const Tensor a = Scope(first, 1).parameter("a", {1}, Init::ones());
  const Tensor b = Scope(second, 1).parameter("b", {1}, Init::ones());
  Optimizer of_a(first, {.method = OptimizerOptions::Method::sgd});
  Optimizer of_b(second, {.method = OptimizerOptions::Method::sgd});
  const Recording recording;
  const Gradients gradients = backward(sum(a * b));
  of_a.step(gradients, 0.5);
  CHECK(a.item() == 0.5);
  CHECK(b.item() == 1);
  of_b.step(gradients, 0.25);
  CHECK(a.item() == 0.5);
  CHECK(b.item() == 0.75);
}

TEST_CASE("Optimizer::step rejects invalid learning rates and gradient factors, and changes nothing") {
  Walk walk(DType::float32);
  Optimizer optimizer(walk.parameters, {});
  const auto before = walk.parameters["p"].to_vector();
  for (const auto& [lr, shown] : {std::pair(-0.1, "-0.1"), {std::nan(""), "nan"}, {INFINITY, "inf"}}) {
    CHECK(message([&, rate = lr] { optimizer.step(walk.gradients(0), rate); }) ==
          fmt::format("Optimizer: expected a finite learning rate of at least 0, got {}", shown));
  }
  CHECK(message([&] { optimizer.step(walk.gradients(0), 0.1, std::nan("")); }) ==
        "Optimizer: expected a finite gradient_factor, got nan");
  CHECK(message([&] { optimizer.step(walk.gradients(0), 0.1, -1e300); }) ==
        "Optimizer: expected a finite gradient_factor, got -1e+300");
  CHECK(walk.parameters["p"].to_vector() == before);
  CHECK(optimizer.steps() == 0);
  optimizer.step(walk.gradients(0), 0);  // the end of a schedule
  CHECK(walk.parameters["p"].to_vector() == before);
}

TEST_CASE("Optimizer::step names a parameter whose gradient is not finite, and changes nothing") {
  const auto method = GENERATE(OptimizerOptions::Method::sgd, OptimizerOptions::Method::adamw);
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Tensor a = scope.parameter("a", {3}, Init::ones());
  const Tensor b = (scope / "layer").parameter("weight", {300, 200}, Init::ones());
  Optimizer optimizer(parameters, {.method = method});
  Gradients gradients;
  gradients.set(a, ones({3}));
  Tensor of_b = ones({300, 200});
  gradients.set(b, of_b);
  CHECK(std::isfinite(global_norm(gradients)));  // this result is outdated once the gradient is written
  const auto refused = [&](double bad) {
    of_b.mutable_data<float>()[59998] = static_cast<float>(bad);
    return message([&] { optimizer.step(gradients, 0.1); });
  };
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
    CHECK(refused(bad) ==
          "Optimizer: the gradient of parameter 'layer.weight' of shape (300, 200) is not finite; nothing was changed. "
          "Open a FiniteCheck before the forward pass to see the operation");
  }
  CHECK(a.to_vector() == std::vector<double>(3, 1));
  CHECK(b.to_vector() == std::vector<double>(60000, 1));
  CHECK(optimizer.steps() == 0);
  for (const auto& [name, moment] : optimizer.state()) CHECK(max(square(moment)).item() == 0);
  CHECK(refused(3e38) == "no error");
  CHECK(optimizer.steps() == 1);
}

TEST_CASE("Optimizer rejects options out of range") {
  Walk walk(DType::float32);
  const auto refusal = [&](const OptimizerOptions& options) {
    return message([&] { Optimizer(walk.parameters, options); });
  };
  const double nan = std::nan("");
  CHECK(refusal({.method = OptimizerOptions::Method::sgd, .momentum = 1}) ==
        "Optimizer: momentum must lie in [0, 1), got 1");
  CHECK(refusal({.method = OptimizerOptions::Method::sgd, .momentum = nan}) ==
        "Optimizer: momentum must lie in [0, 1), got nan");
  CHECK(refusal({.beta1 = -0.1}) == "Optimizer: beta1 must lie in [0, 1), got -0.1");
  CHECK(refusal({.beta2 = 1}) == "Optimizer: beta2 must lie in [0, 1), got 1");
  CHECK(refusal({.eps = 0}) == "Optimizer: eps must be finite and above 0, got 0");
  CHECK(refusal({.eps = INFINITY}) == "Optimizer: eps must be finite and above 0, got inf");
  CHECK(refusal({.weight_decay = -1}) == "Optimizer: weight_decay must be finite and at least 0, got -1");
  CHECK(refusal({.weight_decay = nan}) == "Optimizer: weight_decay must be finite and at least 0, got nan");
  CHECK(refusal({.method = OptimizerOptions::Method::sgd, .nesterov = true}) ==
        "Optimizer: nesterov needs sgd with a momentum above 0");
  CHECK(refusal({.method = OptimizerOptions::Method::sgd, .beta1 = 0, .beta2 = 0}) == "no error");
  using Method = OptimizerOptions::Method;
  CHECK(refusal({.method = Method::muon, .momentum = 0.9}) ==
        "Optimizer: momentum and nesterov are settings of sgd; muon has muon.momentum");
  CHECK(refusal({.momentum = 0.9}) == "Optimizer: momentum and nesterov are settings of sgd; adam has beta1");
  CHECK(refusal({.method = Method::lion, .beta2 = 0.98}) ==
        "Optimizer: beta1 and beta2 are settings of adam and adamw; lion has lion.beta1 and lion.beta2");
  CHECK(refusal({.method = Method::lion, .amsgrad = true}) ==
        "Optimizer: amsgrad is a setting of adam and adamw, got lion");
  CHECK(refusal({.method = Method::adagrad, .momentum = 0.9}) ==
        "Optimizer: momentum and nesterov are settings of sgd; adagrad has no such setting");
  CHECK(refusal({.method = Method::adagrad, .beta1 = 0.8}) ==
        "Optimizer: beta1 and beta2 are settings of adam and adamw; adagrad has no such setting");
  CHECK(refusal({.method = Method::rmsprop, .rmsprop = {.alpha = 1}}) ==
        "Optimizer: rmsprop.alpha must lie in [0, 1), got 1");
  Parameters matrices;  // muon gives none of these to adamw
  Scope(matrices, 1).parameter("weight", {2, 3}, Init::ones());
  const auto of_matrices = [&](const OptimizerOptions& options) {
    return message([&] { Optimizer(matrices, options); });
  };
  CHECK(of_matrices({.method = Method::muon, .beta1 = 1.5}) == "Optimizer: beta1 must lie in [0, 1), got 1.5");
  CHECK(of_matrices({.method = Method::muon, .beta2 = 2}) == "Optimizer: beta2 must lie in [0, 1), got 2");
  CHECK(of_matrices({.method = Method::muon, .eps = -1}) == "Optimizer: eps must be finite and above 0, got -1");
  CHECK(refusal({.method = Method::muon, .muon = {.iterations = 0}}) ==
        "Optimizer: muon.iterations must be at least 1, got 0");
}

TEST_CASE("An optimiser keeps frozen parameters and their moments until they are unfrozen") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Tensor a = (scope / "a").parameter("weight", {2}, Init::ones());
  const Tensor b = (scope / "b").parameter("weight", {2}, Init::ones());
  Optimizer optimizer(parameters, {.method = OptimizerOptions::Method::sgd, .momentum = 0.5});
  Gradients gradients;
  gradients.set(b, ones({2}));
  parameters.freeze("a");
  optimizer.step(gradients, 0.5);
  CHECK(a.to_vector() == std::vector<double>{1, 1});
  CHECK(b.to_vector() == std::vector<double>{0.5, 0.5});
  CHECK(optimizer.state()[0].second.to_vector() == std::vector<double>{0, 0});
  parameters.unfreeze("a");
  CHECK(message([&] { optimizer.step(gradients, 0.5); }).starts_with("Optimizer: no gradient for a.weight: "));
  gradients.set(a, ones({2}));
  optimizer.step(gradients, 0.5);
  CHECK(a.to_vector() == std::vector<double>{0.5, 0.5});

  parameters.freeze("b");
  Optimizer of_a(parameters, {});
  CHECK(of_a.state().size() == 3);  // a.weight.m, a.weight.v, steps
  parameters.unfreeze("b");
  CHECK(message([&] { of_a.step(gradients, 0.5); }) ==
        "Optimizer: parameters made or unfrozen after the Optimizer would not be trained: b.weight; make the Optimizer "
        "after them");
}

TEST_CASE("Parameter groups have their own rate and decay, and decay_matrices_only spares vectors") {
  const auto method = GENERATE(OptimizerOptions::Method::sgd, OptimizerOptions::Method::adamw);
  Parameters parameters;
  const Scope scope(parameters, 1);
  for (const std::string layer : {"a", "b", "c"}) {
    (scope / layer).parameter("weight", {2, 1}, Init::ones());
    (scope / layer).parameter("bias", {2}, Init::ones());
  }
  Optimizer optimizer(parameters, {.method = method,
                                   .weight_decay = 0.5,
                                   .decay_matrices_only = true,
                                   .groups = {{.parameters = {"b.weight"}, .rate = 0.1},
                                              {.parameters = {"b", "c.bias"}, .weight_decay = 0.25},
                                              {.parameters = {"c"}, .rate = 0}}});
  Gradients none;
  for (const auto& [name, parameter] : parameters) none.set(parameter, zeros(parameter.shape()));
  optimizer.step(none, 0.2);
  const auto left = [&](const char* name) { return parameters[name].to_vector()[0]; };
  CHECK(left("a.weight") == Approx(1 - 0.2 * 0.5));
  CHECK(left("a.bias") == 1);
  CHECK(left("b.weight") == Approx(1 - 0.02 * 0.5));
  CHECK(left("b.bias") == Approx(1 - 0.2 * 0.25));
  CHECK(left("c.weight") == 1);
  CHECK(left("c.bias") == Approx(1 - 0.2 * 0.25));
  CHECK(message([&] {
          Optimizer(parameters, {.groups = {{.parameters = {"d"}}}});
        }).starts_with("Optimizer: no parameter of a group is named 'd' or begins with 'd.'"));
  CHECK(message([&] { Optimizer(parameters, {.groups = {{.parameters = {"a"}, .rate = -1}}}); }) ==
        "Optimizer: a group's rate must be finite and at least 0, got -1");
  CHECK(message([&] { Optimizer(parameters, {.method = static_cast<OptimizerOptions::Method>(99)}); }) ==
        "Optimizer: 99 is not a method");
}

TEST_CASE("An optimiser can leave parameters without a gradient unchanged, as PyTorch does") {
  // torch.optim.AdamW(lr=0.1, weight_decay=0.1) on p = 1 with grad 1, 1, 1 and q = 1 with grad None, 1, None
  const OptimizerOptions options{.method = OptimizerOptions::Method::adamw,
                                 .weight_decay = 0.1,
                                 .missing_gradient = OptimizerOptions::MissingGradient::leave_unchanged};
  Parameters parameters;
  const Scope scope(parameters, 1, DType::float64);
  const Tensor p = scope.parameter("p", {1}, Init::ones()), q = scope.parameter("q", {1}, Init::ones());
  const auto step = [&](Optimizer& optimizer, bool with_q) {
    Gradients gradients;
    gradients.set(p, ones({1}, DType::float64));
    if (with_q) gradients.set(q, ones({1}, DType::float64));
    optimizer.step(gradients, 0.1);
  };
  Optimizer optimizer(parameters, options);
  step(optimizer, false);
  CHECK(q.item() == 1);
  Optimizer resumed(parameters, options);
  resumed.load_state(optimizer.state(), "state");
  step(resumed, true);
  CHECK(q.item() == Approx(0.99 - 0.1).epsilon(1e-7));  // its first step: the moments' corrections are those of t = 1
  step(resumed, false);
  CHECK(q.item() == Approx(0.99 - 0.1).epsilon(1e-7));
  CHECK(resumed.steps() == 3);
  CHECK(message([&] { resumed.step({}, 0.1); }) ==
        "Optimizer: no gradient for p, q: the loss must depend on each parameter that is not frozen");
}

TEST_CASE("A group has a method of its own") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  (scope / "hidden").parameter("weight", {3, 2}, Init::normal(1));
  (scope / "words").parameter("weight", {3, 2}, Init::normal(1));
  const Optimizer optimizer(parameters,
                            {.method = OptimizerOptions::Method::muon,
                             .groups = {{.parameters = {"words"}, .method = OptimizerOptions::Method::adamw}}});
  std::vector<std::string> names;
  for (const auto& [name, value] : optimizer.state()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"hidden.weight.b", "words.weight.m", "words.weight.v", "steps"});
}
