#include "tests/catch.h"

#include <heed/explain/studies/interval.h>

#include <cmath>

using namespace heed;

TEST_CASE("wilson() gives Wilson's interval, also near 0 and 1") {
  const Interval most = wilson(8, 10);  // Brown, Cai & DasGupta's formula, by hand
  CHECK(most.share == 0.8);
  CHECK(most.low == Approx(0.4902).margin(1e-4));
  CHECK(most.high == Approx(0.9433).margin(1e-4));
  CHECK(wilson(0, 10).low == 0);
  CHECK(wilson(0, 10).high == Approx(0.2775).margin(1e-4));
  CHECK(wilson(10, 10).high == Approx(1));
  CHECK(std::isnan(wilson(0, 0).share));
}

TEST_CASE("share_of resamples pairs: equal results widen the interval, different results narrow it") {
  std::vector<bool> together, apart;
  std::vector<int> twin;
  for (int pair = 0; pair < 100; ++pair) {
    together.insert(together.end(), {pair % 2 == 0, pair % 2 == 0});
    apart.insert(apart.end(), {true, false});
    twin.insert(twin.end(), {2 * pair + 1, 2 * pair});
  }
  const Interval alone = wilson(100, 200), wide = share_of(together, twin), narrow = share_of(apart, twin);
  CHECK(wide.share == 0.5);
  // 100 pairs: 0.5 +- 1.96 sqrt(0.25 / 100)
  CHECK(wide.low == Approx(0.402).margin(0.015));
  CHECK(wide.high == Approx(0.598).margin(0.015));
  CHECK(wide.low < alone.low);
  CHECK(narrow.low == Approx(0.5 - wilson(0, 100).high / 2));  // every pair is half right
  CHECK(narrow.high == Approx(0.5 + wilson(0, 100).high / 2));
  CHECK(share_of(together, twin).low == wide.low);
  // Ten correct pairs give only equal samples, like ten sentences.
  const std::vector<int> ten(twin.begin(), twin.begin() + 20);
  CHECK(share_of(std::vector<bool>(20, true), ten).low == Approx(wilson(10, 10).low));
  CHECK(share_of(std::vector<bool>(20, false), ten).high == Approx(wilson(0, 10).high));
  CHECK(share_of(together, std::vector<int>(200, -1)).low == alone.low);
}

TEST_CASE("interval_of equals Wilson's interval for equal values, and counts a pair once") {
  std::vector<double> half, none(200, 0.0);
  std::vector<int> alone, pairs;
  for (int i = 0; i < 200; ++i) {
    half.push_back(i % 4 < 2);  // equal within each pair
    alone.push_back(i);
    pairs.push_back(i / 2);
  }
  CHECK(interval_of(none, alone).share == 0);
  CHECK(interval_of(none, alone).high == Approx(wilson(0, 200).high));
  CHECK(interval_of(none, pairs).high == Approx(wilson(0, 100).high));
  const Interval as_sentences = interval_of(half, alone), as_pairs = interval_of(half, pairs);
  CHECK(as_sentences.share == 0.5);
  CHECK(as_sentences.error() == Approx(1.96 * std::sqrt(0.25 / 200)).epsilon(0.05));
  CHECK(as_pairs.error() == Approx(1.96 * std::sqrt(0.25 / 100)).epsilon(0.1));
  CHECK(interval_of({1}, {0}).low == Approx(wilson(1, 1).low));
  CHECK(interval_of({0.5, 0.25}, {0, 0}).error() == 1);
  // A measured value has the error of its deviations.
  CHECK(interval_of({0.25, 0.75, 0.25, 0.75}, {0, 1, 2, 3}).error() ==
        Approx(1.96 * std::sqrt(0.0625 / 3)).epsilon(0.001));
  CHECK(std::isnan(interval_of({}, {}).share));
}

TEST_CASE("Interval::is_above compares the interval as it is printed") {
  CHECK(Interval{0.6, 0.51, 0.69}.is_above(0.5));
  CHECK_FALSE(Interval{0.055, 0.0003, 0.1097}.is_above(0));
}
