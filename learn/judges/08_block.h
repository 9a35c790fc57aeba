#pragma once
#include "judge.h"
#include "python.h"

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

inline BlockSolution python_08() {
  using T = heed::Tensor;
  using Part = BlockSolution::Part;
  return {[](const T& x, const T& gain, const T& bias, double eps) {
            return tensor_of(python_one("layer_norm", {x, gain, bias, Array({}, {eps})}));
          },
          [](const T& x, const T& W_1, const T& b_1, const T& W_2, const T& b_2) {
            return tensor_of(python_one("mlp", {x, W_1, b_1, W_2, b_2}));
          },
          [](T x, const Part& attention, const Part& mlp, const Part& first_norm, const Part& second_norm) {
            return tensor_of(python_one("block", {x}, {attention, mlp, first_norm, second_norm}));
          }};
}

Step step_08(const BlockSolution& yours);

}  // namespace learn
