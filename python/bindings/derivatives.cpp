#include "bindings/bindings.h"

#include <heed/autograd/checkpoint.h>
#include <heed/autograd/derivatives.h>
#include <heed/autograd/gradcheck/check.h>

namespace heed::python {

// The tensors that a Python function returned: one, or a sequence of them.
NamedTensors named_tensors(const char* where, const nb::dict& given) {
  NamedTensors all;
  for (const auto [name, value] : given) {
    if (!nb::isinstance<nb::str>(name)) fail("{}: expected a dict of names and tensors", where);
    all.emplace_back(nb::cast<std::string>(name), given_tensor(where, value));
  }
  return all;
}

nb::dict dict_of(const NamedTensors& tensors) {
  nb::dict all;
  for (const auto& [name, value] : tensors) all[nb::str(name.data(), name.size())] = nb::cast(value);
  return all;
}

std::vector<Tensor> tensors_of(const char* where, nb::handle given) {
  if (nb::isinstance<Tensor>(given)) return {nb::cast<Tensor>(given)};
  if (!nb::isinstance<nb::tuple>(given) && !nb::isinstance<nb::list>(given)) {
    fail("{}: expected a Tensor or a tuple of them, got {}", where,
         nb::cast<std::string>(given.type().attr("__name__")));
  }
  std::vector<Tensor> all;
  for (nb::handle one : given) {
    if (!one.is_none() && !nb::isinstance<Tensor>(one)) {
      fail("{}: expected a tuple of Tensors, which holds a {}", where,
           nb::cast<std::string>(one.type().attr("__name__")));
    }
    all.push_back(one.is_none() ? Tensor() : nb::cast<Tensor>(one));
  }
  return all;
}

namespace {

// Returns a function of Python that takes one tensor. It is called with Python's lock.
TensorFunction of_python(const char* where, const nb::object& function) {
  return [=](const Tensor& x) {
    const std::vector<Tensor> y = tensors_of(where, function(x));
    if (y.size() != 1 || !y[0].defined()) fail("{}: expected one Tensor from the function, got {}", where, y.size());
    return y[0];
  };
}

// Calls the function again in backward(), which runs without Python's lock. A Random among the arguments draws the same numbers then.
Tensor checkpointed(const nb::object& function, const nb::args& arguments) {
  const auto copied = [](nb::handle argument) {
    return nb::isinstance<Random>(argument) ? nb::cast(Random(nb::cast<const Random&>(argument)))
                                            : nb::borrow(argument);
  };
  nb::list before;
  for (nb::handle argument : arguments) before.append(copied(argument));
  const auto is_first = std::make_shared<bool>(true);
  return checkpoint([call = kept(std::tuple(function, arguments, before)), is_first, copied] {
    const nb::gil_scoped_acquire lock;
    const Call calls;
    const auto& [f, given, again] = *call;
    if (std::exchange(*is_first, false)) return tensors_of("checkpoint", f(*given)).at(0);
    nb::list copies;
    for (nb::handle argument : again) copies.append(copied(argument));
    return tensors_of("checkpoint", f(*copies)).at(0);
  });
}

}  // namespace

void bind_derivatives(nb::module_& m) {
  using Along = Tensor (*)(const TensorFunction&, const Tensor&, const Tensor&);
  const auto along = [&](const char* name, Along f, const char* doc) {
    const std::string sig = fmt::format(
        "def {}(function: collections.abc.Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor", name);
    m.def(
        name,
        [=](const nb::object& function, const Tensor& x, const Tensor& v) {
          return f(of_python(name, function), x, v);
        },
        "function"_a, "x"_a, "v"_a, nb::sig(sig.c_str()), doc);
  };
  along("jvp", &jvp, "Returns J v, the derivative of the function at x along v: v has the shape of x.");
  along("vjp", &vjp, "Returns v^T J: v has the shape of function(x), the result that of x.");
  along(
      "hvp", [](const TensorFunction& f, const Tensor& x, const Tensor& v) { return hvp(f, x, v); },
      "Returns H v, with H the second derivatives of a scalar function at x. It costs about four times the function.");
  const auto all = [&](const char* name, Tensor (*f)(const TensorFunction&, const Tensor&), const char* doc) {
    const std::string sig =
        fmt::format("def {}(function: collections.abc.Callable[[Tensor], Tensor], x: Tensor) -> Tensor", name);
    m.def(
        name, [=](const nb::object& function, const Tensor& x) { return f(of_python(name, function), x); },
        "function"_a, "x"_a, nb::sig(sig.c_str()), doc);
  };
  all("jacobian", &jacobian, "Returns all derivatives of a function at x: (shape of function(x)..., shape of x...).");
  all("hessian", &hessian, "Returns the second derivatives of a scalar function at x: (shape of x..., shape of x...).");
  m.def("checkpoint", &checkpointed, "function"_a, "arguments"_a,
        nb::sig("def checkpoint(function: collections.abc.Callable[..., Tensor], *arguments: typing.Any) -> Tensor"),
        "Returns function(*arguments), of which the recording keeps only the inputs: backward() calls it again.\n\n"
        "It trades a second call for memory. The function must give the same output twice: make a Random inside it.");
  m.def(
      "_grad", [](const Tensor& output, const std::vector<Tensor>& x) { return grad(output, x); }, Unlocked());
  nb::class_<GradientError>(m, "GradientError",
                            "The entry of a Jacobian with the largest error relative to its tolerance.")
      .def_ro("where", &GradientError::where)
      .def_ro("computed", &GradientError::computed)
      .def_ro("expected", &GradientError::expected)
      .def_ro("excess", &GradientError::excess);
  nb::class_<CheckReport>(m, "CheckReport", "The result of a gradient check.")
      .def_ro("passed", &CheckReport::passed)
      .def_ro("entries", &CheckReport::entries, "Jacobian entries compared.")
      .def_ro("worst", &CheckReport::worst)
      .def("__bool__", [](const CheckReport& r) { return r.passed; })
      .def("__repr__", [](const CheckReport& r) {
        return fmt::format("heedml.CheckReport(passed={}, entries={}, worst='{}': computed {}, expected {})",
                           r.passed ? "True" : "False", r.entries, r.worst.where, r.worst.computed, r.worst.expected);
      });
  m.def(
      "check_gradients",
      [](const nb::object& function, nb::handle inputs, double rtol, double atol, double step, double scale_gradient) {
        const auto call = [&](const std::vector<Tensor>& values) {
          return tensors_of("check_gradients", function(*nb::tuple(nb::cast(values)))).at(0);
        };
        return check_gradients(call, tensors_of("check_gradients", inputs), {rtol, atol, step, scale_gradient, 0});
      },
      "function"_a, "inputs"_a, "rtol"_a = 1e-7, "atol"_a = 1e-9, "step"_a = 4e-3, "scale_gradient"_a = 1.0,
      nb::sig("def check_gradients(function: collections.abc.Callable[..., Tensor], inputs: Tensor | "
              "collections.abc.Sequence[Tensor], rtol: float = 1e-7, atol: float = 1e-9, step: float = 4e-3, "
              "scale_gradient: float = 1.0) -> CheckReport"),
      "Compares the Jacobian of a function at float64 inputs with 8th-order central differences.");
}

}  // namespace heed::python
