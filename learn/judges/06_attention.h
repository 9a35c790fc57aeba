#pragma once
#include "judge.h"
#include "python.h"

#include <heed/autograd/ops.h>

namespace learn {

/// The code that the learner wrote; each function returns output and weights.
struct AttentionSolution {
  using Tensor = heed::Tensor;
  using Booleans = heed::Booleans;
  using Pair = std::pair<Tensor, Tensor>;
  Pair (*simple)(const Tensor& X);
  Pair (*attention)(const Tensor& Q, const Tensor& K, const Tensor& V, const Booleans& visible);
  Booleans (*causal_mask)(int T);
  Pair (*self)(const Tensor& X, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V, const Booleans& visible);
};
#define LEARN_06                                                                                                \
  AttentionSolution {                                                                                           \
    [](const Tensor& X) {                                                                                       \
      auto y = simple_attention(X);                                                                             \
      return std::pair{y.output, y.weights};                                                                    \
    },                                                                                                          \
        [](const Tensor& Q, const Tensor& K, const Tensor& V, const Booleans& visible) {                        \
          auto y = attention(Q, K, V, visible);                                                                 \
          return std::pair{y.output, y.weights};                                                                \
        },                                                                                                      \
        causal_mask,                                                                                            \
        [](const Tensor& X, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V, const Booleans& visible) { \
          auto y = self_attention(X, W_Q, W_K, W_V, visible);                                                   \
          return std::pair{y.output, y.weights};                                                                \
        }                                                                                                       \
  }

inline AttentionSolution python_06() {
  using heed::Booleans, heed::Tensor;
  static const auto both = [](const char* function, const std::vector<PythonArgument>& arguments) {
    const auto [output, weights] = python_pair(function, arguments);
    return AttentionSolution::Pair{tensor_of(output), tensor_of(weights)};
  };
  return {[](const Tensor& X) { return both("simple_attention", {X}); },
          [](const Tensor& Q, const Tensor& K, const Tensor& V, const Booleans& visible) {
            return both("attention", {Q, K, V, visible});
          },
          [](int T) {
            const Array visible = python_one("causal_mask", {T});
            return Booleans({T, T}, std::vector<std::uint8_t>(visible.values.begin(), visible.values.end()));
          },
          [](const Tensor& X, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V, const Booleans& visible) {
            return both("self_attention", {X, W_Q, W_K, W_V, visible});
          }};
}

Step step_06(const AttentionSolution& yours);

}  // namespace learn
