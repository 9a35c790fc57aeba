#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace heed::bench {

// One step of some work at a size: the shortest time, and the most memory that tensors held on the way.
struct Point {
  double size, ms, mb;
};
struct Series {
  std::string what;                 // the size that varies
  double time_slope, memory_slope;  // of the lines that time and memory should follow for large sizes
  std::vector<Point> points;
};

// What `work` takes, once it has run once.
Point measure_point(double size, const std::function<void()>& work);

// Two charts for each series (SVG, logarithmic axes): its points, and dashed a line of the slope that they should have, through
// the last one.
std::string draw(const std::vector<Series>& all);

// How time and memory of a training step grow with each size of a model, and of a graph with its nodes: printed as a
// table and drawn to `picture`.
void measure_complexity(const std::filesystem::path& picture);

}  // namespace heed::bench
