#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

namespace {

std::vector<std::int32_t> numbers_of(const Ids& ids) { return {ids.begin(), ids.end()}; }

}  // namespace

TEST_CASE("Random tensors and ids follow their distributions") {
  Random random(8);
  const Tensor u = random_uniform({100, 100}, random, 2, 4), n = random_normal({100, 100}, random, 5, 3);
  CHECK((min(u).item() >= 2 && max(u).item() < 4));
  CHECK(mean(u).item() == Approx(3).margin(0.03));
  CHECK(mean(n).item() == Approx(5).margin(0.15));
  CHECK(var(n).item() == Approx(9).margin(0.6));
  const Ids drawn = random_ids({3, 1000}, random, 5);
  CHECK(drawn.shape() == Shape{3, 1000});
  for (const double count : sum(one_hot(drawn, 5), {0, 1}).to_vector()) CHECK(count == Approx(600).margin(100));
  CHECK(message([&] { random_ids({2}, random, 0); }) == "random_ids: expected an end above 0, got 0");

  const int draws = 40000;
  const std::vector<double> share{0, 0.5, 0, 0.2, 0.3, 0};
  std::vector<double> count(share.size());
  for (const std::int32_t id : Ids(random_ids({draws}, random, 10 * tensor(share))))
    ++count.at(static_cast<std::size_t>(id));
  for (std::size_t i = 0; i < share.size(); ++i) {
    const double deviation = std::sqrt(draws * share[i] * (1 - share[i]));
    CHECK(std::abs(count[i] - draws * share[i]) <= 4 * deviation);
  }
  const auto refusal = [&](const Tensor& weights) { return message([&] { random_ids({2}, random, weights); }); };
  CHECK(refusal(tensor({1, -1})) == "random_ids: expected finite weights of at least 0, got -1");
  CHECK(refusal(tensor({0, 0})) == "random_ids: expected weights with a finite sum above 0, got 0");
  CHECK(refusal(zeros({0})) == "random_ids: expected weights with a finite sum above 0, got 0");
  CHECK(refusal(ones({1, 2})) == "random_ids: expected weights (n), got (1, 2)");
}

TEST_CASE("random_normal and random_uniform draw what Random draws, and advance it as far") {
  for (const std::int64_t n : {0, 1, 7, 130, 100001}) {
    Random a(11, 3), b(11, 3);
    a.bits(), b.bits();
    const Tensor x = random_normal({n}, a, 0.5, 2), u = random_uniform({n}, a, -1, 3);
    int different = 0;
    for (std::int64_t i = 0; i < n; ++i) different += x.data<float>()[i] != static_cast<float>(0.5 + 2 * b.normal());
    for (std::int64_t i = 0; i < n; ++i) different += u.data<float>()[i] != static_cast<float>(b.uniform(-1, 3));
    CHECK(different == 0);
    CHECK(a.bits() == b.bits());
  }
  Random random(1), same(1);
  const Tensor x = random_normal({3}, random, 0, 1, DType::float64);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(x.at({i}) == same.normal());
}

TEST_CASE("random_uniform never returns its upper bound") {
  Random random(2);
  const auto largest = [&](double low, double high, DType dtype = DType::float32) {
    const Tensor x = random_uniform({1 << 16}, random, low, high, dtype);
    CHECK(min(x).item() >= tensor({}, {low}, dtype).item());
    return max(x).item();
  };
  CHECK(largest(1, 1.000001) < full({}, 1.000001).item());
  CHECK(largest(16777216, 16777218) == 16777216);
  CHECK(largest(-1.0000001, -1) < -1);
  CHECK(largest(1, 1 + 1e-15, DType::float64) < 1 + 1e-15);
  CHECK(largest(2, 2) == 2);
  for (int i = 0; i < 1000; ++i)
    CHECK(Random(3).stream(static_cast<std::uint64_t>(i)).uniform(1, 1 + 1e-15) < 1 + 1e-15);
}

TEST_CASE("random_permutation contains each number once and depends on the seed") {
  Random first(1), again(1), second(2);
  const Ids order = random_permutation(50, first);
  std::vector<std::int32_t> sorted = numbers_of(order);
  CHECK(numbers_of(random_permutation(50, again)) == sorted);
  CHECK(numbers_of(random_permutation(50, second)) != sorted);
  std::ranges::sort(sorted);
  CHECK(sorted == numbers_of(arange_ids(0, 50)));
  CHECK(random_permutation(0, first).numel() == 0);
  check_messages(
      {{"random_permutation: expected a size of at least 0, got -1", [&] { random_permutation(-1, first); }}});
}
