#include "tests/golden.h"
#include "tests/message.h"

#include <heed/autograd/record.h>
#include <heed/nn/sampling.h>

#include <cmath>
#include <limits>

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
