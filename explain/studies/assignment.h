#pragma once
#include <vector>

namespace heed {

/// Returns the permutation p for which the sum of value[i][p[i]] is largest (the assignment problem; Kuhn 1955, "The Hungarian
/// method"; here with shortest augmenting paths, O(n^3)). Throws Error unless `value` is square.
std::vector<int> best_assignment(const std::vector<std::vector<double>>& value);

}  // namespace heed
