#pragma once
#include <heed/explain/studies/interval.h>

#include <vector>

namespace heed {

/// @file
/// Intervals of figures that have no bounds, such as log odds. Equal numbers in `groups` make values one observation; without
/// numbers each value is its own. The intervals are those of Student's t (1908) for the sums of the groups.

/// Returns the mean of the values and its 95 % interval; an endless one for fewer than two groups.
Interval mean_interval(const std::vector<double>& values, const std::vector<int>& groups = {}, double error = 0.05);

/// Returns the ratio of two means and its 95 % interval: all ratios r for which the mean of a - r b is not shown to differ from 0
/// (Fieller 1954). It is endless where the mean of b is not shown to differ from 0. Throws `Error` for lists of different lengths.
///
///     const Interval faithfulness = ratio_interval(recovered, lost);   // 0.83, from 0.78 to 0.89
Interval ratio_interval(const std::vector<double>& a, const std::vector<double>& b, const std::vector<int>& groups = {},
                        double error = 0.05);

/// Returns the share of the values above 0 and its interval, that of all shares (share_of()).
Interval share_above_0(const std::vector<double>& values, const std::vector<int>& groups = {});

}  // namespace heed
