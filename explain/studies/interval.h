#pragma once
#include <vector>

namespace heed {

/// A share, or another mean, and its 95 % interval.
///
///     const Interval accuracy = share_of({true, true, false, true});   // 0.75, from 0.22 to 0.99
struct Interval {
  double share = 0, low = 0, high = 1;
  /// Returns half the width of the interval.
  double error() const { return (high - low) / 2; }
  /// Returns whether the interval lies above `figure`, as it is printed, too: by 0.05 % or more.
  bool is_above(double figure) const { return low - figure >= 0.0005; }
};

/// The smallest and the largest value that a sentence can have, and the smallest difference of two values; 0 for a
/// measured value such as a probability.
struct ScoreScale {
  double low = 0, high = 1, step = 1;
};
constexpr ScoreScale share_scale{0, 1, 1};        ///< 1: right, 0: wrong
constexpr ScoreScale difference_scale{-1, 1, 1};  ///< right before minus right after

/// How often groups have the same sum and number of values. Values of one group (the sentences of a minimal pair) may have
/// any correlation: their sum counts as one observation.
struct Group {
  double sum = 0, values = 1, count = 1;
};

/// Returns how often groups with the same sum and number of values occur. Equal numbers in `groups` make a group; without numbers
/// each value is its own.
std::vector<Group> groups_of(const std::vector<double>& values, const std::vector<int>& groups);

/// Returns the score of the hypothesis that the mean of all values is `mean`: the distance between both, less half of a
/// group's step, in standard errors. The standard error is that of the distribution on the scale which has this mean and
/// makes the groups most probable. For independent right or wrong answers, it is that of Wilson's interval (1927); for the
/// differences of two answers, that of Tango's (1998).
double score_of(const std::vector<Group>& groups, ScoreScale scale, double mean);

/// Return the mean of the values and the interval of all means with a score between -z and z, where z leaves `error` of a
/// normal distribution outside. Divide `error` by the number of intervals when the largest of them is picked. Return NaN
/// without values.
Interval interval_of(const std::vector<Group>& groups, ScoreScale scale, double error = 0.05);
Interval interval_of(const std::vector<double>& values, const std::vector<int>& groups, ScoreScale scale,
                     double error = 0.05);  ///< of groups_of() these

/// Returns the share of true values and its interval: interval_of() with `share_scale`.
Interval share_of(const std::vector<bool>& right, const std::vector<int>& groups = {});

/// Returns how much higher the share of true values is in `right` than in `other`, on the same sentences, and its interval.
template <class T, class U>
Interval advantage(const std::vector<T>& right, const std::vector<U>& other, const std::vector<int>& groups,
                   double error = 0.05) {
  std::vector<double> more;
  for (std::size_t i = 0; i < right.size(); ++i) more.push_back(right[i] - other.at(i));
  return interval_of(more, groups, difference_scale, error);
}

/// The values of one kind of sentences, and the numbers of the groups that they belong to.
struct Sample {
  std::vector<double> values;
  std::vector<int> groups;
};

/// Returns the correlation of the means of two samples, at most 0. They are correlated if groups have values in both, as the
/// sentences of a minimal pair that are of two kinds. If all values of a sample with such groups are equal, the correlation is
/// unknown, and this returns -1.
double correlation_of(const Sample& one, const Sample& other);

/// Returns the difference of two means, `one` minus `other`, and its interval (Newcombe 1998, method 10) from their intervals and
/// their correlation. A negative correlation widens it.
///
///     const Sample tired{{1, 0, 1}, {0, 1, 2}}, wide{{0, 1, 0}, {0, 1, 2}};  // three pairs
///     const Interval x = interval_of(tired.values, tired.groups, difference_scale);
///     const Interval y = interval_of(wide.values, wide.groups, difference_scale);
///     const Interval more = difference_of(x, y, correlation_of(tired, wide));  // 0.33
Interval difference_of(const Interval& one, const Interval& other, double correlation);

/// Returns the value that a normal variable exceeds, up or down, with probability `error`: 1.96 for 0.05.
double z_of(double error);

/// Returns the probability of a mean as far from 0 as that of `differences` of two answers, or farther, if their mean is 0.
double p_of(const std::vector<double>& differences, const std::vector<int>& groups);

}  // namespace heed
