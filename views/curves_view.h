#pragma once
#include "tokenizers/internal/json.h"
#include "views/view.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace heed {

/// The numbers of one name in metrics.jsonl by their steps.
struct Curve {
  std::string name;
  std::vector<std::pair<std::int64_t, double>> points;
};

/// Reads the curves of a run whose names contain `part`, in the order of their first lines. Throws `Error` without one.
std::vector<Curve> curves_of(const std::filesystem::path& run, const std::string& part);

/// Returns a line per curve: its first, smallest, largest and last number, and its course, of which each column shows the mean over
/// its steps.
std::string curves_view(const std::vector<Curve>& curves, const View& view);

/// Returns one self-contained SVG: a panel per name, and one for all names with the same part before a slash, such as
/// "gradient/NAME". A panel of positive numbers that differ more than a hundredfold is logarithmic.
std::string curves_svg(const std::vector<Curve>& curves, const std::string& title);

/// Returns {"loss": {"steps": [0, 10], "values": [0.7, null]}, ...}; null for a number that is not finite.
Json curves_json(const std::vector<Curve>& curves);

}  // namespace heed
