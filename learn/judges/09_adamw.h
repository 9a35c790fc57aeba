#pragma once
#include "judge.h"
#include "python.h"

namespace learn {

/// The code that the learner wrote: the parameters after each of these gradients, and then m and v.
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
      result.push_back(moments.m);                                                                               \
      result.push_back(moments.v);                                                                               \
      return result;                                                                                             \
    }                                                                                                            \
  }

inline AdamWSolution python_09() {
  using Values = AdamWSolution::Numbers;
  return {[](Values p, const std::vector<Values>& gradients, const Values& options) {
    const int size = static_cast<int>(p.size());
    Array all({static_cast<int>(gradients.size()), size});
    for (std::size_t i = 0; i < gradients.size(); ++i)
      std::copy(gradients[i].begin(), gradients[i].end(), all.values.begin() + static_cast<int>(i) * size);
    const Array after = python_one("adamw_steps", {p, all, options});
    std::vector<Values> steps;
    for (auto at = after.values.begin(); at != after.values.end(); at += size) steps.emplace_back(at, at + size);
    return steps;
  }};
}

Step step_09(const AdamWSolution& yours);

}  // namespace learn
