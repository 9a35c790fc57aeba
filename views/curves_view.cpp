#include "views/curves_view.h"

#include "views/terminal.h"

#include <heed/files/utf8.h>
#include <heed/run/dump.h>
#include <heed/run/log.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace heed {
namespace {

// Returns the course of a curve between its smallest and its largest number in `columns` columns; a space without finite numbers.
std::string course(const Curve& curve, double low, double high, int columns) {
  constexpr std::array levels{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const double first = static_cast<double>(curve.points.front().first);
  const double steps = static_cast<double>(curve.points.back().first) - first + 1;
  std::vector<double> sum(static_cast<std::size_t>(columns)), count(sum.size());
  for (const auto& [step, value] : curve.points) {
    if (!std::isfinite(value)) continue;
    const double place = (static_cast<double>(step) - first) * columns / steps;
    const std::size_t column = std::min(static_cast<std::size_t>(place), sum.size() - 1);
    sum[column] += value;
    ++count[column];
  }
  std::string text;
  double before = std::nan("");
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double value = count[i] > 0 ? sum[i] / count[i] : before;  // between two points the first one's level
    before = value;
    const double share = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0.5;
    text += std::isnan(value) ? " " : levels[static_cast<std::size_t>(std::lround(share * (levels.size() - 1)))];
  }
  return text;
}

std::string figure(double value) { return fmt::format("{:>10.4g}", value); }

}  // namespace

std::vector<Curve> curves_of(const std::filesystem::path& run, const std::string& part) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(metrics_path(run), unreadable)) {
    fail("{}: has no metrics.jsonl; expected the directory of a run of train, or of a Log", run.string());
  }
  std::vector<Curve> curves;
  std::map<std::string, std::size_t> index;
  for (const LogLine& line : read_log(run)) {
    for (const auto& [name, value] : line.values) {
      if (name.find(part) == std::string::npos) continue;
      const auto [found, is_new] = index.emplace(name, curves.size());
      if (is_new) curves.push_back({name, {}});
      curves[found->second].points.emplace_back(line.step, value);
    }
  }
  if (curves.empty()) {
    fail("{}: metrics.jsonl has no numbers{}", run.string(),
         part.empty() ? "" : fmt::format(" whose names contain '{}'", excerpt(part)));
  }
  for (Curve& curve : curves) {
    std::ranges::stable_sort(curve.points, {}, &std::pair<std::int64_t, double>::first);
  }
  return curves;
}

std::string curves_view(const std::vector<Curve>& curves, const View& view) {
  int widest = 4;
  for (const Curve& curve : curves) widest = std::max(widest, std::min(display_width(visible(curve.name)), 40));
  const int columns = std::clamp(view.terminal.width - widest - 46, 8, 60);
  std::string text =
      fmt::format("{:{}} {:>10} {:>10} {:>10} {:>10}\n", "name", widest, "first", "smallest", "largest", "last");
  for (const Curve& curve : curves) {
    double low = INFINITY, high = -INFINITY;
    for (const auto& [step, value] : curve.points) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    const bool is_finite = low <= high;
    text += trimmed(fmt::format("{} {} {} {} {}  {}", fit_width(visible(curve.name), widest),
                                figure(curve.points.front().second), figure(is_finite ? low : NAN),
                                figure(is_finite ? high : NAN), figure(curve.points.back().second),
                                course(curve, low, high, columns))) +
            "\n";
  }
  const auto& longest =
      std::ranges::max_element(curves, {}, [](const Curve& c) { return c.points.back().first; })->points;
  return text + fmt::format("steps {} to {}\n", curves.front().points.front().first, longest.back().first);
}

Json curves_json(const std::vector<Curve>& curves) {
  Json json = Json::object();
  for (const Curve& curve : curves) {
    Json& one = json[curve.name] = {{"steps", Json::array()}, {"values", Json::array()}};
    for (const auto& [step, value] : curve.points) {
      one["steps"].push_back(step);
      one["values"].push_back(std::isfinite(value) ? Json(value) : Json());
    }
  }
  return json;
}

}  // namespace heed
