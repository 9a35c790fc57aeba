#pragma once
#include "judge.h"

namespace learn {

/// The code that the learner wrote.
struct MatmulSolution {
  Array (*matmul)(const Array&, const Array&);
  Array (*transposed)(const Array&);
  std::pair<Array, Array> (*matmul_backward)(const Array&, const Array&, const Array&);
};
#define LEARN_03 \
  MatmulSolution { matmul, transposed, matmul_backward }

Step step_03(const MatmulSolution& yours);

}  // namespace learn
