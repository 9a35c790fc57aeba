#include "tests/catch.h"

#include <heed/explain/studies/interval.h>

#include <cmath>

using namespace heed;

namespace {

// `count` values, the first `right` of which are 1.
std::vector<bool> answers(int right, int count) {
  std::vector<bool> values(static_cast<std::size_t>(count));
  std::fill_n(values.begin(), right, true);
  return values;
}

// Numbers of groups of `size` values.
std::vector<int> groups_of(int size, int count) {
  std::vector<int> groups;
  for (int i = 0; i < count; ++i) groups.push_back(i / size);
  return groups;
}

void check(const Interval& interval, double low, double high) {
  CHECK(interval.low == Approx(low).margin(6e-5));
  CHECK(interval.high == Approx(high).margin(6e-5));
}

}  // namespace

TEST_CASE("share_of gives Wilson's interval with continuity correction for independent answers") {
  // Newcombe 1998, Statistics in Medicine 17, 857: table I, method 4
  check(share_of(answers(81, 263)), 0.2535, 0.3682);
  check(share_of(answers(15, 148)), 0.0598, 0.1644);
  check(share_of(answers(0, 20)), 0, 0.2005);
  check(share_of(answers(1, 29)), 0.0018, 0.1963);
  CHECK(share_of(answers(81, 263)).share == 81.0 / 263);
  CHECK(std::isnan(share_of({}).share));
}

TEST_CASE("The interval of a difference lies around Tango's") {
  // Tango 1998, Statistics in Medicine 17, 891: 12 of 44 differ in one direction, 2 in the other; 0.0569 to 0.3404 without
  // continuity correction.
  std::vector<double> values(44, 0.0);
  std::fill_n(values.begin(), 9, 1.0);
  std::fill_n(values.rbegin(), 2, -1.0);
  const double p = p_of(values, {});
  CHECK(p == Approx(std::erfc((7 - 0.5) / std::sqrt(11) / std::sqrt(2))));  // McNemar's test
  const Interval measured = interval_of(values, {}, {-1, 1, 0});
  const double d = 7.0 / 44;
  for (const double end : {measured.low, measured.high}) {  // Tango's equation, with q21 from its quadratic
    const double A = 2 * 44, B = -9 - 2 + (2 * 44 - 9 + 2) * end, C = -2 * end * (1 - end);
    const double q = (std::sqrt(B * B - 4 * A * C) - B) / (2 * A);
    CHECK(std::abs(44 * (d - end)) / std::sqrt(44 * (2 * q + end * (1 - end))) == Approx(1.96).epsilon(1e-4));
  }
}

TEST_CASE("More right answers raise both ends of the interval, whatever the groups") {
  for (const int singles : {0, 2, 5}) {
    for (int code = 0; code < 1 << 8; ++code) {  // 4 pairs
      const auto interval = [&](int answered) {
        std::vector<bool> right;
        std::vector<int> groups;
        for (int i = 0; i < 8; ++i) right.push_back(answered >> i & 1), groups.push_back(i / 2);
        for (int i = 0; i < singles; ++i) right.push_back(i % 2), groups.push_back(10 + i);
        return share_of(right, groups);
      };
      const Interval before = interval(code);
      for (int i = 0; i < 8; ++i) {
        if (code >> i & 1) continue;
        const Interval after = interval(code | 1 << i);
        INFO(singles << " " << code << " " << i);
        CHECK(after.low >= before.low);
        CHECK(after.high >= before.high);
      }
    }
  }
  CHECK(share_of(answers(6, 6)).low > share_of(answers(5, 6)).low);
  CHECK(share_of(answers(6, 6), groups_of(2, 6)).low > share_of(answers(5, 6), groups_of(2, 6)).low);
}

TEST_CASE("Equal answers within pairs widen the interval, different answers narrow it") {
  const std::vector<int> pairs = groups_of(2, 200);
  std::vector<bool> together, apart;
  for (int i = 0; i < 200; ++i) together.push_back(i % 4 < 2), apart.push_back(i % 2 == 0);
  const Interval alone = share_of(together), wide = share_of(together, pairs), narrow = share_of(apart, pairs);
  check(wide, share_of(answers(50, 100)).low, share_of(answers(50, 100)).high);  // as 100 sentences
  CHECK(alone.error() == Approx(0.0707).margin(1e-3));
  CHECK(narrow.error() < 0.04);
  CHECK(narrow.low < 0.5);
  // Pairs that are all right do not show that they are independent.
  check(share_of(answers(20, 20), groups_of(2, 20)), share_of(answers(10, 10)).low, 1);
  CHECK(share_of(together, pairs).low == wide.low);
}

TEST_CASE("The interval of measured values has their standard error, and some width if all are equal") {
  std::vector<double> values;
  for (int i = 0; i < 400; ++i) values.push_back(0.5 + (i % 2 ? 0.1 : -0.1));
  CHECK(interval_of(values, {}, {0, 1, 0}).error() == Approx(1.96 * 0.1 / 20).epsilon(0.02));
  const Interval equal = interval_of(std::vector<double>(100, 0.5), {}, {0, 1, 0});
  CHECK(equal.low < 0.49);
  CHECK(equal.high > 0.51);
  CHECK(interval_of(values, {}, {0, 1, 0}, 0.05 / 12).error() > 1.4 * interval_of(values, {}, {0, 1, 0}).error());
  CHECK(z_of(0.05) == Approx(1.959963984540054));
}

TEST_CASE("Interval::is_above compares the interval as it is printed") {
  CHECK(Interval{0.6, 0.51, 0.69}.is_above(0.5));
  CHECK_FALSE(Interval{0.055, 0.0003, 0.1097}.is_above(0));
}
