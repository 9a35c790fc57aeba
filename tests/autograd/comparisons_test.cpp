#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

#include <algorithm>

using namespace heed;

namespace {

std::vector<int> numbers(const Booleans& x) { return {x.data(), x.data() + x.numel()}; }
std::vector<int> numbers(const Ids& x) { return {x.data(), x.data() + x.numel()}; }

}  // namespace

TEST_CASE("Comparisons broadcast, and are false for NaN") {
  const Tensor x = tensor({2, 2}, {1, 2, 3, std::nan("")}), y = tensor({2}, {2, 2});
  CHECK(numbers(x < y) == std::vector<int>{1, 0, 0, 0});
  CHECK(numbers(x <= y) == std::vector<int>{1, 1, 0, 0});
  CHECK(numbers(x < 2) == std::vector<int>{1, 0, 0, 0});
  CHECK(numbers(x <= 2) == std::vector<int>{1, 1, 0, 0});
  CHECK(numbers(x > 1) == std::vector<int>{0, 1, 1, 0});
  CHECK(numbers(x >= 2) == std::vector<int>{0, 1, 1, 0});
  CHECK(numbers(equal(x, y)) == std::vector<int>{0, 1, 0, 0});
  CHECK(numbers(!(x > 1)) == std::vector<int>{1, 0, 0, 1});
  CHECK((x < y).shape() == Shape{2, 2});
  CHECK(message([&] { (void)(x < zeros({3})); }).starts_with("<: shapes (2, 2) and (3) do not broadcast"));
  CHECK(
      message([&] { (void)(x <= zeros({2}, DType::float64)); }) ==
      "<=: both tensors must have one dtype, got float32 (2, 2) and float64 (2); convert one with to(DType::float64)");
}

TEST_CASE("argmax and argmin return the first or the last of equal elements along any axis") {
  const Tensor x = tensor({2, 3}, {1, 5, 5, 4, 4, 2});
  CHECK(numbers(argmax(x)) == std::vector<int>{1, 0});
  CHECK(numbers(argmax(x, -1, false, true)) == std::vector<int>{2, 1});
  CHECK(numbers(argmax(x, 0)) == std::vector<int>{1, 0, 0});
  CHECK(numbers(argmin(x)) == std::vector<int>{0, 2});
  CHECK(argmax(x, 0, true).shape() == Shape{1, 3});
  CHECK(argmax(x, 0).shape() == Shape{3});
  CHECK(numbers(argmax(tensor({3}, {1, std::nan(""), 9}))) == std::vector<int>{1});
  const Tensor odd = tensor({5}, {1, std::nan(""), -INFINITY, std::nan(""), INFINITY});
  CHECK(numbers(argmax(odd)) == std::vector<int>{1});
  CHECK(numbers(argmax(odd, 0, false, true)) == std::vector<int>{3});
  CHECK(numbers(argmin(odd)) == std::vector<int>{1});  // where min(odd) is
  CHECK(numbers(argmin(odd, 0, false, true)) == std::vector<int>{3});
  CHECK(numbers(topk(odd, 1, 0, false).indices) == std::vector<int>{2});
  CHECK(numbers(argmin(x, 0, true, true)) == std::vector<int>{0, 1, 1});
  CHECK(numbers(argmax(tensor({2}, {-0.0, 0.0}))) == std::vector<int>{0});
  CHECK(argmax(zeros({0, 2}), 1, true).shape() == Shape{0, 1});
  CHECK(message([] { argmax(zeros({2, 0})); }) == "argmax: expected at least one element along axis -1 of (2, 0)");
}

