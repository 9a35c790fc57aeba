#pragma once
#include "judge.h"
#include "python.h"

#include <heed/autograd/ops.h>

namespace learn {

/// The code that the learner wrote.
struct CausesSolution {
  using Places = std::vector<int>;
  std::vector<double> (*edge_weight)(const heed::Tensor& weights, const Places& query, const Places& key);
  heed::Booleans (*without_edge)(int heads, int T, const Places& cut, const Places& query, const Places& key);
  double (*advantage_lost)(double before, double after, double chance);
  double (*half_width)(int right, int n);
};
#define LEARN_12 \
  CausesSolution { edge_weight, without_edge, advantage_lost, half_width }

/// Returns the functions of learn/steps/12_causes.py.
CausesSolution python_12();

Step step_12(const CausesSolution& yours);

}  // namespace learn
