#include <heed/explain/studies/interval.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>

namespace heed {
namespace {

constexpr double no_figure = std::numeric_limits<double>::quiet_NaN();

// A mean of groups of values.
class Mean {
 public:
  Mean(const std::vector<Group>& groups, ScoreScale scale) : groups_(groups), scale_(scale) {
    double sum = 0, squares = 0;
    for (const Group& group : groups) {
      count_ += group.count;
      values_ += group.count * group.values;
      sum += group.count * group.sum;
      squares += group.count * group.values * group.values;
    }
    group_size_ = squares / values_;
    mean_ = sum / values_;
  }

  double mean() const { return mean_; }

  double score(double mean) const {
    const double side = mean_ < mean ? -1 : 1;
    const double distance = std::abs(mean_ - mean) - scale_.step * group_size_ / (2 * values_);
    if (distance <= 0) return 0;
    return side * distance * values_ / std::sqrt(count_ * variance(mean, side));
  }

 private:
  // Returns the variance of a group's deviation from `mean`, in the distribution with this mean that makes the groups most
  // probable (empirical likelihood, Owen 1988). It may put a share on the end of the scale beyond `mean`, where no group is.
  double variance(double mean, double side) const {
    const double end = group_size_ * side * ((side > 0 ? scale_.low : scale_.high) - mean);  // at most 0
    double least = 0;                                                                        // of the groups
    for (const Group& group : groups_) least = std::min(least, deviation(group, mean, side));
    const bool is_beyond = end < least * (1 + 1e-9);  // no group is at the end, whatever the rounding
    // The probability of a group is count / (all groups (1 + tilt deviation)).
    const double most = -1 / std::min(end, least);
    const bool reaches_end = is_beyond && moments(most, mean, side).first > 0;
    double tilt = most;
    for (double low = 0, high = most, next = 0;
         !reaches_end && high - low > 1e-12 * most;) {  // Newton, within [low, high]
      tilt = next;
      const Moments at = moments(tilt, mean, side);
      (at.first > 0 ? low : high) = tilt;
      next = tilt + at.first / at.slope;
      if (std::abs(next - tilt) <= 1e-12 * most) break;
      if (!(next > low && next < high)) next = (low + high) / 2;
    }
    const Moments found = moments(tilt, mean, side);
    return found.second + (reaches_end ? tilt * found.first * end * end : 0);
  }

  static double deviation(const Group& group, double mean, double side) {
    return side * (group.sum - group.values * mean);
  }

  // The means of the deviations and of their squares, by the probabilities that a tilt gives; and how fast the first falls.
  struct Moments {
    double first = 0, second = 0, slope = 0;
  };

  Moments moments(double tilt, double mean, double side) const {
    Moments result;
    for (const Group& group : groups_) {
      const double d = deviation(group, mean, side);
      if (d == 0) continue;
      const double factor = d / (1 + tilt * d), part = group.count / count_ * factor;
      result.first += part;
      result.second += part * d;
      result.slope += part * factor;
    }
    return result;
  }

  const std::vector<Group>& groups_;
  ScoreScale scale_;
  double count_ = 0, values_ = 0, group_size_ = 1, mean_ = 0;
};

// Returns the mean between `inside` and `outside` up to which the score is at most z.
double end_of(const Mean& mean, double inside, double outside, double z) {
  for (int i = 0; i < 30; ++i) {
    const double middle = (inside + outside) / 2;
    (std::abs(mean.score(middle)) <= z ? inside : outside) = middle;
  }
  return inside;
}

}  // namespace

double z_of(double error) {
  double low = 0, high = 40;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::numbers::sqrt2) > error ? low : high) = middle;
  }
  return low;
}

std::vector<Group> groups_of(const std::vector<double>& values, const std::vector<int>& groups) {
  std::map<int, std::pair<double, double>> sums;  // of each group: sum and number of values
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& [sum, count] = sums[groups.empty() ? static_cast<int>(i) : groups.at(i)];
    sum += values[i];
    ++count;
  }
  std::map<std::pair<double, double>, double> counts;
  for (const auto& [number, sum] : sums) ++counts[sum];
  std::vector<Group> all;
  for (const auto& [sum, count] : counts) all.push_back({sum.first, sum.second, count});
  return all;
}

double correlation_of(const Sample& one, const Sample& other) {
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  const double mean_one = mean(one.values), mean_other = mean(other.values);
  struct Deviations {
    double one = 0, other = 0;
    bool has_one = false, has_other = false;
  };
  std::map<int, Deviations> groups;
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    Deviations& group = groups[one.groups.at(i)];
    group.one += one.values[i] - mean_one;
    group.has_one = true;
  }
  for (std::size_t i = 0; i < other.values.size(); ++i) {
    Deviations& group = groups[other.groups.at(i)];
    group.other += other.values[i] - mean_other;
    group.has_other = true;
  }
  double squares_one = 0, squares_other = 0, products = 0;
  bool is_shared = false;
  for (const auto& [number, group] : groups) {
    squares_one += group.one * group.one;
    squares_other += group.other * group.other;
    products += group.one * group.other;
    is_shared = is_shared || (group.has_one && group.has_other);
  }
  if (!is_shared) return 0;
  constexpr double rounding = 1e-18;
  if (squares_one < rounding || squares_other < rounding) return -1;
  return std::min(0.0, products / std::sqrt(squares_one * squares_other));
}

Interval difference_of(const Interval& one, const Interval& other, double correlation) {
  const auto width = [&](double a, double b) { return std::sqrt(a * a - 2 * correlation * a * b + b * b); };
  const double difference = one.share - other.share;
  return {difference, difference - width(one.share - one.low, other.high - other.share),
          difference + width(one.high - one.share, other.share - other.low)};
}

double p_of(const std::vector<double>& differences, const std::vector<int>& groups) {
  return std::erfc(std::abs(score_of(groups_of(differences, groups), difference_scale, 0)) / std::numbers::sqrt2);
}

double score_of(const std::vector<Group>& groups, ScoreScale scale, double mean) {
  return Mean(groups, scale).score(mean);
}

Interval interval_of(const std::vector<Group>& groups, ScoreScale scale, double error) {
  if (groups.empty()) return {no_figure, no_figure, no_figure};
  const Mean mean(groups, scale);
  const double z = z_of(error);
  return {mean.mean(), end_of(mean, mean.mean(), scale.low, z), end_of(mean, mean.mean(), scale.high, z)};
}

Interval interval_of(const std::vector<double>& values, const std::vector<int>& groups, ScoreScale scale,
                     double error) {
  return interval_of(groups_of(values, groups), scale, error);
}

Interval share_of(const std::vector<bool>& right, const std::vector<int>& groups) {
  return interval_of({right.begin(), right.end()}, groups, share_scale);
}

}  // namespace heed
