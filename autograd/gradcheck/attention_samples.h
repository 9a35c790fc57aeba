#pragma once
#include <heed/autograd/operation.h>

namespace heed {

// Samples of fused attention under each kind of mask, looking at one of its outputs or at both.
enum class AttentionOutput { output, weights };
std::vector<GradientSample> attention_samples(AttentionOutput output);

}  // namespace heed
