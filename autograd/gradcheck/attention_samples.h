#pragma once
#include <heed/autograd/operation.h>

namespace heed {

// Returns samples of fused attention for each kind of mask, with the output, the weights, or both.
enum class AttentionOutput { output, weights };
std::vector<GradientSample> attention_samples(AttentionOutput output);

}  // namespace heed
