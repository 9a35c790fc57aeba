#pragma once
#include "judge.h"

namespace learn {

/// The code that the learner wrote.
struct BlockSolution {
  using T = heed::Tensor;
  using Part = std::function<T(const T&)>;
  T (*layer_norm)(const T& x, const T& gain, const T& bias, double eps);
  T (*mlp)(const T& x, const T& W_1, const T& b_1, const T& W_2, const T& b_2);
  T (*block)(T x, const Part& attention, const Part& mlp, const Part& first_norm, const Part& second_norm);
};
#define LEARN_08 \
  BlockSolution { layer_norm, mlp, block }

Step step_08(const BlockSolution& yours);

}  // namespace learn
