#pragma once
#include <heed/autograd/ops.h>

namespace heed {

/// Dropout for training, at the places of Vaswani et al. 2017 (section 5.4) and GPT-2. By default nothing is dropped.
///
///     Random random(1);
///     const Tensor logits = model.logits(batch, {.p = 0.1, .random = &random});
struct Dropout {
  double p = 0;  ///< share dropped from the output of each attention and each MLP
  Random* random = nullptr;
  double embedding = 0;  ///< share dropped from the embeddings
  double attention = 0;  ///< share dropped from the attention weights; slower, as it needs all weights at once

  /// Returns dropout(x, p).
  Tensor operator()(const Tensor& x) const { return with(p, x); }
  /// Returns dropout(x, share). Throws `Error` for a positive share without random numbers.
  Tensor with(double share, const Tensor& x) const {
    if (share == 0) return x;
    if (!random) fail("Dropout: p is {}, but no random numbers were given", share);
    return dropout(x, share, *random);
  }
};

}  // namespace heed
