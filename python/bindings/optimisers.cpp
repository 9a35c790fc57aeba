#include "bindings/bindings.h"

#include <heed/optim/clip.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/schedule.h>
#include <heed/optim/weight_average.h>

namespace heed::python {
namespace {

template <class E>
E value_of(const char* where, const std::string& name) {
  if (const auto value = value_named<E>(name)) return *value;
  fail("{}: expected one of {}, got '{}'", where, fmt::join(names_of<E>(), ", "), name);
}

// An optimiser that knows its learning rate.
struct RatedOptimizer {
  Optimizer optimizer;
  std::string method;
  double lr;
};

using Missing = OptimizerOptions::MissingGradient;

OptimizerOptions::Group group_of(nb::handle given) {
  if (!nb::isinstance<nb::dict>(given)) fail("Optimizer: expected a group as a dict with 'parameters'");
  OptimizerOptions::Group group{{}};
  for (const auto [key, value] : nb::borrow<nb::dict>(given)) {
    const std::string name = nb::cast<std::string>(nb::str(key));
    if (name == "parameters") {
      group.parameters = nb::cast<std::vector<std::string>>(value);
    } else if (name == "rate") {
      group.rate = nb::cast<double>(value);
    } else if (name == "weight_decay") {
      group.weight_decay = nb::cast<double>(value);
    } else {
      fail("Optimizer: a group has parameters, rate and weight_decay, got '{}'", name);
    }
  }
  return group;
}

nb::dict dict_of(const NamedTensors& tensors) {
  nb::dict all;
  for (const auto& [name, value] : tensors) all[nb::str(name.c_str())] = nb::cast(value.clone());
  return all;
}

NamedTensors tensors_of(const nb::dict& given) {
  NamedTensors all;
  for (const auto [name, value] : given)
    all.emplace_back(nb::cast<std::string>(nb::str(name)), nb::cast<Tensor>(value));
  return all;
}

}  // namespace

void bind_optimisers(nb::module_& m) {
  nb::class_<RatedOptimizer>(
      m, "Optimizer",
      "Updates parameters in place from their gradients, and keeps the moments.\n\n    optimizer = "
      "heedml.Optimizer(parameters, method='adamw', lr=3e-4, weight_decay=0.1)\n    "
      "optimizer.step(gradients)\n\nMethods: sgd (with momentum), adam, adamw, with the formulas of torch.optim.")
      .def(
          "__init__",
          [](RatedOptimizer* self, const Parameters& parameters, const std::string& method, double lr, double momentum,
             bool nesterov, double beta1, double beta2, double eps, double weight_decay, bool decay_matrices_only,
             const std::string& missing_gradient, nb::sequence groups) {
            if (missing_gradient != "error" && missing_gradient != "leave_unchanged")
              fail("Optimizer: missing_gradient must be 'error' or 'leave_unchanged', got '{}'", missing_gradient);
            OptimizerOptions options{
                .method = value_of<OptimizerOptions::Method>("Optimizer: method", method),
                .momentum = momentum,
                .nesterov = nesterov,
                .beta1 = beta1,
                .beta2 = beta2,
                .eps = eps,
                .weight_decay = weight_decay,
                .decay_matrices_only = decay_matrices_only,
                .missing_gradient = missing_gradient == "error" ? Missing::error : Missing::leave_unchanged};
            for (nb::handle group : groups) options.groups.push_back(group_of(group));
            new (self) RatedOptimizer{Optimizer(parameters, std::move(options)), method, lr};
          },
          "parameters"_a, "method"_a = "adam", nb::kw_only(), "lr"_a = 1e-3, "momentum"_a = 0.0, "nesterov"_a = false,
          "beta1"_a = 0.9, "beta2"_a = 0.999, "eps"_a = 1e-8, "weight_decay"_a = 0.0, "decay_matrices_only"_a = false,
          "missing_gradient"_a = "error", "groups"_a = nb::tuple(),
          nb::sig("def __init__(self, parameters: Parameters, method: str = 'adam', *, lr: float = 1e-3, momentum: "
                  "float = 0, nesterov: bool = False, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, "
                  "weight_decay: float = 0, decay_matrices_only: bool = False, missing_gradient: str = 'error', "
                  "groups: collections.abc.Sequence[dict[str, typing.Any]] = ()) -> None"))
      .def(
          "step",
          [](RatedOptimizer& o, const Gradients& gradients, std::optional<double> lr, double factor) {
            o.optimizer.step(gradients, lr.value_or(o.lr), factor);
          },
          "gradients"_a, "lr"_a = nb::none(), "gradient_factor"_a = 1.0, Unlocked(),
          "Updates every parameter that is not frozen, with the learning rate `lr` or else the optimiser's.")
      .def_rw("lr", &RatedOptimizer::lr, "The learning rate of a step without one.")
      .def_prop_ro(
          "steps", [](const RatedOptimizer& o) { return o.optimizer.steps(); }, "The number of updates so far.")
      .def(
          "state", [](const RatedOptimizer& o) { return dict_of(o.optimizer.state()); },
          nb::sig("def state(self) -> dict[str, Tensor]"), "Returns a copy of the moments and of the number of steps.")
      .def(
          "load_state",
          [](RatedOptimizer& o, const nb::dict& state, const std::string& source) {
            o.optimizer.load_state(tensors_of(state), source);
          },
          "state"_a, "source"_a = "the dict",
          nb::sig("def load_state(self, state: dict[str, Tensor], source: str = 'the dict') -> None"),
          "Restores a state().")
      .def("__repr__", [](const RatedOptimizer& o) {
        return fmt::format("heedml.Optimizer(method='{}', lr={}, steps={})", o.method, o.lr, o.optimizer.steps());
      });
  nb::class_<Schedule>(
      m, "Schedule",
      "The learning rate of each step: constant, linear or cosine, after a warm-up.\n\n    schedule = "
      "heedml.Schedule('cosine', lr=1e-3, warmup=100, steps=2000)\n    optimizer.step(gradients, lr=schedule(step))")
      .def(
          "__init__",
          [](Schedule* self, const std::string& kind, double lr, int warmup, int steps, double least) {
            new (self) Schedule{value_of<Schedule::Kind>("Schedule: kind", kind), lr, warmup, steps, least};
          },
          "kind"_a = "constant", nb::kw_only(), "lr"_a = 1e-3, "warmup"_a = 0, "steps"_a = 0, "least"_a = 0.0)
      .def("__call__", &learning_rate, "step"_a, "Returns the learning rate of a step, from 0.")
      .def("__repr__", [](const Schedule& s) {
        return fmt::format("heedml.Schedule('{}', lr={}, warmup={}, steps={}, least={})", name_of(s.kind), s.lr,
                           s.warmup, s.steps, s.least);
      });
  struct Shown {
    nb::object average;  // kept alive
    std::unique_ptr<WeightAverage::Shown> open;
  };
  nb::class_<Shown>(m, "ShownAverage", "Shows a WeightAverage while it is open.")
      .def(
          "__enter__",
          [](nb::handle self) {
            Shown& shown = nb::cast<Shown&>(self);
            if (shown.open) fail("this object is open already");
            shown.open = std::make_unique<WeightAverage::Shown>(nb::cast<WeightAverage&>(shown.average));
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> ShownAverage"))
      .def(
          "__exit__", [](Shown& self, nb::args) { self.open.reset(); },
          nb::sig("def __exit__(self, *error: object) -> None"));
  nb::class_<WeightAverage>(m, "WeightAverage",
                            "The mean of a model's weights over steps (Izmailov et al. 2018).\n\n    average = "
                            "heedml.WeightAverage(parameters)\n    average.add()             # after each step\n    "
                            "with average.shown():     # the parameters hold the mean")
      .def(nb::init<const Parameters&>(), "parameters"_a)
      .def("add", &WeightAverage::add, "Adds the current weights.")
      .def("restart", &WeightAverage::restart, "Discards all weights that were added.")
      .def_prop_ro("steps", &WeightAverage::steps, "The number of add() calls.")
      .def(
          "shown",
          [](nb::handle self) {
            return new Shown{nb::borrow(self), nullptr};
          },
          nb::sig("def shown(self) -> ShownAverage"), "Returns a context in which the parameters hold the mean.");
  m.def("global_norm", &global_norm, "gradients"_a, Unlocked(),
        "Returns the Euclidean norm of all gradients together.");
  m.def("clip_by_global_norm", &clip_by_global_norm, "gradients"_a, "max_norm"_a, Unlocked(),
        "Scales all gradients to a norm of at most max_norm. Returns the norm before.");
  m.def("clip_factor", &clip_factor, "norm"_a, "max_norm"_a,
        "Returns the factor for Optimizer.step() that clips gradients of this norm.");
}

}  // namespace heed::python
