#include <heed/autograd/error.h>
#include <heed/explain/circuits/curve_areas.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace heed {

constexpr std::size_t cmd_resamples = 1000;

CurveAreas::CurveAreas(std::vector<double> lost, std::vector<int> groups)
    : lost_(std::move(lost)), groups_(std::move(groups)), recovered_{std::vector<double>(lost_.size())} {
  std::map<int, std::size_t> places;
  for (std::size_t i = 0; i < lost_.size(); ++i) {
    const int group = groups_.empty() ? static_cast<int>(i) : groups_.at(i);
    place_.push_back(places.try_emplace(group, places.size()).first->second);
  }
  observations_ = places.size();
}

void CurveAreas::add(double share, std::vector<double> recovered) {
  if (recovered.size() != lost_.size() || share <= shares_.back()) {
    fail("CurveAreas: expected {} values of a share above {}, got {} of {}", lost_.size(), shares_.back(),
         recovered.size(), share);
  }
  shares_.push_back(share);
  recovered_.push_back(std::move(recovered));
}

Interval CurveAreas::cpr() const {
  std::vector<double> area(lost_.size());
  for (std::size_t i = 1; i < shares_.size(); ++i) {
    const double width = (shares_[i] - shares_[i - 1]) / 2;
    for (std::size_t p = 0; p < area.size(); ++p) area[p] += width * (recovered_[i][p] + recovered_[i - 1][p]);
  }
  return ratio_interval(area, lost_, groups_);
}

double CurveAreas::cmd_of(const std::vector<double>& weights) const {
  const auto sum = [&](const std::vector<double>& values) {
    double result = 0;
    for (std::size_t p = 0; p < values.size(); ++p) result += weights[place_[p]] * values[p];
    return result;
  };
  const double lost = sum(lost_);
  double area = 0, before = 1;
  for (std::size_t i = 1; i < shares_.size(); ++i) {
    const double distance = std::abs(1 - sum(recovered_[i]) / lost);
    area += (shares_[i] - shares_[i - 1]) * (distance + before) / 2;
    before = distance;
  }
  return area;
}

Interval CurveAreas::cmd(const Random& random) const {
  const double area = cmd_of(std::vector<double>(observations_, 1));
  if (!std::isfinite(cpr().error())) return {area, cpr().low, cpr().high};  // the resampled divisor may be 0
  std::vector<double> resampled;
  for (std::size_t r = 0; r < cmd_resamples; ++r) {
    Random draw = random.stream(r);
    std::vector<double> weights(observations_);
    for (std::size_t i = 0; i < observations_; ++i) {
      ++weights[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(observations_)))];
    }
    resampled.push_back(cmd_of(weights));
  }
  std::ranges::sort(resampled);
  return {area, resampled[cmd_resamples * 25 / 1000], resampled[cmd_resamples * 975 / 1000 - 1]};
}

}  // namespace heed
