#include <heed/autograd/error.h>
#include <heed/explain/circuits/pair_intervals.h>
#include <heed/explain/studies/evaluation.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace heed {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

// Sums of two values over each group.
std::vector<std::pair<double, double>> sums_of(const std::vector<double>& a, const std::vector<double>& b,
                                               const std::vector<int>& groups) {
  std::map<int, std::pair<double, double>> sums;
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto& [first, second] = sums[groups.empty() ? static_cast<int>(i) : groups.at(i)];
    first += a[i];
    second += b[i];
  }
  std::vector<std::pair<double, double>> result;
  for (const auto& [group, sum] : sums) result.push_back(sum);
  return result;
}

}  // namespace

Interval share_above_0(const std::vector<double>& values, const std::vector<int>& groups) {
  std::vector<bool> is_above;
  for (const double value : values) is_above.push_back(value > 0);
  return share_of(is_above, groups);
}

Interval mean_interval(const std::vector<double>& values, const std::vector<int>& groups, double error) {
  return ratio_interval(values, std::vector<double>(values.size(), 1), groups, error);
}

Interval ratio_interval(const std::vector<double>& a, const std::vector<double>& b, const std::vector<int>& groups,
                        double error) {
  if (a.size() != b.size())
    fail("ratio_interval: expected as many values of b as of a, {}, got {}", a.size(), b.size());
  const std::vector<std::pair<double, double>> sums = sums_of(a, b, groups);
  const double n = static_cast<double>(sums.size());
  double mean_a = 0, mean_b = 0;
  for (const auto& [x, y] : sums) mean_a += x / n, mean_b += y / n;
  const double ratio = mean_a / mean_b;
  if (n < 2) return {ratio, -endless, endless};
  double aa = 0, ab = 0, bb = 0;  // of the means
  for (const auto& [x, y] : sums) {
    const double p = x - mean_a, q = y - mean_b, scale = n * (n - 1);
    aa += p * p / scale, ab += p * q / scale, bb += q * q / scale;
  }
  // The ends are the solutions r of (mean_a - r mean_b)^2 = t^2 (aa - 2 r ab + r^2 bb).
  const double t = student_t(static_cast<int>(sums.size()) - 1, error), square = t * t;
  const double leading = mean_b * mean_b - square * bb;
  if (!(leading > 0)) return {ratio, -endless, endless};
  const double middle = (mean_a * mean_b - square * ab) / leading;
  const double rest = middle * middle - (mean_a * mean_a - square * aa) / leading;
  const double half = std::sqrt(std::max(rest, 0.0));
  return {ratio, std::min(ratio, middle - half), std::max(ratio, middle + half)};
}

}  // namespace heed
