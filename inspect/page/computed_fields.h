#pragma once
#include <heed/models/model.h>

#include <string>

namespace heed {

/// Returns the first field of a configuration that the engine in inspect/page/model.js does not compute, with its value:
/// "transformer.shared_layers = true"; "" if it computes all. A field that computed_fields.cpp does not list, such as a new one, must
/// have its default.
std::string uncomputed_field(const ModelConfig& config);

}  // namespace heed
