#pragma once
#include <heed/autograd/random.h>
#include <heed/explain/circuits/pair_intervals.h>

#include <vector>

namespace heed {

/// The areas of a curve of faithfulness f over the share k of edges, from f = 0 at k = 0 on (Mueller et al. 2025, MIB,
/// arXiv:2504.13151), by the trapezoid rule: CPR is that under f, CMD that under |1 - f|.
///
///     CurveAreas areas(lost);                       // m(clean) - m(corrupted) of each pair
///     areas.add(0.1, recovered_by_a_tenth);         // m(circuit) - m(corrupted) of each pair
///     areas.add(1, lost);
///     fmt::print("{:.2f}\n", areas.cpr().share);
class CurveAreas {
 public:
  /// Begins with `lost` per pair. Pairs with equal numbers in `groups` count as one observation.
  explicit CurveAreas(std::vector<double> lost, std::vector<int> groups = {});
  /// Adds a circuit of a larger share of edges, and what it recovers of each pair.
  void add(double share, std::vector<double> recovered);
  /// Returns the area under f, a ratio of means, with the interval of ratio_interval().
  Interval cpr() const;
  /// Returns the area under |1 - f|, with the interval of its values for resampled observations; an endless one where that of cpr()
  /// is.
  Interval cmd(const Random& random) const;

 private:
  double cmd_of(const std::vector<double>& weights) const;  // of the observations

  std::vector<double> lost_;
  std::vector<int> groups_;         // as given
  std::vector<std::size_t> place_;  // of each pair among the observations
  std::size_t observations_ = 0;
  std::vector<double> shares_{0};
  std::vector<std::vector<double>> recovered_;  // [share][pair]
};

}  // namespace heed
