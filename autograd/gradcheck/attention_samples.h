#pragma once
#include <heed/autograd/operation.h>

namespace heed {

/// Which result of attention() a sample checks.
enum class AttentionOutput { output, weights };
std::vector<GradientSample> attention_samples(AttentionOutput output);  ///< fused attention, for each kind of mask

}  // namespace heed
