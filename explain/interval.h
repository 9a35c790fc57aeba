#pragma once
#include <string>
#include <vector>

namespace heed {

/// A share, or another mean, and its 95 % interval.
struct Interval {
  double share = 0, low = 0, high = 1;
  double error() const { return (high - low) / 2; }
  /// Returns whether the interval lies above `figure`, as it is printed, too: by 0.05 % or more.
  bool is_above(double figure) const { return low - figure >= 0.0005; }
};

/// Returns the share of `right` among `count` independent answers with Wilson's interval (1927). All NaN when count is 0.
Interval wilson(int right, int count);

/// Returns the share of right answers where right[i] and right[twin[i]] are not independent (twin[i] -1: alone). Pairs are drawn
/// again as pairs, 4,000 times from a fixed seed, and the interval holds the middle 95 % (Efron 1979). Without pairs the interval
/// is Wilson's; when all answers or none are right, it is Wilson's for the number of pairs.
Interval share_of(const std::vector<bool>& right, const std::vector<int>& twin);

/// Returns the mean of `values`, of [-1, 1], and its 95 % interval, share +- error. Values of one group (the sentences of a
/// minimal pair) are not independent: the error is that of the groups' sums (Cochran 1977, section 9A). If all values are
/// whole numbers (counts), the sum of squares has one deviation of z times a group's size more, so that equal values leave an
/// interval: for 0 right among n it ends where Wilson's does, at about z^2 / n. The error is at most 1. All
/// NaN when there is no value.
Interval interval_of(const std::vector<double>& values, const std::vector<int>& groups);

/// Returns "28.0 % ± 6.3", or `unknown` for NaN.
std::string percent(const Interval& share, const char* unknown = "-");

/// Returns "0.79 ± 0.02".
std::string with_error(const Interval& mean);

}  // namespace heed
