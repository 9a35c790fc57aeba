#include "tests/golden.h"
#include "tests/message.h"

#include <heed/autograd/record.h>
#include <heed/nn/sampling.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace heed;

namespace {

// How often each of four tokens is drawn, of 4000.
std::vector<int> drawn(const Sampling& sampling) {
  const Tensor logits = tensor({4}, {std::log(0.4), std::log(0.3), std::log(0.2), std::log(0.1)});
  Random random(3);
  std::vector<int> counts(4);
  for (int i = 0; i < 4000; ++i) ++counts[static_cast<std::size_t>(sample(logits, sampling, random))];
  return counts;
}

bool near(int count, double share) { return std::abs(count - 4000 * share) < 120; }  // four deviations

}  // namespace

TEST_CASE("sample() draws tokens with their probabilities, also with temperature, top_k and top_p") {
  const std::vector<int> plain = drawn({});
  CHECK((near(plain[0], .4) && near(plain[1], .3) && near(plain[2], .2) && near(plain[3], .1)));
  const std::vector<int> cold = drawn({.temperature = 0.5});  // p^2 of each, over 0.3
  CHECK((near(cold[0], .16 / .3) && near(cold[1], .09 / .3) && near(cold[2], .04 / .3) && near(cold[3], .01 / .3)));
  CHECK(drawn({.temperature = 0}) == std::vector<int>{4000, 0, 0, 0});
  const std::vector<int> two = drawn({.top_k = 2});
  CHECK((near(two[0], 4. / 7) && near(two[1], 3. / 7) && two[2] + two[3] == 0));
  CHECK(drawn({.top_k = 4}) == plain);                   // all of them
  const std::vector<int> most = drawn({.top_p = 0.65});  // 0.4 and 0.3 reach it
  CHECK((near(most[0], 4. / 7) && most[2] + most[3] == 0));
  CHECK(drawn({.top_p = 0.001}) == std::vector<int>{4000, 0, 0, 0});
}

TEST_CASE("sample() keeps the first of equal logits, and draws what sorting all of them gives") {
  Random numbers(4);
  std::vector<double> x(700);
  for (double& logit : x) logit = std::round(numbers.uniform(-4, 4) * 20) / 20;  // about four of each
  const Tensor logits = tensor({700}, x);
  std::vector<int> sorted(x.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::stable_sort(sorted, std::greater(), [&](int i) { return x[static_cast<std::size_t>(i)]; });
  double total = 0;
  for (const double logit : x) total += std::exp(logit);
  const auto drawn = [&](const Sampling& sampling, Random random) { return sample(logits, sampling, random); };
  const auto expected = [&](std::size_t kept, Random random) {
    std::vector<double> weights;
    for (std::size_t i = 0; i < kept; ++i) weights.push_back(std::exp(x[static_cast<std::size_t>(sorted[i])]));
    double left = random.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
    std::size_t i = 0;
    while (i + 1 < kept && (left -= weights[i]) >= 0) ++i;
    return sorted[i];
  };
  for (const double share : {0.01, 0.3, 0.9, 0.999}) {
    std::size_t kept = 0;
    for (double sum = 0; sum < share * total; ++kept) sum += std::exp(x[static_cast<std::size_t>(sorted[kept])]);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CHECK(drawn({.top_p = share}, Random(seed)) == expected(kept, Random(seed)));
      CHECK(drawn({.top_k = static_cast<int>(kept)}, Random(seed)) == expected(kept, Random(seed)));
    }
  }
}

TEST_CASE("sample() with top_k and top_p sorts only what it needs") {
  Random random(1);
  const Tensor logits = random_normal({50'000}, random) * 3.0;
  const auto seconds = [&](const Sampling& sampling) {
    double least = INFINITY;
    for (int i = 0; i < 9; ++i) {
      const auto start = std::chrono::steady_clock::now();
      sample(logits, sampling, random);
      least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return least;
  };
  const double all = seconds({});
  CHECK(seconds({.top_k = 50}) < 4 * all);  // 0.7 times; sorting all takes 20 times as long
  CHECK(seconds({.top_p = 0.5}) < 8 * all);
}

TEST_CASE("sample() depends only on the random numbers, and throws for invalid distributions") {
  Random a(5), b(5);
  const Tensor logits = full({100}, 0.0);
  for (int i = 0; i < 20; ++i) CHECK(sample(logits, {}, a) == sample(logits, {}, b));
  CHECK(message([&] { sample(full({2, 3}, 0.0), {}, a); }) == "sample: expected logits (C), got (2, 3)");
  CHECK(message([&] { sample(logits, {.top_p = 0}, a); }) == "sample: top_p must be above 0 and at most 1, got 0");
  CHECK(message([&] { sample(full({3}, -INFINITY), {}, a); }) ==
        "sample: all logits are -infinity: there is nothing to draw");
  CHECK(message([&] { sample(full({3}, std::numeric_limits<double>::quiet_NaN()), {}, a); }) ==
        "sample: a logit is NaN: the model's weights are too large, or damaged");
}
