#include "autograd/internal/derivatives.h"

#include "bindings/bindings.h"

#include <heed/autograd/checkpoint.h>
#include <heed/autograd/derivatives.h>
#include <heed/autograd/gradcheck/check.h>

#include <nanobind/stl/tuple.h>

namespace heed::python {

NamedTensors named_tensors(const char* where, nb::handle given) {
  if (!nb::isinstance<nb::dict>(given)) fail("{}: expected a dict of names and tensors", where);
  NamedTensors all;
  for (const auto [name, value] : nb::borrow<nb::dict>(given)) {
    if (!nb::isinstance<nb::str>(name)) fail("{}: expected a dict of names and tensors", where);
    all.emplace_back(nb::cast<std::string>(name), given_tensor(where, value));
  }
  return all;
}

TensorDict dict_of(const NamedTensors& tensors) {
  nb::dict all;
  for (const auto& [name, value] : tensors) all[nb::str(name.data(), name.size())] = nb::cast(value);
  return {all};
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
    nb::list copies;
    for (nb::handle argument : again) copies.append(copied(argument));
    const nb::object output = std::exchange(*is_first, false) ? f(*given) : f(*copies);
    if (nb::isinstance<AttentionResult>(output)) return nb::cast<const AttentionResult&>(output).output;
    return tensors_of("checkpoint", output).at(0);
  });
}

}  // namespace

void bind_derivatives(nb::module_& m) {
  using Along = Tensor (*)(const TensorFunction&, const Tensor&, const Tensor&);
  for (const auto& [name, f] : {std::pair("jvp", Along(&jvp)), {"vjp", &vjp}, {"hvp", &hvp}}) {
    m.def(("_" + std::string(name)).c_str(),
          [=](const nb::object& function, const Tensor& x, const Tensor& v) {
            return f(of_python(name, function), x, v);
          },
          "function"_a, "x"_a, "v"_a);
  }
  m.def(
      "_hvp_of",
      [](const nb::object& loss, const std::vector<Tensor>& parameters, const std::vector<Tensor>& v) {
        return hvp([&] { return tensors_of("hvp", loss()).at(0); }, parameters, v);
      },
      "function"_a, "parameters"_a, "v"_a);
  using Full = Tensor (*)(const TensorFunction&, const Tensor&);
  for (const auto& [name, f] : {std::pair("jacobian", Full(&jacobian)), {"hessian", &hessian}}) {
    m.def(("_" + std::string(name)).c_str(),
          [=](const nb::object& function, const Tensor& x) { return f(of_python(name, function), x); }, "function"_a,
          "x"_a);
  }
  m.def("checkpoint", &checkpointed, "function"_a, "arguments"_a,
        nb::sig("def checkpoint(function: collections.abc.Callable[..., Tensor | AttentionResult], *arguments: "
                "typing.Any) -> Tensor"),
        "Returns function(*arguments), of which the recording keeps only the inputs: backward() calls it again.\n\nIt "
        "trades a second call for memory. The function returns a tensor, or the result of a block, and the same both "
        "times: "
        "a Random among the arguments draws the same numbers again. A BatchNorm in it moves its running statistics in "
        "both.");
  m.def(
      "_grad", [](const Tensor& output, const std::vector<Tensor>& x) { return grad(output, x); }, Unlocked());
  m.def(
      "_value_and_grad",
      [](const nb::object& function, const std::vector<Tensor>& x) {
        const auto call = [&](const std::vector<Tensor>& leaves) {
          const nb::gil_scoped_acquire lock;
          return nb::cast<Tensor>(function(leaves));
        };
        const tape::ValueAndGradients found = tape::value_and_gradients(call, x);
        return std::pair(found.value, found.gradients);
      },
      Unlocked());
  m.def("_check_gradients", [](const nb::object& function, nb::handle inputs, double rtol, double atol, double step,
                               double scale_gradient) {
    const auto call = [&](const std::vector<Tensor>& values) {
      return tensors_of("check_gradients", function(*nb::tuple(nb::cast(values)))).at(0);
    };
    const CheckReport report =
        check_gradients(call, tensors_of("check_gradients", inputs), {rtol, atol, step, scale_gradient, 0});
    const GradientError& worst = report.worst;
    return std::tuple(report.passed, report.entries,
                      std::tuple(worst.where, worst.computed, worst.expected, worst.excess));
  });
}

}  // namespace heed::python
