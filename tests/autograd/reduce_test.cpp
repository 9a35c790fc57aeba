#include "tests/autograd/helpers.h"

#include <fmt/ranges.h>

#include <algorithm>

using namespace heed;

TEST_CASE("Reductions over any axes of any layout equal naive loops") {
  Random random(21);
  for (int trial = 0; trial < 600; ++trial) {
    const DType dtype = trial % 2 ? DType::float32 : DType::float64;
    Shape shape, output;
    std::vector<int> axes;
    std::int64_t n = 1;
    for (std::int64_t rank = random.below(5), axis = 0; axis < rank; ++axis) {
      shape.append(random.below(25) ? 1 + random.below(trial % 10 ? 5 : 40) : 0);
      const bool reduced = random.below(2) == 1;
      if (reduced) axes.push_back(static_cast<int>(random.below(2) ? axis : axis - rank));
      output.append(reduced ? 1 : shape[-1]);
      if (reduced) n *= shape[-1];
    }
    if (axes.empty()) {
      n = shape.numel();
      for (int axis = 0; axis < shape.rank(); ++axis) output[axis] = 1;
    }
    if (n == 0) continue;
    const Tensor x = scattered(uniform(shape, random, dtype), random);
    INFO(to_string(shape) << " over " << fmt::format("{}", fmt::join(axes, ", ")));
    Naive values(x), total(output), largest(output);
    std::vector<long double> totals(total.values.size());
    largest.values.assign(largest.values.size(), -std::numeric_limits<double>::infinity());
    for_each_index(shape, [&](const Shape& index) {
      totals[static_cast<std::size_t>(&total[index] - total.values.data())] += values[index];
      largest[index] = std::max(largest[index], values[index]);
    });
    total.values.assign(totals.begin(), totals.end());
    CHECK(distance(sum(x, axes, true), total) < rounding(dtype));
    CHECK(distance(max(x, axes, true), largest) == 0);
    for (double& v : total.values) v /= static_cast<double>(n);
    CHECK(distance(mean(x, axes, true), total) < rounding(dtype));
    CHECK(sum(x, axes).to_vector() == sum(x, axes, true).to_vector());
    CHECK(sum(x, axes).rank() == (axes.empty() ? 0 : shape.rank() - static_cast<int>(axes.size())));
  }
  CHECK(sum(zeros({0, 2}), {0}).to_vector() == std::vector<double>{0, 0});
  CHECK(std::isnan(max(tensor({3}, {1, std::nan(""), 2})).item()));
}

TEST_CASE("Reductions over axes between others equal naive loops, with many rows and columns") {
  Random random(22);
  const auto check = [&](const Shape& shape, const std::vector<int>& axes, const Shape& output) {
    INFO(to_string(shape));
    const Tensor x = scattered(uniform(shape, random), random);
    Naive values(x), total(output), largest(output), product(output);
    product.values.assign(product.values.size(), 1);
    largest.values.assign(largest.values.size(), -std::numeric_limits<double>::infinity());
    for_each_index(shape, [&](const Shape& index) {
      total[index] += values[index];
      largest[index] = std::max(largest[index], values[index]);
      product[index] *= 1 + values[index] / 1000;
    });
    CHECK(distance(sum(x, axes, true), total) < 1e-6);
    CHECK(distance(prod(1 + x.to(DType::float64) / 1000, axes, true), product) < 1e-12);
    CHECK(distance(max(x, axes, true), largest) == 0);
    const Tensor v = variable(x.clone());
    const Recording recording;
    const Tensor dx = backward(sum(max(v, axes)))[v];
    CHECK(distance(sum(dx * v, axes, true), largest) == 0);  // the gradient is 1 at the greatest element
    CHECK(sum(dx).item() == static_cast<double>(output.numel()));
  };
  check({3, 1300, 9}, {1}, {3, 1, 9});
  check({2, 5, 5000}, {1}, {2, 1, 5000});
  check({2, 600, 3, 40}, {1}, {2, 1, 3, 40});
  check({2, 7, 3, 40, 8}, {1, 3}, {2, 1, 3, 1, 8});
  check({4, 6, 7}, {1}, {4, 1, 7});
}

