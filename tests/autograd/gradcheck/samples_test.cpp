#include "tests/autograd/helpers.h"

#include <heed/autograd/gradcheck/samples.h>

#include <set>

using namespace heed;

TEST_CASE("The shapes of the samples broadcast in every way up to rank 4, and some are empty") {
  std::set<std::string> patterns;  // both ranks; then of each common axis from the last: equal, a's is 1, b's is 1
  bool empty = false;
  for (const auto& [a, b] : broadcast_pairs()) {
    empty = empty || broadcast_shapes("test", a, b).numel() == 0;
    std::string pattern = fmt::format("{} {} ", a.rank(), b.rank());
    for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
      pattern += a[-i] == b[-i] ? '=' : a[-i] == 1 ? 'a' : 'b';
    }
    patterns.insert(pattern);
  }
  CHECK(empty);
  for (const char* pattern :
       {"0 0 ", "0 4 ", "4 0 ", "3 1 =", "3 1 a", "3 1 b", "2 2 ab", "4 3 b==", "4 4 ====", "4 4 ab=a"}) {
    INFO(pattern);
    CHECK(patterns.contains(pattern));
  }
}

TEST_CASE("Samples call the function with arguments of the requested kind") {
  Random random(1);
  for (const GradientSample& sample : unary_samples(log, Argument::Values::positive)) {
    REQUIRE(sample.arguments.size() == 1);
    const Tensor x = draw(sample.arguments[0], random);
    for (const double value : x.to_vector()) CHECK((value >= 0.5 && value < 2));
    CHECK(same_bits(sample.function({x}), log(x)));
  }
  const auto quotient = [](const Tensor& a, const Tensor& b) { return a / b; };
  const std::vector<GradientSample> samples =
      broadcast_samples(quotient, Argument::Values::any, Argument::Values::nonzero);
  CHECK(samples.size() == broadcast_pairs().size());
  for (const GradientSample& sample : samples) {
    const Tensor a = draw(sample.arguments[0], random), b = draw(sample.arguments[1], random);
    for (const double value : b.to_vector()) CHECK(std::abs(value) >= 0.3);
    CHECK(same_bits(sample.function({a, b}), a / b));
  }
}
