#include "bindings/bindings.h"

#include <map>

namespace heed::python {
namespace {

// The number of functions that read gradients now; `changed` for one that changes them. Python's lock guards it.
std::map<const Gradients*, int> gradients_in_use;
constexpr int changed = 1 << 20;

Tensor variable_named(const Gradients& gradients, const std::string& name) {
  std::vector<std::string> names;
  Tensor found;
  for (const auto& [variable, gradient] : gradients) {
    names.push_back(variable.name());
    if (variable.name() != name) continue;
    if (found.defined()) fail("two variables are called '{}'; index the gradients by the variable", name);
    found = variable;
  }
  if (found.defined()) return found;
  fail("no gradient of a parameter '{}'{}", name, did_you_mean(name, names));
}

std::vector<std::pair<Tensor, Tensor>> pairs_of(const Gradients& g) {
  std::vector<std::pair<Tensor, Tensor>> all;
  for (const auto& [variable, gradient] : g) all.emplace_back(variable, gradient);
  return all;
}

template <class F>
Gradients of_each(Gradients g, F f) {
  for (auto [variable, gradient] : g) gradient = f(gradient);
  return g;
}
Gradients scaled(const Gradients& g, double factor) {
  return of_each(g, [&](const Tensor& x) { return x * factor; });
}
Gradients negated(const Gradients& g) { return scaled(g, -1); }
Gradients copied(const Gradients& g) {
  return of_each(g, [](const Tensor& x) { return x.clone(); });
}
Gradients divided(const Gradients& g, double divisor) {
  return of_each(g, [&](const Tensor& x) { return x / divisor; });
}

void check_unused(const Gradients& gradients) { (void)GradientsInUse(gradients, GradientsInUse::Access::change); }

}  // namespace

void bind_gradients(nb::module_& m) {
  nb::class_<Gradients> c(m, "Gradients");
  c.def(nb::init<>())
      .def(
          "__getitem__", [](const Gradients& g, const Tensor& variable) { return g[variable]; }, "variable"_a)
      .def(
          "__getitem__", [](const Gradients& g, const std::string& name) { return g[variable_named(g, name)]; },
          "name"_a)
      .def(
          "__setitem__",
          [](Gradients& g, const Tensor& variable, const Tensor& gradient) {
            check_unused(g);
            g.set(variable, gradient);
          },
          "variable"_a, "gradient"_a)
      .def("__contains__",
           [](const Gradients& g, nb::handle key) {
             if (nb::isinstance<Tensor>(key)) return g.contains(nb::cast<Tensor>(key));
             for (const auto& [variable, gradient] : g) {
               if (nb::isinstance<nb::str>(key) && variable.name() == nb::cast<std::string>(key)) return true;
             }
             return false;
           })
      .def("__len__", &Gradients::size)
      .def("items", &pairs_of, "Returns pairs of a variable and its gradient.")
      .def(
          "by_name",
          [](const Gradients& g) {
            nb::dict all;
            for (const auto& [variable, gradient] : g) all[nb::str(variable.name().c_str())] = nb::cast(gradient);
            if (nb::len(all) != g.size()) fail("by_name(): two variables have one name; items() gives each of them");
            return TensorDict{all};
          },
          "Returns the gradients by the names of their parameters.")
      .def(
          "__iadd__",
          [](nb::handle self, const Gradients& other) {
            Gradients& gradients = nb::cast<Gradients&>(self);
            check_unused(gradients);
            const GradientsInUse use(other, GradientsInUse::Access::read);
            gradients += other;
            return nb::borrow(self);
          },
          nb::sig("def __iadd__(self, other: Gradients, /) -> Gradients"))
      .def(
          "__add__", [](Gradients g, const Gradients& other) { return g += other; }, nb::is_operator())
      .def(
          "__radd__",
          [](const Gradients& g, nb::handle zero) -> nb::object {
            if (!nb::isinstance<nb::int_>(zero) || !zero.equal(nb::int_(0))) return nb::borrow(Py_NotImplemented);
            return nb::cast(copied(g));
          },
          nb::sig("def __radd__(self, zero: typing.Literal[0], /) -> Gradients"), "Starts sum() of several.")
      .def(
          "__sub__", [](const Gradients& g, const Gradients& other) { return negated(other) += g; }, nb::is_operator())
      .def("__neg__", &negated)
      .def(
          "__deepcopy__", [](const Gradients& g, nb::handle) { return copied(g); },
          nb::sig("def __deepcopy__(self, memo: object, /) -> Gradients"),
          "Copies the gradients; they belong to the same variables.")
      .def("__mul__", &scaled, nb::is_operator())
      .def("__rmul__", &scaled, nb::is_operator())
      .def("__truediv__", &divided, nb::is_operator())
      .def("__repr__", [](const Gradients& g) {
        return fmt::format("heedml.Gradients({})", counted(static_cast<std::int64_t>(g.size()), "variable"));
      });
  c.attr("__array_ufunc__") = nb::none();  // so that a number of NumPy asks the gradients
  bind_iterator(c, "Tensor", [](const Gradients& g) {
    std::vector<Tensor> variables;
    for (const auto& [variable, gradient] : g) variables.push_back(variable);
    return variables;
  });
}

GradientsInUse::GradientsInUse(const Gradients& gradients, Access access)
    : gradients_(&gradients), count_(access == Access::change ? changed : 1) {
  const auto found = gradients_in_use.find(&gradients);
  const int others = found == gradients_in_use.end() ? 0 : found->second;
  if (others >= changed || (access == Access::change && others > 0))
    fail("Gradients: another thread {} them now; give each thread its own", others >= changed ? "changes" : "uses");
  gradients_in_use[&gradients] += count_;
}

GradientsInUse::~GradientsInUse() {
  const auto found = gradients_in_use.find(gradients_);
  if ((found->second -= count_) == 0) gradients_in_use.erase(found);
}

}  // namespace heed::python
