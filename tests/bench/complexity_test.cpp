#include "bench/complexity.h"

#include "tests/catch.h"

#include <heed/autograd/tensor.h>

#include <regex>

using namespace heed;
using namespace heed::bench;

namespace {

std::vector<std::string> found(const std::string& text, const std::string& pattern) {
  std::vector<std::string> all;
  const std::regex regex(pattern);
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i) all.push_back((*i)[1]);
  return all;
}

}  // namespace

TEST_CASE("Values with the expected growth lie on the dashed line") {
  const std::string svg = draw({{"n", 2, 1, {{1, 1, 10}, {2, 4, 20}, {4, 16, 40}}}});
  const auto heights = found(svg, "cy='([0-9.]+)'"), ends = found(svg, "y[12]='([0-9.]+)'");
  REQUIRE(heights.size() == 6);  // of time, then of memory
  REQUIRE(ends.size() == 4);
  CHECK(heights[0] == ends[0]);
  CHECK(heights[2] == ends[1]);
  CHECK(heights[3] == ends[2]);
  CHECK(heights[5] == ends[3]);
  CHECK(std::stod(heights[1]) == Approx((std::stod(heights[0]) + std::stod(heights[2])) / 2).margin(0.11));
}

TEST_CASE("Values that grow faster than expected depart from the dashed line") {
  const std::string svg = draw({{"n", 1, 1, {{1, 1, 1}, {10, 100, 10}}}});
  const auto heights = found(svg, "cy='([0-9.]+)'"), ends = found(svg, "y[12]='([0-9.]+)'");
  CHECK(std::stod(heights[0]) > std::stod(ends[0]) + 40);  // the first time lies below the line; y grows downwards
  CHECK(heights[2] == ends[2]);
}

TEST_CASE("measure_point reports the peak memory of the work, not the memory left afterwards") {
  int runs = 0;
  const Point point = measure_point(7, [&] {
    ++runs;
    const Tensor kept = zeros({1 << 18});  // 1 MiB
    { const Tensor passing = zeros({1 << 19}); }
  });
  CHECK(runs == 6);
  CHECK(point.size == 7);
  CHECK(point.ms > 0);
  CHECK(point.mb == Approx(3 * 1.048576));
}
