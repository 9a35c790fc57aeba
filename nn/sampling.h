#pragma once
#include <heed/autograd/random.h>
#include <heed/autograd/tensor.h>

#include <cstdint>

namespace heed {

// How a token is drawn from p = softmax(logits / temperature).
struct Sampling {
  double temperature = 1;  // 0: the most probable, always
  int top_k = 0;           // only the k most probable; 0: all
  double top_p = 1;        // only the most probable whose sum first reaches p (Holtzman et al. 2020, arXiv:1904.09751)
};

// A number in [0, C), of logits (C). Of equal logits the first counts as more probable. Error for a temperature, k or p that
// means nothing; NotFinite where a logit is NaN, or all are -infinity.
std::int32_t sample(const Tensor& logits, const Sampling& sampling, Random& random);

}  // namespace heed
