#pragma once
#include "train/config/config.h"

#include <string>

namespace heed {

// Checks dL/d(parameter) of the configured model on sentences of the configured task, in float64: for every parameter,
// three random directions through all of its elements and some single elements, against central differences.
struct ModelCheck {
  bool passed = true;
  std::string table;  // a line for each parameter: name, shape, largest error, pass or fail
};
ModelCheck check_model_gradients(const Config& config);

}  // namespace heed
