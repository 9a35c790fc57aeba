#include <heed/explain/studies/rank_correlation.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace heed {
namespace {

// Returns the ranks minus their mean.
std::vector<double> centred_ranks(const std::vector<double>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  std::vector<double> ranks(x.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && x[order[end]] == x[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end - 1) / 2 - static_cast<double>(x.size() - 1) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

}  // namespace

double rank_correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto is_nan = [](double value) { return std::isnan(value); };  // a NaN cannot be ranked
  if (std::ranges::any_of(x, is_nan) || std::ranges::any_of(y, is_nan)) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> a = centred_ranks(x), b = centred_ranks(y);
  const auto product = [](const std::vector<double>& u, const std::vector<double>& v) {
    return std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
  };
  return product(a, b) / std::sqrt(product(a, a) * product(b, b));
}

}  // namespace heed
