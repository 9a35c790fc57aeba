#pragma once
#include <filesystem>

namespace heed::bench {

// How time and memory of a training step grow with each size of a model, and of a graph with its nodes: printed as a
// table and drawn to `picture` (SVG, logarithmic axes) beside the straight lines that they should follow.
void measure_complexity(const std::filesystem::path& picture);

}  // namespace heed::bench
