#pragma once
#include <heed/models/model.h>

#include <string>

namespace heed {

/// Throws `Error` when a model of this configuration has more parameters than the `elements` of the tensors that a file holds,
/// or more than 4096 layers, before anything of that size is allocated.
void check_size(const ModelConfig& config, double elements);

/// Throws `Error` that names the first value of a tensor that is infinite or NaN.
void check_finite(const std::string& name, const Tensor& values, const std::string& file);

}  // namespace heed
