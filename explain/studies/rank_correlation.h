#pragma once
#include <vector>

namespace heed {

/// Returns Spearman's rank correlation of pairs (x[i], y[i]): Pearson's of their ranks, equal values sharing the mean of theirs.
/// Returns NaN where all x or all y are equal, or one of them is NaN.
double rank_correlation(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace heed
