#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/error.h>
#include <heed/autograd/random.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

using namespace heed;

TEST_CASE("Philox4x32-10 reproduces the published test vectors") {
  const auto block = [](const Random& random, std::uint64_t n) {
    return std::array{random.bits_at(4 * n), random.bits_at(4 * n + 1), random.bits_at(4 * n + 2),
                      random.bits_at(4 * n + 3)};
  };
  using Block = std::array<std::uint32_t, 4>;
  // Counter 0, key 0: the authors' first test vector.
  CHECK(block(Random(0, 0), 0) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  // Counter 243f6a88 05a308d3 13198a2e 03707344, key a4093822 299f31d0.
  CHECK(block(Random(0x299f31d0a4093822, 0x0370734413198a2e), 0x05a308d3243f6a88) ==
        Block{0x2fe11a02, 0x572a2f27, 0x2f88763b, 0x78d5e325});
}

TEST_CASE("bits() steps through bits_at(), and a copy continues from the same position") {
  Random random(5, 9);
  const Random fixed = random;
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(random.bits() == fixed.bits_at(i));
  Random copy = random;
  CHECK(copy.normal() == random.normal());
  CHECK(copy.below(1000) == random.below(1000));
}

TEST_CASE("Draws of many numbers are those of as many calls, from any position") {
  for (const std::size_t skipped : {0, 1, 3, 62, 127}) {
    Random many(3, 1);
    for (std::size_t i = 0; i < skipped; ++i) (void)many.bits();
    Random single = many;
    std::vector<std::uint32_t> bits(301);
    std::vector<double> uniform(301);
    std::vector<std::int32_t> below(301);
    many.bits(bits);
    for (const std::uint32_t b : bits) REQUIRE(b == single.bits());
    many.uniform(uniform);
    for (const double u : uniform) REQUIRE(u == single.uniform());
    for (const std::int32_t n : {1, 2, 3, 1000, 1 << 30, std::numeric_limits<std::int32_t>::max()}) {
      many.below(n, below);
      for (const std::int32_t b : below) REQUIRE(b == single.below(n));
    }
    std::vector<int> shuffled(301), swapped(301);
    std::iota(shuffled.begin(), shuffled.end(), 0);
    std::iota(swapped.begin(), swapped.end(), 0);
    many.shuffle(shuffled);
    for (std::int64_t i = 301; i > 1; --i) {
      std::swap(swapped[static_cast<std::size_t>(i - 1)], swapped[static_cast<std::size_t>(single.below(i))]);
    }
    CHECK(shuffled == swapped);
    CHECK(many.bits() == single.bits());
  }
  CHECK_THROWS_AS(Random(1).below(0, std::span<std::int32_t>()), Error);
}

TEST_CASE("Streams are equal for equal paths and differ for different paths") {
  const Random root(7);
  CHECK(root.stream("data").stream(3).bits_at(0) == Random(7).stream("data").stream(3).bits_at(0));
  std::set<std::uint64_t> firsts;
  const auto add = [&](const Random& r) { firsts.insert(std::uint64_t{r.bits_at(0)} << 32 | r.bits_at(1)); };
  add(root);
  add(Random(8));
  for (const char* name : {"", "a", "b", "ab", "ba", "data", "init"}) {
    add(root.stream(name));
    add(root.stream("a").stream(name));
    add(Random(8).stream(name));
  }
  for (std::uint64_t n = 0; n < 1000; ++n) add(root.stream(n));
  CHECK(firsts.size() == 2 + 3 * 7 + 1000);

  // Two streams agree in half of their bits, as independent ones do.
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    for (std::uint32_t d = ~(root.stream(1).bits_at(i) ^ root.stream(2).bits_at(i)); d; d &= d - 1) ++equal;
  }
  CHECK(std::abs(equal - 16000) < 5 * std::sqrt(8000));
}

TEST_CASE("uniform() and normal() have the moments of their distributions") {
  constexpr int n = 200000;
  Random random(42);
  std::array<double, 5> uniform{}, normal{};  // sums of powers
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform(), z = random.normal();
    REQUIRE((u >= 0 && u < 1));
    for (std::size_t p = 1; p <= 4; ++p) {
      uniform[p] += std::pow(u, static_cast<double>(p)) / n;
      normal[p] += std::pow(z, static_cast<double>(p)) / n;
    }
  }
  // Within five standard errors.
  const double unit = 5 / std::sqrt(n);
  for (std::size_t p = 1; p <= 4; ++p) {
    const double q = static_cast<double>(p);
    CHECK(std::abs(uniform[p] - 1 / (q + 1)) < unit * std::sqrt(1 / (2 * q + 1) - 1 / ((q + 1) * (q + 1))));
  }
  CHECK(std::abs(normal[1]) < unit);
  CHECK(std::abs(normal[2] - 1) < unit * std::sqrt(2.0));
  CHECK(std::abs(normal[3]) < unit * std::sqrt(15.0));
  CHECK(std::abs(normal[4] - 3) < unit * std::sqrt(96.0));
}

TEST_CASE("below(n) draws each of 0 ... n - 1 equally often") {
  Random random(3);
  for (const std::int64_t n : {1, 2, 3, 7, 10}) {
    std::vector<int> counts(static_cast<std::size_t>(n));
    for (int i = 0; i < 20000; ++i) ++counts.at(static_cast<std::size_t>(random.below(n)));
    const double expected = 20000.0 / static_cast<double>(n);
    for (const int count : counts) CHECK(std::abs(count - expected) < 5 * std::sqrt(expected));
  }
  // 3/4 of 2^63: a plain remainder would favour the low third.
  const std::int64_t large = std::int64_t{3} << 61;
  int low = 0;
  for (int i = 0; i < 20000; ++i) low += random.below(large) < large / 3;
  CHECK(std::abs(low - 20000 / 3.0) < 5 * std::sqrt(20000 / 3.0));
}

TEST_CASE("shuffle() makes every order equally likely") {
  Random random(9);
  std::array<int, 6> counts{};
  for (int i = 0; i < 12000; ++i) {
    std::vector<int> values{0, 1, 2};
    random.shuffle(values);
    std::vector<int> order{0, 1, 2};
    std::size_t number = 0;
    while (order != values) {
      std::next_permutation(order.begin(), order.end());
      REQUIRE(++number < 6);
    }
    ++counts[number];
  }
  for (const int count : counts) CHECK(std::abs(count - 2000) < 5 * std::sqrt(2000));
}

TEST_CASE("A restored Random continues with the same numbers") {
  Random random = Random(7).stream("words");
  for (int i = 0; i < 100; ++i) random.normal();
  Random restored = Random::restored(random.state());
  CHECK(restored.state() == random.state());
  for (int i = 0; i < 200; ++i) CHECK(restored.bits() == random.bits());
  for (const char* text : {"", "1", "1:2", "1:2:", "1:2:3:", "1:2:-3", "1;2:3", "99999999999999999999999:0:0"}) {
    CHECK(message([&] { Random::restored(text); }) ==
          fmt::format("Random: expected a state such as '1:0:57', got '{}'", text));
  }
}
