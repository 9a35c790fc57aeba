// Step 12: does the answer depend on the attention that the picture shows? Cut it, and count.
#pragma once
#include "given/array.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace learn {

using heed::Booleans;
using heed::Tensor;

/// Returns for each head the mean weight from the query of each text to a key: weights (B, heads, T, T), row = query, column = key.
///
///     mean_h = mean over b of weights[b][h][query_b][key_b]
inline std::vector<double> edge_weight(const Tensor& weights, const std::vector<int>& query,
                                       const std::vector<int>& key) {
  throw NotWritten("edge_weight");  // your code here
}

/// Attention knockout. Returns a mask (B, heads, T, T) that hides one edge per text, in the heads `cut`, and nothing else. The layer sets
/// hidden scores to -infinity before its softmax, so the other keys share the weight.
///
///     visible[b][h][i][j] = not (h is in cut and i == query_b and j == key_b)
inline Booleans without_edge(int heads, int T, const std::vector<int>& cut, const std::vector<int>& query,
                             const std::vector<int>& key) {
  throw NotWritten("without_edge");  // your code here
}

/// Returns the share of the advantage over chance that an intervention takes away: 0 when nothing changes, 1 when the model falls to chance,
/// more when it falls below. All three arguments are accuracies between 0 and 1.
///
///     lost = (before - after) / (before - chance)
inline double advantage_lost(double before, double after, double chance) {
  throw NotWritten("advantage_lost");  // your code here
}

/// Returns half the width of the 95 % confidence interval of an accuracy: `right` of n independent sentences.
///
///     p = right / n       half width = 1.96 sqrt(p (1 - p) / n)
inline double half_width(int right, int n) {
  throw NotWritten("half_width");  // your code here
}

}  // namespace learn
