#include "tests/catch.h"
#include "tests/message.h"

#include <heed/explain/circuits/curve_areas.h>
#include <heed/explain/circuits/pair_intervals.h>

#include <cmath>

using namespace heed;

TEST_CASE("mean_interval and ratio_interval") {
  const std::vector<double> a{1, 2, 3, 4, 6}, twice{2, 4, 6, 8, 12};
  const Interval mean = mean_interval(a);
  CHECK(mean.share == Approx(3.2));
  CHECK(mean.high - 3.2 == Approx(2.7764451051977934 * std::sqrt(3.7 / 5)));
  CHECK(3.2 - mean.low == Approx(mean.high - 3.2));
  // Copies of a value in one group are one observation.
  const std::vector<double> copies{1, 1, 2, 2, 3, 3, 4, 4, 6, 6};
  const Interval grouped = mean_interval(copies, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(grouped.low == Approx(mean.low));
  CHECK(mean_interval(copies).low > mean.low + 0.3);

  const Interval exact = ratio_interval(a, twice);
  CHECK((exact.share == Approx(0.5) && exact.low == Approx(0.5) && exact.high == Approx(0.5)));
  // Its ends are those at which the mean of a - r b is just not shown to differ from 0.
  const std::vector<double> b{2, 5, 7, 7, 13};
  const Interval ratio = ratio_interval(a, b);
  for (const double end : {ratio.low, ratio.high}) {
    std::vector<double> rest;
    for (std::size_t i = 0; i < a.size(); ++i) rest.push_back(a[i] - end * b[i]);
    const Interval zero = mean_interval(rest);
    CHECK(std::min(std::abs(zero.low), std::abs(zero.high)) < 1e-9);
  }
  CHECK(std::isinf(ratio_interval(a, {1, -1, 2, -2, 0.1}).high));
  CHECK(std::isinf(mean_interval({1}).high));
  CHECK(message([&] { ratio_interval(a, {1}); }) == "ratio_interval: expected as many values of b as of a, 5, got 1");
}

TEST_CASE("CurveAreas are those of the curve, from no edges on") {
  CurveAreas areas({2, 4});
  areas.add(0.5, {2, 1});  // f = 0.5
  areas.add(1, {2, 4});
  CHECK(areas.cpr().share == Approx(0.5 * 0.25 + 0.5 * 0.75));
  CHECK(areas.cmd(Random(1)).share == Approx(0.5 * 0.75 + 0.5 * 0.25));
  CurveAreas above({1, 1, 1, 1});
  above.add(0.5, {2, 2, 2, 2});  // f = 2: more than the model
  above.add(1, {1, 1, 1, 1});
  CHECK(above.cpr().share == Approx(0.5 * 1 + 0.5 * 1.5));
  const Interval cmd = above.cmd(Random(1));
  CHECK(cmd.share == Approx(0.5 * 1 + 0.5 * 0.5));
  CHECK((cmd.low == Approx(cmd.share) && cmd.high == Approx(cmd.share)));
  CurveAreas unsure({1, -1, 2, -1.5});  // the mean of what is lost may be 0
  unsure.add(1, {1, -1, 2, -1.5});
  CHECK(unsure.cmd(Random(1)).high == std::numeric_limits<double>::infinity());
  CHECK(message([&] { above.add(1, {1, 1, 1, 1}); }) == "CurveAreas: expected 4 values of a share above 1, got 4 of 1");
}
