#include <heed/autograd/random.h>
#include <heed/explain/studies/interval.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace heed {
namespace {

constexpr double no_interval = std::numeric_limits<double>::quiet_NaN();
constexpr double z_95 = 1.959963984540054;  // 97.5 % of a normal distribution

}  // namespace

Interval wilson(int right, int count) {
  if (count == 0) return {no_interval, no_interval, no_interval};
  const double n = count, p = right / n, centre = (p + z_95 * z_95 / (2 * n)) / (1 + z_95 * z_95 / n);
  const double half = z_95 / (1 + z_95 * z_95 / n) * std::sqrt(p * (1 - p) / n + z_95 * z_95 / (4 * n * n));
  return {p, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

Interval share_of(const std::vector<bool>& right, const std::vector<int>& twin) {
  const int all = static_cast<int>(std::count(right.begin(), right.end(), true));
  const int count = static_cast<int>(right.size());
  if (std::ranges::all_of(twin, [](int t) { return t < 0; })) return wilson(all, count);
  struct Group {
    int right, size;
  };
  std::vector<Group> groups;
  for (int i = 0; i < count; ++i) {
    const int other = twin[static_cast<std::size_t>(i)];
    if (other >= 0 && other < i) continue;
    groups.push_back({right[static_cast<std::size_t>(i)], 1});
    if (other < 0) continue;
    groups.back().right += right[static_cast<std::size_t>(other)];
    groups.back().size = 2;
  }
  const double share = static_cast<double>(all) / count;
  if (std::ranges::all_of(groups, [&](Group g) { return g.right * count == g.size * all; })) {  // always drawn the same
    const double unlike =
        wilson(0, static_cast<int>(groups.size())).high;  // the largest share of groups of another kind
    return {share, share - unlike * share, share + unlike * (1 - share)};
  }
  constexpr int times = 4000;
  Random random = Random(1).stream("card");
  std::vector<double> shares;
  for (int time = 0; time < times; ++time) {
    int drawn_right = 0, drawn = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Group group = groups[static_cast<std::size_t>(random.below(std::ssize(groups)))];
      drawn_right += group.right;
      drawn += group.size;
    }
    shares.push_back(static_cast<double>(drawn_right) / drawn);
  }
  std::ranges::sort(shares);
  return {share, shares[times * 25 / 1000], shares[times - 1 - times * 25 / 1000]};
}

Interval interval_of(const std::vector<double>& values, const std::vector<int>& groups) {
  if (values.empty()) return {no_interval, no_interval, no_interval};
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  std::map<int, double> deviations;  // of each group
  for (std::size_t i = 0; i < values.size(); ++i) deviations[groups.at(i)] += values[i] - mean;
  const auto G = static_cast<double>(deviations.size());
  double squares = 0;
  for (const auto& [group, deviation] : deviations) squares += deviation * deviation;
  if (G > 1) squares *= G / (G - 1);
  const bool counts = std::ranges::all_of(values, [](double value) { return value == std::round(value); });
  if (counts || G == 1) squares += std::pow(z_95 * n / (G + (counts ? z_95 * z_95 : 0)), 2);
  const double error = std::min(1.0, z_95 * std::sqrt(squares) / n);
  return {mean, mean - error, mean + error};
}

}  // namespace heed