TEST_CASE("The error of a float sum does not grow with its length") {
  constexpr std::int64_t n = 10000000;
  Tensor x({n}, DType::float32);
  long double exact = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = 1 + static_cast<float>(i * 7919 % 1000) * 1e-3F;
    x.mutable_data<float>()[i] = value;
    exact += static_cast<long double>(value);
  }
  const double expected = static_cast<double>(exact);
  CHECK(sum(x).item() == Approx(expected).epsilon(1e-6));
  CHECK(mean(x).item() == Approx(expected / n).epsilon(1e-6));
  CHECK(sum(sum(reshape(x, {n / 10, 10}), {0})).item() == Approx(expected).epsilon(1e-6));   // columns
  CHECK(sum(sum(reshape(x, {10, n / 10}), {1})).item() == Approx(expected).epsilon(1e-6));   // rows
  CHECK(sum(transpose(reshape(x, {10, n / 10}))).item() == Approx(expected).epsilon(1e-6));  // strides
  CHECK(sum(slice(x, 0, 0, n, 1000)).item() == Approx(static_cast<double>(n) / 1000).epsilon(1e-6));
}

TEST_CASE("Wrong use of reductions throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3});
  check_messages({{"sum: axis 2 is outside [-2, 2) for rank 2", [&] { sum(x, {2}); }},
                  {"sum: axis -2 is given twice for shape (2, 3)",
                   [&] {
                     sum(x, {0, -2});
                   }},
                  {"add_in_place: shapes must be equal: (2, 3) += (3)",
                   [&] {
                     Tensor total = x.clone();
                     add_in_place(total, zeros({3}));
                   }},
                  {"max: expected at least one element to reduce, got shape (2, 0)", [&] {
                     max(zeros({2, 0}), {1});
                   }}});
}

TEST_CASE("max and min find the first extreme in rows, columns and strides of every length, NaN before all") {
  Random random(4);
  for (int trial = 0; trial < 400; ++trial) {
    const DType dtype = trial % 2 ? DType::float32 : DType::float64;
    const std::int64_t n = 1 + random.below(trial % 10 ? 200 : 3000), m = 1 + random.below(40);
    std::vector<double> values(static_cast<std::size_t>(n * m));
    for (double& v : values) v = static_cast<double>(random.below(trial % 3 ? 1000000 : 5)) - 2;
    if (trial % 4 == 0) values[static_cast<std::size_t>(random.below(n * m))] = std::nan("");
    for (double& v : values) v = v == 0 && random.below(2) ? -0.0 : v;
    const Tensor x = variable(tensor({n, m}, values, dtype));
    const int axis = static_cast<int>(random.below(2)), layout = static_cast<int>(random.below(2));
    const bool largest = random.below(2) == 1;
    const Recording recording;
    const Tensor seen = layout ? transpose(x) : x;
    const Tensor y = largest ? max(seen, {axis}) : min(seen, {axis}), dx = backward(sum(y))[x];
    const Tensor constant = largest ? max(seen.detach(), {axis}) : min(seen.detach(), {axis});
    CHECK(same_bits(y.detach(), constant));
    const Ids places = largest ? argmax(seen.detach(), axis) : argmin(seen.detach(), axis);
    const bool over_rows = (axis == 0) != (layout == 1);  // the extreme of each column of x
    for (std::int64_t i = 0; i < (over_rows ? m : n); ++i) {
      std::int64_t first = -1;
      double best = 0;
      for (std::int64_t k = 0; k < (over_rows ? n : m); ++k) {
        const double v = over_rows ? x.at({k, i}) : x.at({i, k});
        if (first < 0 || (!std::isnan(best) && (std::isnan(v) || (largest ? v > best : v < best)))) best = v, first = k;
      }
      const double found = y.at({i});
      CHECK((std::isnan(best) ? std::isnan(found) : found == best && std::signbit(found) == std::signbit(best)));
      CHECK((over_rows ? dx.at({first, i}) : dx.at({i, first})) == 1);
      CHECK(places[i] == first);
    }
    CHECK(sum(dx).item() == static_cast<double>(over_rows ? m : n));
  }
  CHECK(max(full({200000}, -std::numeric_limits<double>::infinity())).item() ==
        -std::numeric_limits<double>::infinity());
}
