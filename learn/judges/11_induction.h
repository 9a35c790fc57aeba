#pragma once
#include "judge.h"
#include "python.h"

namespace learn {

/// The code that the learner wrote.
struct InductionSolution {
  std::vector<std::int32_t> (*targets)(const std::vector<std::int32_t>& symbols, std::size_t period);
  std::vector<double> (*previous_token_score)(const heed::Tensor& weights);
  std::vector<double> (*induction_score)(const heed::Tensor& weights, std::int64_t period);
};
#define LEARN_11 \
  InductionSolution { targets, previous_token_score, induction_score }

/// Returns the functions of learn/steps/11_induction.py.
InductionSolution python_11();

Step step_11(const InductionSolution& yours);

}  // namespace learn
