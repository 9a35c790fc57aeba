#pragma once
#include <heed/autograd/random.h>
#include <heed/autograd/tensor.h>

#include <cstdint>

namespace heed {

/// Sampling of a token from p = softmax(logits / temperature).
struct Sampling {
  double temperature = 1;  ///< 0: the most probable, always
  int top_k = 0;           ///< keep only the k most probable; 0: all
  double top_p = 1;  ///< keep only the most probable whose sum first reaches p (Holtzman et al. 2020, arXiv:1904.09751)
};

/// Throws Error that begins with `where` for a temperature, k or p out of range.
void check(const Sampling& sampling, const char* where);

/// Draws a number in [0, C) from logits (C). Ties count in order: the first of equal logits is the more probable. Throws
/// Error for an invalid temperature, k or p; NotFinite when a logit is NaN or all are -infinity.
///
///     const std::int32_t next = sample(logits, {.temperature = 0.8, .top_k = 40}, random);
std::int32_t sample(const Tensor& logits, const Sampling& sampling, Random& random);

}  // namespace heed
