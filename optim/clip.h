#pragma once
#include <heed/autograd/record.h>

namespace heed {

// Scales all gradients by max_norm / (norm + 1e-6) when their common Euclidean norm exceeds max_norm (Pascanu
// et al. 2013, arXiv:1211.5063, algorithm 1; constant as in torch.nn.utils.clip_grad_norm_). Returns the norm
// before. A norm that is not finite leaves the gradients as they are.
double clip_by_global_norm(Gradients& gradients, double max_norm);

}  // namespace heed
