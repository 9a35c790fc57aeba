#pragma once
#include <heed/autograd/operation.h>

namespace heed {

/// The result of attention() that a sample checks.
enum class AttentionOutput { output, weights };
std::vector<GradientSample> attention_samples(AttentionOutput output);  ///< fused attention, for each kind of mask

}  // namespace heed
