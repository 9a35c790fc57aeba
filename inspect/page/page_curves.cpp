#include "inspect/page/page_curves.h"

#include "views/curves_view.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace heed {
namespace {

constexpr std::size_t max_points = 600'000;  // of a page: about 15 MB
constexpr std::size_t min_of_curve = 200, max_of_curve = 4'000;

// Returns at most `count` points: of each stretch of them the smallest, the largest and one that is not finite.
std::vector<std::pair<std::int64_t, double>> thinned(const std::vector<std::pair<std::int64_t, double>>& points,
                                                     std::size_t count) {
  if (points.size() <= count) return points;
  std::vector<std::pair<std::int64_t, double>> kept{points.front()};
  const std::size_t stretches = (count - 2) / 3;
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t none = points.size();
    std::size_t low = none, high = none, lost = none;
    for (std::size_t k = 1 + i * (none - 2) / stretches; k < 1 + (i + 1) * (none - 2) / stretches; ++k) {
      if (!std::isfinite(points[k].second)) {
        if (lost == none) lost = k;
        continue;
      }
      if (low == none || points[k].second < points[low].second) low = k;
      if (high == none || points[k].second > points[high].second) high = k;
    }
    std::vector<std::size_t> chosen{low, high, lost};
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const std::size_t k : chosen) {
      if (k != none) kept.push_back(points[k]);
    }
  }
  kept.push_back(points.back());
  return kept;
}

}  // namespace

std::vector<PageRun> page_curves(const std::vector<std::filesystem::path>& logs) {
  std::vector<std::vector<Curve>> all;
  std::size_t curves = 0;
  for (const std::filesystem::path& log : logs) curves += all.emplace_back(curves_of(log, "")).size();
  const std::size_t count = std::clamp(max_points / curves, min_of_curve, max_of_curve);
  std::vector<PageRun> runs;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    PageRun run;
    run.path = logs[i];
    Json steps = Json::array(), list = Json::array();
    std::map<std::vector<std::int64_t>, std::size_t> index;  // most curves share their steps
    for (const Curve& curve : all[i]) {
      std::vector<std::int64_t> at;
      Json values = Json::array();
      for (const auto& [step, value] : thinned(curve.points, count)) {
        at.push_back(step);
        values.push_back(std::isfinite(value) ? Json(value) : Json());
      }
      const auto [found, is_new] = index.emplace(at, steps.size());
      if (is_new) steps.push_back(at);
      list.push_back(
          {{"name", curve.name}, {"steps", found->second}, {"values", values}, {"count", curve.points.size()}});
    }
    run.description["steps"] = std::move(steps);
    run.description["curves"] = std::move(list);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace heed
