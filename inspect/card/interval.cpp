#include "inspect/card/interval.h"

#include <heed/autograd/random.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {

Interval wilson(int right, int count) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (count == 0) return {unknown, unknown, unknown};
  constexpr double z = 1.959963984540054;  // 97.5 % of a normal distribution
  const double n = count, p = right / n, centre = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
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
  if (all == 0 || all == count) {  // drawn again, these are always the same
    const int groups_right = all == 0 ? 0 : static_cast<int>(groups.size());
    return wilson(groups_right, static_cast<int>(groups.size()));
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
  return {static_cast<double>(all) / count, shares[times * 25 / 1000], shares[times - 1 - times * 25 / 1000]};
}

}  // namespace heed
