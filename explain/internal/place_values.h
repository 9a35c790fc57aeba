#pragma once
#include <heed/explain/place.h>
#include <heed/explain/trace.h>

#include <string>

namespace heed {

/// Returns whether values of this kind have an axis of heads.
bool has_heads(Place::What what);

/// Throws `Error` that begins with `where` when the model does not have the place's layer, head, MLP or a neuron.
void check_place(const char* where, const Transformer& transformer, const Place& place);

/// Returns the layers of a place, [begin, end). Residual streams have one more than the model has layers.
Span layers_of(const Transformer& transformer, const Place& place);

/// Returns the name by which hooks see the values of one layer.
std::string hook_name(const Transformer& transformer, Place::What what, int layer);

/// Returns the values of one layer in a trace. Throws `Error` when the trace does not have them.
const Tensor& value_in(const Trace& trace, Place::What what, int layer);

/// Returns which elements of a value belong to the place; the shape broadcasts to that of the value. Throws `Error` when a token or key
/// is not in the texts, or when the number of lists of tokens is not that of texts.
Booleans elements_at(const Place& place, const Shape& value);

}  // namespace heed
