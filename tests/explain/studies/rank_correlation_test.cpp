#include "tests/catch.h"

#include <heed/explain/studies/rank_correlation.h>

#include <cmath>
#include <limits>

using namespace heed;

TEST_CASE("rank_correlation equals Spearman's coefficient") {
  CHECK(rank_correlation({1, 2, 3, 4}, {10, 30, 20, 40}) == Approx(0.8));
  CHECK(rank_correlation({1, 2, 3}, {3, 2, 1}) == Approx(-1));
  CHECK(rank_correlation({5, 5, 7}, {1, 2, 3}) == Approx(std::sqrt(3) / 2));  // ties share a rank
  CHECK(std::isnan(rank_correlation({1, 1}, {1, 2})));
}

TEST_CASE("rank_correlation returns NaN if a value is NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(rank_correlation({1, nan, 3}, {3, 2, 1})));
  CHECK(std::isnan(rank_correlation({1, 2, 3}, {nan, nan, nan})));
}
