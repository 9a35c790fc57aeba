#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace heed::bench {

/// One step of some work at a size: the shortest time, and the maximum memory of tensors.
struct Point {
  double size, ms, mb;
};
struct Series {
  std::string what;                 // the size that varies
  double time_slope, memory_slope;  // expected slopes of time and memory for large sizes
  std::vector<Point> points;
};

/// Measures `work`, after one run to warm up.
Point measure_point(double size, const std::function<void()>& work);

/// Draws two charts per series (SVG, logarithmic axes): the points, and a dashed line with the expected slope through
/// the last point.
std::string draw(const std::vector<Series>& all);

/// Measures how time and memory of a training step grow with each size of a model, and of a graph with its nodes.
/// Prints a table and draws it to `picture`.
void measure_complexity(const std::filesystem::path& picture);

}  // namespace heed::bench
