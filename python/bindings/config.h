#pragma once
#include "bindings/bindings.h"
#include "formats/internal/config_json.h"

#include <heed/nn/adapter.h>
#include <heed/nn/block.h>
#include <heed/nn/dropout.h>
#include <heed/nn/norm.h>
#include <heed/optim/optimizer.h>

#include <map>

namespace heed::python {

/// A Scope with the store and the seed that it refers to.
struct Place {
  std::shared_ptr<Parameters> store;
  Scope scope;
  std::uint64_t seed = 1;
};

/// Returns the __init__ of a layer whose constructor takes a scope and these arguments.
template <class Layer, class... Arguments>
auto made_in() {
  return [](Layer* self, const Place& at, Arguments... arguments) { new (self) Layer(at.scope, arguments...); };
}

/// Returns initial values by their name, deviation or Init; None: `otherwise`.
Init init_of(const char* where, const InitialValue& given, Init otherwise);

/// Returns whether the open Recording computed x: a copy would lose its gradient.
bool is_result(const Tensor& x);

/// Copies of parameters and stores, each made once: what one deepcopy() of Python copies.
class Copies {
 public:
  Parameter operator()(const Parameter& x);
  Parameters operator()(const Parameters& store);

 private:
  std::map<std::int64_t, Parameter> parameters_;  // by the number of the variable
  std::vector<std::pair<Parameters, Parameters>> stores_;
};

/// Calls f on each parameter of a layer and of its parts.
template <class Part, class F>
void for_each_parameter(Part& part, const F& f) {
  const auto each = [&](auto&... parts) { (for_each_parameter(parts, f), ...); };
  if constexpr (std::is_same_v<Part, Parameter>) {
    if (part.defined()) f(part);
  } else if constexpr (requires { part.has_value(); }) {
    if (part) each(*part);
  } else if constexpr (requires { part.running_mean; }) {
    each(part.gain, part.bias, part.running_mean, part.running_variance);
  } else if constexpr (requires { part.gain; }) {
    each(part.gain, part.bias);
  } else if constexpr (requires { part.W_Q; }) {
    each(part.W_Q, part.W_K, part.W_V, part.W_O, part.q_norm, part.k_norm);
  } else if constexpr (requires { part.attention_norms; }) {
    each(part.attention_norms, part.attention, part.mlp_norms, part.mlp);
  } else if constexpr (requires { part.sum; }) {
    each(part.input, part.output, part.sum);
  } else if constexpr (requires { part.gate; }) {
    each(part.gate, part.in, part.out);
  } else if constexpr (requires { part.cells; }) {
    for (auto& cell : part.cells) each(cell);
  } else if constexpr (requires { part.hidden; }) {
    each(part.input, part.hidden);
  } else if constexpr (requires { part.bias; }) {
    each(part.weight, part.bias);
  } else {
    each(part.weight);
  }
}

/// Makes the class of a layer, with its parameters and its text: KIND('NAME', SIZES).
template <class Layer, class Sizes>
nb::class_<Layer> bind_layer(nb::module_& m, const char* kind, Sizes sizes, const char* weight = "",
                             const char* bias = "") {
  nb::class_<Layer> c(m, kind);
  if constexpr (requires(Layer l) { l.name; }) c.def_ro("name", &Layer::name);
  if constexpr (requires(Layer l) { l.weight; }) c.def_prop_ro("weight", getter(&Layer::weight), weight);
  if constexpr (requires(Layer l) { l.gain; }) c.def_prop_ro("gain", getter(&Layer::gain), weight);
  if constexpr (requires(Layer l) { l.weight.shape(), l.bias; } || std::is_same_v<Layer, Norm>) {
    c.def_prop_ro("bias", optional_getter(&Layer::bias), bias);
  } else if constexpr (requires(Layer l) { l.bias; }) {
    c.def_prop_ro("bias", getter(&Layer::bias), bias);
  }
  c.def("_copied", [](const Layer& l, Copies& copies) {
    Layer copy = l;
    for_each_parameter(copy, [&](Parameter& each) { each = copies(each); });
    return copy;
  });
  c.def("__repr__", [kind, sizes](const Layer& l) {
    if constexpr (requires { l.name; }) return fmt::format("heedml.{}('{}', {})", kind, l.name, sizes(l));
    return fmt::format("heedml.{}({})", kind, sizes(l));
  });
  return c;
}

/// Calls f with a Dropout whose numbers `random` gives, without Python's lock.
template <class F>
auto with_dropout(Dropout drop, Random* random, F f) {
  std::optional<Random> own;  // other threads may use `random` meanwhile
  if (random) drop.random = &own.emplace(*random);
  auto result = [&] {
    const nb::gil_scoped_release release;
    return f(drop);
  }();
  if (random) *random = *own;
  return result;
}

/// Keys and values of the tokens so far: of one layer, or of all layers of a model.
struct HeldCache {
  Cache layers{};
  bool is_in_use = false;  ///< Python's lock guards it

  /// Returns f(layers), which runs without Python's lock. When it throws, the cache is as before. Throws Error while another call
  /// appends.
  template <class F>
  Tensor append(F f) {
    check_unused();
    struct Used {
      bool& flag;
      ~Used() { flag = false; }
    } used{is_in_use};
    is_in_use = true;
    const CacheGuard guard(layers);
    const nb::gil_scoped_release release;
    return f(layers);
  }
  void check_unused() const {
    if (is_in_use) fail("KeyValueCache: another call appends to it now; give each thread its own");
  }
};

/// An optimiser that knows its learning rate.
struct RatedOptimizer {
  Optimizer optimizer;
  std::string method;
  double lr;
};

/// Convert between Python's values and JSON.
Json json_of(nb::handle value);
nb::object python_of(const std::string& json);

/// Returns a configuration from keyword arguments: those of its part `name` ("attention", "mlp", "norm"), or "" for its own. Throws
/// Error for unknown names and values out of range.
BlockConfig block_config(const char* name, const nb::kwargs& fields);
TransformerConfig transformer_config(const char* name, const nb::kwargs& fields);

}  // namespace heed::python
