#pragma once
#include "judge.h"
#include "python.h"

namespace learn {

/// The code that the learner wrote.
struct MatmulSolution {
  Array (*matmul)(const Array&, const Array&);
  Array (*transposed)(const Array&);
  std::pair<Array, Array> (*matmul_backward)(const Array&, const Array&, const Array&);
};
#define LEARN_03 \
  MatmulSolution { matmul, transposed, matmul_backward }

inline MatmulSolution python_03() {
  return {[](const Array& A, const Array& B) {
            return python_one("matmul", {A, B});
          },
          [](const Array& X) { return python_one("transposed", {X}); },
          [](const Array& dC, const Array& A, const Array& B) {
            return python_pair("matmul_backward", {dC, A, B});
          }};
}

Step step_03(const MatmulSolution& yours);

}  // namespace learn
