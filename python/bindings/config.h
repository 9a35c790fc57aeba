#pragma once
#include "bindings/bindings.h"
#include "formats/internal/config_json.h"

#include <heed/optim/optimizer.h>

namespace heed::python {

/// A Scope with the store that it refers to.
struct Place {
  std::shared_ptr<Parameters> store;
  Scope scope;
};

/// Returns the __init__ of a layer whose constructor takes a scope and these arguments.
template <class Layer, class... Arguments>
auto made_in() {
  return [](Layer* self, const Place& at, Arguments... arguments) { new (self) Layer(at.scope, arguments...); };
}

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
