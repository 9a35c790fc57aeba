#include "bindings/config.h"

#include <heed/autograd/ops.h>
#include <heed/nn/block.h>
#include <heed/nn/positions.h>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>
#include <numbers>
#include <ranges>

namespace heed::python {

Init init_of(const char* where, const InitialValue& value, Init otherwise) {
  const nb::handle given = value.given;
  if (!given.is_valid() || given.is_none()) return otherwise;
  if (nb::isinstance<Init>(given)) return nb::cast<Init>(given);
  if (is_scalar(given)) return Init::normal(nb::cast<double>(given));
  const std::string name = nb::cast<std::string>(nb::str(given));
  for (const auto& [known, init] : {std::pair("zeros", Init::zeros()),
                                    {"ones", Init::ones()},
                                    {"xavier", Init::xavier_uniform()},
                                    {"kaiming", Init::kaiming_uniform()},
                                    {"orthogonal", Init::orthogonal()}}) {
    if (name == known && nb::isinstance<nb::str>(given)) return init;
  }
  fail(
      "{}: expected the init 'zeros', 'ones', 'xavier', 'kaiming', 'orthogonal', a standard deviation or an Init, got "
      "{}",
      where, name);
}

bool is_result(const Tensor& x) { return x.tape_node().recording != 0 && Recorder::follows(x); }

Parameter Copies::operator()(const Parameter& x) {
  if (is_result(x)) {
    fail(
        "copy: the open Recording follows the layer's parameter {}, and a copy would lose its gradient; make another "
        "layer in heedml.Scope(tensors)",
        to_string(x.shape()));
  }
  Parameter& copy = parameters_[x.tape_node().node];
  if (!copy.defined()) {
    copy = Parameter(variable(x.detach().clone()));
    copy.set_name(x.name()), copy.set_frozen(x.is_frozen());
  }
  if (x.adapter && !copy.adapter) {
    copy.adapter = std::make_shared<Adapter>(*x.adapter);
    for (Tensor* const part : {&copy.adapter->A, &copy.adapter->B}) {
      if (part->defined()) *part = (*this)(Parameter(*part));
    }
  }
  return copy;
}

Parameters Copies::operator()(const Parameters& store) {
  for (const auto& [from, to] : stores_) {
    if (from.size() > 0 && from.begin() == store.begin()) return to;
  }
  Parameters copy;
  for (const auto& [name, x] : store) copy.add(name, (*this)(x));
  for (const auto& [name, x] : store.buffers()) copy.make_buffer(name);
  stores_.emplace_back(store, copy);
  return copy;
}

namespace {

// Returns the init of a parameter of this shape. The name 'xavier' stands for the last two axes.
Init init_for(const char* where, const Shape& shape, const InitialValue& given) {
  if (shape.rank() > 2 && nb::str(given.given).equal(nb::str("xavier"))) return Init::xavier(shape[-2], shape[-1]);
  return init_of(where, given, Init::zeros());
}

void assign_value(const Tensor& parameter, const Later<"Init | str | float | Tensor | ArrayLike">& value,
                  Random* random) {
  const nb::handle given = value.given;
  if (is_scalar(given) && !random && parameter.rank() > 0) {
    fail(
        "assign: a number is a standard deviation and needs random=, such as heedml.Random(1); Init.constant(x) writes "
        "x to all elements");
  }
  if (!nb::isinstance<Init>(given) && !nb::isinstance<nb::str>(given) && !(random && is_scalar(given)))
    return assign(parameter, given_tensor("assign", given));
  const Init init = init_for("assign", parameter.shape(), {value.given});
  if (init.kind == Init::Kind::constant) return assign(parameter, init.scale);
  if (!random) fail("assign: an init that draws numbers needs random=, such as heedml.Random(1)");
  assign(parameter, init, *random);
}

std::vector<std::string> names_of_parameters(const Parameters& p) {
  const auto names = std::views::keys(p);
  return {names.begin(), names.end()};
}

// Loads numbers. The Error for tensors that are a part of the parameters says how to load a part.
void load(Parameters& p, const NamedTensors& tensors, const std::string& source) {
  const bool is_part =
      !tensors.empty() && tensors.size() < p.size() && std::ranges::all_of(tensors, [&](const auto& one) {
        return p.contains(one.first) && p[one.first].shape() == one.second.shape();
      });
  try {
    p.load(tensors, source);
  } catch (const Error& error) {
    if (!is_part) throw;
    fail("{}\nTo load a part, and keep the other values: p.load(dict(p.items()) | part)", error.what());
  }
}

void bind_parameters(nb::module_& m) {
  nb::class_<Parameters> c(m, "Parameters");
  c.def(nb::init<>())
      .def(
          "__getitem__", [](const Parameters& p, const std::string& name) { return Tensor(p[name]); }, "name"_a)
      .def("__contains__", [](const Parameters& p, const std::string& name) { return p.contains(name); })
      .def("__contains__", [](const Parameters&, nb::handle) { return false; })
      .def("__len__", &Parameters::size)
      .def("keys", &names_of_parameters, "Returns the names.")
      .def(
          "values",
          [](const Parameters& p) {
            const auto all = std::views::values(p);
            return std::vector<Tensor>(all.begin(), all.end());
          },
          "Returns the variables.")
      .def(
          "items", [](const Parameters& p) { return NamedTensors(p.begin(), p.end()); },
          "Returns pairs of a name and a variable.")
      .def_prop_ro("size", &Parameters::numel, "The number of elements of all parameters.")
      .def(
          "add", [](Parameters& p, const std::string& name, const Tensor& value) { p.add(name, value); }, "name"_a,
          "value"_a, "Adds a variable() and names it.")
      .def("freeze", &Parameters::freeze, "name"_a = "",
           "Makes constants of the parameters with this name or in this scope; '': all.")
      .def("unfreeze", &Parameters::unfreeze, "name"_a = "", "Makes variables of them again.")
      .def(
          "buffers", [](const Parameters& p) { return dict_of(p.buffers()); },
          "Returns the buffers by name. items() has them, too.")
      .def("_copied", [](const Parameters& p, Copies& copies) { return copies(p); })
      .def(
          "load",
          [](Parameters& p, const Later<"dict[str, Tensor] | dict[str, NDArray[typing.Any]]">& tensors,
             const std::string& source) { load(p, named_tensors("load", tensors), source); },
          "tensors"_a, "source"_a = "the dict",
          "Copies numbers by name. Raises one Error for all missing, extra and wrong-shaped names. Matrices are (in, "
          "out). To load a part: p.load(dict(p.items()) | part).")
      .def("__repr__", [](const Parameters& p) {
        std::vector<std::string> lines;
        for (const auto& [name, value] : p) lines.push_back(fmt::format("  '{}': {}", name, to_string(value.shape())));
        return fmt::format("heedml.Parameters({} numbers)\n{}", p.numel(), listed(lines, "\n"));
      });
  bind_iterator(c, "str", &names_of_parameters);
  nb::class_<Init>(m, "Init")
      .def_static("zeros", &Init::zeros, "Returns 0.")
      .def_static("ones", &Init::ones, "Returns 1.")
      .def_static("constant", &Init::constant, "value"_a, "Returns this value.")
      .def_static("normal", &Init::normal, "deviation"_a, "Returns normal with mean 0.")
      .def_static("uniform", &Init::uniform, "bound"_a, "Returns uniform in [-bound, bound).")
      .def_static("xavier", &Init::xavier, "fan_in"_a, "fan_out"_a,
                  "Returns uniform with bound sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010).")
      .def_static("xavier_uniform", &Init::xavier_uniform, "gain"_a = 1.0, "Returns that for the fans of the shape.")
      .def_static("xavier_normal", &Init::xavier_normal, "gain"_a = 1.0,
                  "Returns normal with deviation gain sqrt(2 / (in + out)).")
      .def_static("kaiming_uniform", &Init::kaiming_uniform, "gain"_a = std::numbers::sqrt2,
                  "Returns uniform with bound gain sqrt(3 / in) (He et al. 2015); the default is for relu().")
      .def_static("kaiming_normal", &Init::kaiming_normal, "gain"_a = std::numbers::sqrt2,
                  "Returns normal with deviation gain / sqrt(in).")
      .def_static("orthogonal", &Init::orthogonal, "gain"_a = 1.0,
                  "Returns `gain` times a matrix with orthonormal rows or columns (Saxe et al. 2014).");
  m.def("assign", &assign_value, "parameter"_a, "value"_a, "random"_a = nb::none(),
        "Writes new values into a parameter: those of a tensor of its shape, or those of an init as Scope.parameter() "
        "takes it: 'zeros', 'ones', 'xavier', 'kaiming', 'orthogonal', a standard deviation, or an Init. Those that "
        "draw numbers need `random`.");
  m.def(
      "adapt",
      [](const Place& at, const std::vector<std::string>& layers, int rank, double alpha) {
        adapt(at.scope, layers, {.rank = rank, .alpha = alpha});
      },
      "scope"_a, "layers"_a, "rank"_a = 8, "alpha"_a = 8.0,
      "Freezes the parameters in a scope and adds adapters (LoRA, Hu et al. 2021) to the Linear layers there with "
      "these names, or whose names end so. The adapters are parameters, LAYER.lora_A (in, rank) and LAYER.lora_B "
      "(rank, out).");
  m.def(
      "merge", [](const Parameters& parameters) { merge(parameters); }, "parameters"_a,
      "Adds each adapter's product to its matrix and removes the adapters. Frozen parameters stay frozen.");
  nb::class_<Copies>(m, "_Copies").def(nb::init<>());
  nb::class_<Place>(m, "Scope")
      .def(
          "__init__",
          [](Place* self, const std::variant<std::monostate, Parameters, TensorDict>& given, const Seed& number,
             const TypeName& dtype) {
            const std::uint64_t seed = seed_of("Scope", number);
            if (const auto* const values = std::get_if<TensorDict>(&given); values && !values->given.is_none()) {
              new (self) Place{std::make_shared<Parameters>(), Scope(named_tensors("Scope", *values))};
              return;
            }
            const auto* const known = std::get_if<Parameters>(&given);
            auto store = std::make_shared<Parameters>(known ? *known : Parameters());
            const Scope scope(*store, seed, dtype_of_name("Scope", dtype));
            new (self) Place{std::move(store), scope, seed};
          },
          "parameters"_a = nb::none(), "seed"_a = 1, "dtype"_a = nb::none())
      .def(
          "__truediv__",
          [](const Place& at, const std::variant<int, std::string>& name) {
            return std::visit([&](const auto& part) { return Place{at.store, at.scope / part, at.seed}; }, name);
          },
          nb::is_operator())
      .def_prop_ro(
          "name", [](const Place& at) { return at.scope.name(); }, "The prefix: 'encoder.0'.")
      .def_prop_ro(
          "parameters", [](const Place& at) { return *at.store; }, "The store of the parameters made here.")
      .def(
          "parameter",
          [](const Place& at, const std::string& name, const Sizes& sizes, const InitialValue& given) {
            const Shape shape = shape_of("parameter", sizes);
            return Tensor(at.scope.parameter(name, shape, init_for("parameter", shape, given)));
          },
          "name"_a, "shape"_a, "init"_a = "zeros",
          "Makes a parameter. `init`: 'zeros', 'ones', 'xavier', 'kaiming', 'orthogonal', a standard deviation, or an "
          "Init.")
      .def(
          "buffer",
          [](const Place& at, const std::string& name, const Sizes& shape, double value) {
            return Tensor(at.scope.buffer(name, shape_of("buffer", shape), value));
          },
          "name"_a, "shape"_a, "value"_a = 0.0,
          "Makes a buffer of one value: a tensor that is saved and loaded with the parameters, and not trained. Write "
          "its values with copy_from().")
      .def("_copied",
           [](const Place& at, Copies& copies) {
             auto store = std::make_shared<Parameters>(copies(at.scope.parameters()));
             const Scope scope(*store, at.seed, at.scope.dtype());
             return Place{std::move(store), at.scope.name().empty() ? scope : scope / at.scope.name(), at.seed};
           })
      .def("__repr__", [](const Place& at) { return fmt::format("heedml.Scope('{}')", at.scope.name()); });
}

std::string matrix_text(const auto& layer) { return fmt::format("{}, {}", layer.weight.size(0), layer.weight.size(1)); }

void bind_simple_layers(nb::module_& m) {
  bind_layer<Linear>(m, "Linear", &matrix_text<Linear>, "(in, out)", "(out), or None")
      .def(
          "__init__",
          [](Linear* self, const Place& at, int in, int out, bool bias, const InitialValue& init,
             const InitialValue& bias_init) {
            const LinearOptions usual;
            new (self)
                Linear(at.scope, in, out,
                       {bias, init_of("Linear", init, usual.init), init_of("Linear", bias_init, usual.bias_init)});
          },
          "scope"_a, "in_features"_a, "out_features"_a, "bias"_a = true, nb::kw_only(), "init"_a = nb::none(),
          "bias_init"_a = nb::none())
      .def("__call__", &Linear::operator(), "x"_a, Unlocked());
  bind_layer<Embedding>(m, "Embedding", &matrix_text<Embedding>, "(count, d)")
      .def("__init__", made_in<Embedding, int, int, double>(), "scope"_a, "count"_a, "d"_a, "deviation"_a = 1.0)
      .def(
          "__call__", [](const Embedding& l, const IntegerArray& ids) { return l(ids_of("Embedding", ids)); }, "ids"_a);
  bind_layer<LearnedPositions>(m, "LearnedPositions", &matrix_text<LearnedPositions>, "(max_length, d)")
      .def("__init__", made_in<LearnedPositions, int, int, double>(), "scope"_a, "max_length"_a, "d"_a,
           "deviation"_a = 1.0)
      .def("__call__", &LearnedPositions::operator(), "x"_a, "first"_a = 0, Unlocked());
  bind_layer<Norm>(
      m, "Norm", [](const Norm& l) { return fmt::format("{}, kind='{}'", l.gain.size(0), name_of(l.config.kind)); },
      "(d)", "(d), or None")
      .def(
          "__init__",
          [](Norm* self, const Place& at, int d, nb::kwargs fields) {
            if (!fields.contains("epsilon") && fields.contains("kind") &&
                nb::cast<std::string>(nb::str(fields["kind"])) == "rms")
              fields["epsilon"] = rms_config.epsilon;
            new (self) Norm(at.scope, d, block_config("norm", fields).norm);
          },
          nb::sig("def __init__(self, scope: Scope, d: int, *, kind: str = 'layer', epsilon: float = 1e-5, "
                  "gain_offset: bool = False, bias: bool = True) -> None"))
      .def("__call__", &Norm::operator(), "x"_a, Unlocked());
  bind_layer<Mlp>(
      m, "Mlp",
      [](const Mlp& l) { return fmt::format("width={}, activation='{}'", l.in.weight.size(1), name_of(l.activation)); })
      .def(
          "__init__",
          [](Mlp* self, const Place& at, int d_model, nb::kwargs fields) {
            new (self) Mlp(at.scope, d_model, block_config("mlp", fields).mlp);
          },
          nb::sig("def __init__(self, scope: Scope, d_model: int, *, width: int, activation: str = 'gelu', gated: bool "
                  "= False, bias: bool = True) -> None"))
      .def("__call__", &Mlp::operator(), "x"_a, Unlocked());
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_parameters(m);
  bind_simple_layers(m);
  bind_attention(m);
}

}  // namespace heed::python
