#pragma once
#include "judge.h"

namespace learn {

/// The code that the learner wrote: the parameters after each of these gradients.
struct AdamWSolution {
  using Numbers = std::vector<double>;
  /// options: lr, beta1, beta2, eps, weight_decay
  std::vector<Numbers> (*steps)(Numbers p, const std::vector<Numbers>& gradients, const Numbers& options);
};
#define LEARN_09                                                                                                 \
  AdamWSolution {                                                                                                \
    [](std::vector<double> p, const std::vector<std::vector<double>>& gradients, const std::vector<double>& o) { \
      Moments moments{std::vector<double>(p.size()), std::vector<double>(p.size()), 0};                          \
      std::vector<std::vector<double>> result;                                                                   \
      for (const auto& g : gradients) {                                                                          \
        adamw_step(p, g, moments, AdamW{o[0], o[1], o[2], o[3], o[4]});                                          \
        result.push_back(p);                                                                                     \
      }                                                                                                          \
      return result;                                                                                             \
    }                                                                                                            \
  }

Step step_09(const AdamWSolution& yours);

}  // namespace learn
