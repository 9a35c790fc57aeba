#include "bindings/config.h"

#include <heed/optim/clip.h>
#include <heed/optim/lbfgs.h>
#include <heed/optim/schedule.h>
#include <heed/optim/weight_average.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nanobind/stl/tuple.h>
#include <variant>

namespace heed::python {
namespace {

using Missing = OptimizerOptions::MissingGradient;

// The settings of a method by name.
using Field = std::variant<double*, int*, bool*>;
std::vector<std::pair<std::string, Field>> settings_of(OptimizerOptions& o) {
  using Method = OptimizerOptions::Method;
  std::vector<std::pair<std::string, Field>> all{{"weight_decay", &o.weight_decay},
                                                 {"decay_matrices_only", &o.decay_matrices_only}};
  const auto add = [&](std::initializer_list<std::pair<std::string, Field>> more) {
    all.insert(all.begin(), more.begin(), more.end());
  };
  const Method method = o.method;
  if (method == Method::sgd) add({{"momentum", &o.momentum}, {"nesterov", &o.nesterov}});
  if (method == Method::rmsprop)
    add({{"alpha", &o.rmsprop.alpha}, {"momentum", &o.rmsprop.momentum}, {"centered", &o.rmsprop.centered}});
  if (method == Method::lion) add({{"beta1", &o.lion.beta1}, {"beta2", &o.lion.beta2}});
  if (method == Method::muon)
    add({{"momentum", &o.muon.momentum},
         {"nesterov", &o.muon.nesterov},
         {"match_adamw", &o.muon.match_adamw},
         {"iterations", &o.muon.iterations}});
  if (method == Method::adam || method == Method::adamw || method == Method::muon)
    add({{"beta1", &o.beta1}, {"beta2", &o.beta2}, {"amsgrad", &o.amsgrad}});
  if (method != Method::sgd && method != Method::lion) add({{"eps", &o.eps}});
  return all;
}

OptimizerOptions::Group group_of(nb::handle given) {
  const auto [parameters, rate, weight_decay, method] =
      nb::cast<std::tuple<std::vector<std::string>, double, std::optional<double>, std::optional<std::string>>>(
          nb::module_::import_("heedml.convert").attr("group")(given));
  OptimizerOptions::Group group{.parameters = parameters, .rate = rate, .weight_decay = weight_decay};
  if (method) group.method = value_of<OptimizerOptions::Method>("Optimizer: method", *method);
  return group;
}

OptimizerOptions options_of(const std::string& method, const nb::kwargs& given) {
  OptimizerOptions options{.method = value_of<OptimizerOptions::Method>("Optimizer: method", method)};
  const auto settings = settings_of(options);
  for (const auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    const auto setting = std::ranges::find(settings, name, [](const auto& one) { return one.first; });
    if (name == "missing_gradient") {
      const std::string missing = nb::cast<std::string>(nb::str(value));
      if (missing != "error" && missing != "leave_unchanged")
        fail("Optimizer: missing_gradient must be 'error' or 'leave_unchanged', got '{}'", missing);
      options.missing_gradient = missing == "error" ? Missing::error : Missing::leave_unchanged;
    } else if (name == "groups") {
      for (nb::handle group : nb::cast<nb::sequence>(value)) options.groups.push_back(group_of(group));
    } else if (setting != settings.end()) {
      const double number = nb::cast<double>(value);
      std::visit([&]<class T>(T* field) { *field = static_cast<T>(number); }, setting->second);
    } else {
      std::vector<std::string> names{"lr", "missing_gradient", "groups"};
      for (const auto& one : settings) names.push_back(one.first);
      fail("Optimizer: '{}' is no setting of {}{}; it has {}", name, method, did_you_mean(name, names),
           fmt::join(names, ", "));
    }
  }
  return options;
}

// Binds state() and load_state() of the object that of(class) is.
template <class C>
void bind_state(nb::class_<C>& c, const char* what, auto of) {
  c.def(
      "state",
      [of](C& self) {
        NamedTensors state = of(self).state();
        for (auto& [name, value] : state) value = value.clone();
        return dict_of(state);
      },
      what);
  c.def(
      "load_state",
      [of](C& self, const TensorDict& state, const std::string& source) {
        of(self).load_state(named_tensors("load_state", state), source);
      },
      "state"_a, "source"_a = "the dict", "Restores a state().");
}

}  // namespace

void bind_optimisers(nb::module_& m) {
  nb::class_<RatedOptimizer> optimizer(m, "Optimizer");
  optimizer
      .def(
          "__init__",
          [](RatedOptimizer* self, const Parameters& parameters, const std::string& method, double lr,
             const nb::kwargs& given) {
            if (!(lr >= 0 && std::isfinite(lr))) fail("Optimizer: lr must be finite and at least 0, got {}", lr);
            new (self) RatedOptimizer{Optimizer(parameters, options_of(method, given)), method, lr};
          },
          "parameters"_a, "method"_a = "adam", "lr"_a = 1e-3, "settings"_a,
          nb::sig("def __init__(self, parameters: Parameters, method: str = 'adam', lr: float = 1e-3, *, "
                  "missing_gradient: str = 'error', groups: collections.abc.Sequence[dict[str, typing.Any]] = (), "
                  "**settings: float) -> None"),
          "Keeps moments for all parameters that are not frozen. `settings` are those of the method, such as beta1 "
          "and\nweight_decay. A group is a dict of 'parameters' (names or scopes), and perhaps 'rate', 'weight_decay' "
          "and 'method'.")
      .def(
          "step",
          [](RatedOptimizer& o, const Gradients& gradients, std::optional<double> lr, double factor) {
            const GradientsInUse use(gradients, GradientsInUse::Access::read);
            const double rate = lr.value_or(o.lr);
            const nb::gil_scoped_release release;
            o.optimizer.step(gradients, rate, factor);
          },
          "gradients"_a, "lr"_a = nb::none(), "gradient_factor"_a = 1.0,
          "Updates every parameter that is not frozen, with the learning rate `lr` or else the optimiser's.")
      .def_rw("lr", &RatedOptimizer::lr, "The learning rate of a step without one.")
      .def_prop_ro(
          "steps", [](const RatedOptimizer& o) { return o.optimizer.steps(); }, "The number of updates so far.")
      .def("__repr__", [](const RatedOptimizer& o) {
        return fmt::format("heedml.Optimizer(method='{}', lr={}, steps={})", o.method, o.lr, o.optimizer.steps());
      });
  bind_state(optimizer, "Returns a copy of the moments and of the number of steps.",
             [](RatedOptimizer& o) -> Optimizer& { return o.optimizer; });
  nb::class_<Schedule>(m, "Schedule")
      .def(
          "__init__",
          [](Schedule* self, const std::string& kind, double lr, int warmup, int steps, double least, int step_size,
             double gamma, int decay_steps) {
            Schedule s{value_of<Schedule::Kind>("Schedule: kind", kind)};
            s.lr = lr, s.warmup = warmup, s.steps = steps, s.least = least;
            s.step_size = step_size, s.gamma = gamma, s.decay_steps = decay_steps;
            (void)learning_rate(s, 0);  // checks them
            new (self) Schedule(s);
          },
          "kind"_a = "constant", nb::kw_only(), "lr"_a = 1e-3, "warmup"_a = 0, "steps"_a = 0, "least"_a = 0.0,
          "step_size"_a = 0, "gamma"_a = 0.1, "decay_steps"_a = 0)
      .def("__call__", &learning_rate, "step"_a, "Returns the learning rate of a step, from 0.")
      .def("__repr__", [](const Schedule& s) {
        return fmt::format("heedml.Schedule('{}', lr={}, warmup={}, steps={})", name_of(s.kind), s.lr, s.warmup,
                           s.steps);
      });
  struct Shown {
    nb::object average;  // kept alive
    std::unique_ptr<WeightAverage::Shown> open;
  };
  bind_context<Shown>(
      m, "ShownAverage",
      [](Shown& shown) {
        if (shown.open) fail("this object is open already");
        shown.open = std::make_unique<WeightAverage::Shown>(nb::cast<WeightAverage&>(shown.average));
      },
      [](Shown& shown) { shown.open.reset(); });
  nb::class_<WeightAverage> average(m, "WeightAverage");
  average
      .def(
          "__init__",
          [](WeightAverage* self, const Parameters& parameters, double decay) {
            new (self) WeightAverage(parameters, {.decay = decay});
          },
          "parameters"_a, "decay"_a = 0.0, "Averages all weights, or with `decay` their exponential moving average.")
      .def("add", &WeightAverage::add, "Adds the current weights.")
      .def("restart", &WeightAverage::restart, "Discards all weights that were added.")
      .def_prop_ro("steps", &WeightAverage::steps, "The number of add() calls.")
      .def(
          "shown",
          [](nb::handle self) {
            return new Shown{nb::borrow(self), nullptr};
          },
          nb::sig("def shown(self) -> ShownAverage"), "Returns a context in which the parameters hold the mean.");
  const auto itself = [](auto& self) -> auto& { return self; };
  bind_state(average, "Returns a copy of the mean and of the number of steps.", itself);
  nb::class_<Lbfgs> lbfgs(m, "Lbfgs");
  lbfgs
      .def(
          "__init__",
          [](Lbfgs* self, const Parameters& parameters, double lr, int max_iterations, int history, bool line_search,
             int max_evaluations, double gradient_tolerance, double change_tolerance) {
            using Search = LbfgsOptions::LineSearch;
            new (self) Lbfgs(parameters, {line_search ? Search::strong_wolfe : Search::none, lr, max_iterations,
                                          max_evaluations, gradient_tolerance, change_tolerance, history});
          },
          "parameters"_a, nb::kw_only(), "lr"_a = 1.0, "max_iterations"_a = 20, "history"_a = 100,
          "line_search"_a = true, "max_evaluations"_a = 0, "gradient_tolerance"_a = 1e-7, "change_tolerance"_a = 1e-9)
      .def(
          "step",
          [](Lbfgs& l, const Later<"collections.abc.Callable[[], Tensor]">& loss) {
            return l.step([&] { return nb::cast<Tensor>(loss.given()); });
          },
          "loss"_a,
          "Takes up to `max_iterations` iterations, with a Recording for each call of `loss`. Returns the loss before.")
      .def_prop_ro("iterations", &Lbfgs::iterations, "Iterations so far.")
      .def_prop_ro("evaluations", &Lbfgs::evaluations, "Calls of the loss so far.")
      .def("__repr__", [](const Lbfgs& l) { return fmt::format("heedml.Lbfgs(iterations={})", l.iterations()); });
  bind_state(lbfgs, "Returns a copy of the history and of the numbers of iterations and evaluations.", itself);
  m.def(
      "global_norm",
      [](const Gradients& gradients) {
        const GradientsInUse use(gradients, GradientsInUse::Access::read);
        const nb::gil_scoped_release release;
        return global_norm(gradients);
      },
      "gradients"_a, "Returns the Euclidean norm of all gradients together.");
  m.def(
      "clip_by_global_norm",
      [](Gradients& gradients, double max_norm, const std::optional<Parameters>& parameters) {
        const GradientsInUse use(gradients, GradientsInUse::Access::change);
        const nb::gil_scoped_release release;
        return parameters ? clip_by_global_norm(gradients, max_norm, *parameters)
                          : clip_by_global_norm(gradients, max_norm);
      },
      "gradients"_a, "max_norm"_a, "parameters"_a = nb::none(),
      "Scales all gradients, or those of `parameters`, to a norm of at most max_norm. Returns the norm before.");
  m.def(
      "clip_by_value",
      [](Gradients& gradients, double limit) {
        const GradientsInUse use(gradients, GradientsInUse::Access::change);
        const nb::gil_scoped_release release;
        clip_by_value(gradients, limit);
      },
      "gradients"_a, "limit"_a, "Limits each element of all gradients to [-limit, limit].");
  m.def("clip_factor", &clip_factor, "norm"_a, "max_norm"_a,
        "Returns the factor for Optimizer.step() that clips gradients of this norm.");
}

}  // namespace heed::python