TEST_CASE("sort and topk return ordered values and their indices, and pass gradients back") {
  Random random(6);
  const int axis = GENERATE(0, 1, 2);
  const Tensor x = variable(uniform({4, 5, 3}, random));
  const Recording recording;
  const Ordered up = sort(x, axis), down = sort(x, axis, true), two = topk(x, 2, axis);
  CHECK(same_bits(gather(x, up.indices, axis).detach(), up.values.detach()));
  CHECK(same_bits(slice(down.values, axis, 0, 2).detach(), two.values.detach()));
  for_each_index(x.shape(), [&](const Shape& i) {
    Shape next = i;
    if (++next[axis] == x.size(axis)) return;
    CHECK(up.values.at({i[0], i[1], i[2]}) <= up.values.at({next[0], next[1], next[2]}));
    CHECK(down.values.at({i[0], i[1], i[2]}) >= down.values.at({next[0], next[1], next[2]}));
  });
  const Tensor dx = backward(sum(two.values * 3))[x];
  CHECK(sum(dx).item() == sum(full(two.values.shape(), 3, DType::float64)).item());
  CHECK(same_bits(gather(dx, two.indices, axis), full(two.values.shape(), 3, DType::float64)));
  const Ordered equals = sort(tensor({4}, {2, 1, 2, 1}));
  CHECK(numbers(equals.indices) == std::vector<int>{1, 3, 0, 2});
  CHECK(numbers(topk(tensor({4}, {2, 1, 2, 1}), 3, 0, false).indices) == std::vector<int>{1, 3, 0});
  const Tensor odd = tensor({2, 4}, {1, std::nan(""), 2, -INFINITY, INFINITY, 3, std::nan(""), -1});
  CHECK(numbers(topk(odd, 2).indices) == std::vector<int>{1, 2, 2, 0});
  CHECK(numbers(topk(odd, 4, -1, false).indices) == std::vector<int>{3, 0, 2, 1, 3, 1, 0, 2});
  CHECK(numbers(topk(odd, 1, 0, false).indices) == std::vector<int>{0, 1, 0, 0});
  CHECK(topk(odd, 0, 0).values.shape() == Shape{0, 4});
  CHECK(sort(zeros({2, 0})).indices.shape() == Shape{2, 0});
  CHECK(message([] { topk(zeros({3}), 4); }) == "topk: expected k from 0 to 3, the size of axis -1 of (3), got 4");
}

TEST_CASE("sort, topk, argmax and argmin equal a stable sort, with NaN, -0 and infinities, at every length") {
  Random random(8);
  for (int trial = 0; trial < 200; ++trial) {
    const DType dtype = trial % 2 ? DType::float32 : DType::float64;
    const std::int64_t n = 1 + random.below(trial % 5 ? 40 : 2000);
    std::vector<double> x(static_cast<std::size_t>(n));
    for (double& v : x) v = random.normal() * std::pow(10, static_cast<double>(random.below(60) - 30));
    for (const double v : {std::nan(""), 0.0, -0.0, 1.0, 1.0, double(INFINITY), -double(INFINITY), std::nan("")}) {
      x[static_cast<std::size_t>(random.below(n))] = v;
    }
    const Tensor t = tensor({n}, x, dtype);
    const std::vector<double> given = t.to_vector();
    for (const bool descending : {false, true}) {
      std::vector<int> expected(static_cast<std::size_t>(n));
      std::iota(expected.begin(), expected.end(), 0);
      const auto less = [](double u, double v) { return u < v || (std::isnan(v) && !std::isnan(u)); };
      std::ranges::stable_sort(expected, [&](int i, int j) {
        const double u = given[static_cast<std::size_t>(i)], v = given[static_cast<std::size_t>(j)];
        return descending ? less(v, u) : less(u, v);
      });
      CHECK(numbers(sort(t, 0, descending).indices) == expected);
      const std::int64_t k = random.below(n + 1);
      CHECK(numbers(topk(t, k, 0, descending).indices) == std::vector<int>(expected.begin(), expected.begin() + k));
      const auto is_nan = [&](int i) { return std::isnan(given[static_cast<std::size_t>(i)]); };
      std::stable_partition(expected.begin(), expected.end(), is_nan);  // both find NaN, as max() and min() return it
      CHECK((descending ? argmax(t) : argmin(t))[0] == expected[0]);
      std::reverse(expected.begin(), expected.end());  // the last of equals comes first in the other order
      const auto equal_to_first = [&](int i) {
        const double u = given[static_cast<std::size_t>(i)], v = given[static_cast<std::size_t>(expected.back())];
        return u == v || (std::isnan(u) && std::isnan(v));
      };
      CHECK((descending ? argmax(t, -1, false, true) : argmin(t, -1, false, true))[0] ==
            *std::ranges::find_if(expected, equal_to_first));
    }
  }
}
