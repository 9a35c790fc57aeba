#pragma once
#include "judge.h"

namespace learn {

/// The code that the learner wrote.
struct HeadsSolution {
  using T = heed::Tensor;
  T (*split_heads)(const T&, int);
  T (*join_heads)(const T&);
  T (*multi_head)(const T& x, const T& W_Q, const T& W_K, const T& W_V, const T& W_O, int heads);
};
#define LEARN_07 \
  HeadsSolution { split_heads, join_heads, multi_head }

Step step_07(const HeadsSolution& yours);

}  // namespace learn
