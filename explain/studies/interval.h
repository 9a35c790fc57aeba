#pragma once
#include <string>
#include <vector>

namespace heed {

/// A share, or another mean, and its 95 % interval.
///
///     const Interval accuracy = wilson(57, 100);   // 0.57, from 0.47 to 0.66
struct Interval {
  double share = 0, low = 0, high = 1;
  /// Returns half the width of the interval.
  double error() const { return (high - low) / 2; }
  /// Returns whether the interval lies above `figure`, as it is printed, too: by 0.05 % or more.
  bool is_above(double figure) const { return low - figure >= 0.0005; }
};

/// Returns the share `right / count` of independent trials with Wilson's interval (1927): all NaN without trials.
Interval wilson(int right, int count);

/// Returns the share of true values, where right[i] and right[twin[i]] are not independent (twin[i] -1: alone). Pairs are drawn
/// again as pairs, 4,000 times from a fixed seed, and the interval holds the middle 95 % (Efron 1979). Without twins it is
/// Wilson's. Where all pairs have the same share, the interval allows as many unlike pairs as Wilson's for 0 among them.
Interval share_of(const std::vector<bool>& right, const std::vector<int>& twin);

/// Returns the mean of `values`, of [-1, 1], and its 95 % interval, share +- error. Values of one group (the sentences
/// of a minimal pair) are not independent, so the error is that of the groups' sums (Cochran 1977, section 9A). If all
/// values are whole numbers (counts), the sum of squares has one more deviation, of z n / (groups + z^2), so that
/// equal values leave an interval: for 0 right among n it ends where Wilson's does. The error is at
/// most 1. Returns NaN for empty `values`.
Interval interval_of(const std::vector<double>& values, const std::vector<int>& groups);

}  // namespace heed
