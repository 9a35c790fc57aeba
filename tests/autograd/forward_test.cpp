#include "tests/autograd/helpers.h"

#include <algorithm>

using namespace heed;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double rounding(DType dtype) { return dtype == DType::float32 ? 2e-6 : 1e-13; }

// Each row of x along the last axis replaced by f(row).
template <class F>
Naive by_rows(const Tensor& x, F f) {
  Naive y(x);
  const std::ptrdiff_t n = x.size(-1);
  for (auto row = y.values.begin(); n > 0 && row != y.values.end(); row += n) {
    const std::vector<double> result = f(std::vector<double>(row, row + n));
    std::copy(result.begin(), result.end(), row);
  }
  return y;
}

std::vector<double> softmax_naive(std::vector<double> row) {
  const double m = *std::max_element(row.begin(), row.end());
  if (m == -infinite) return std::vector<double>(row.size(), 0.0);
  double total = 0;
  for (double& v : row) total += v = std::exp(v - m);
  for (double& v : row) v /= total;
  return row;
}

std::vector<double> log_softmax_naive(std::vector<double> row) {
  const double m = *std::max_element(row.begin(), row.end());
  if (m == -infinite) return row;
  double total = 0;
  for (const double v : row) total += std::exp(v - m);
  for (double& v : row) v -= m + std::log(total);
  return row;
}

}  // namespace

TEST_CASE("Reductions over any axes of any layout are the naive ones") {
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
    largest.values.assign(largest.values.size(), -infinite);
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

TEST_CASE("softmax, log_softmax and layer_norm are the naive ones") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  Random random(4);
  for (const Shape& shape : {Shape{1}, Shape{5}, Shape{3, 16}, Shape{2, 3, 17}, Shape{4, 1000}, Shape{0, 3}}) {
    const std::int64_t n = shape[-1];
    for (const double size : {1.0, 300.0}) {
      INFO(to_string(shape) << " up to " << size);
      const Tensor x = scattered(uniform(shape, random, dtype, -size, size), random);
      CHECK(distance(softmax(x), by_rows(x, softmax_naive)) < rounding(dtype));
      // x - log sum(e^x) is rounded at the size of x.
      CHECK(distance(log_softmax(x), by_rows(x, log_softmax_naive)) < rounding(dtype) * std::max(1.0, size / 10));
      const Tensor gain = scattered(uniform({n}, random, dtype), random), bias = uniform({n}, random, dtype);
      const auto norm_naive = [&](double eps) {
        return by_rows(x, [&, eps](std::vector<double> row) {
          double mu = 0, variance = 0;
          for (const double v : row) mu += v / static_cast<double>(n);
          for (const double v : row) variance += (v - mu) * (v - mu) / static_cast<double>(n);
          for (std::int64_t j = 0; j < n; ++j) {
            double& v = row[static_cast<std::size_t>(j)];
            v = (v - mu) / std::sqrt(variance + eps) * gain.at({j}) + bias.at({j});
          }
          return row;
        });
      };
      if (n == 1 && size > 1) continue;
      CHECK(distance(layer_norm(x, gain, bias), norm_naive(1e-5)) < 2 * rounding(dtype));
      CHECK(distance(layer_norm(x, gain, bias, 0.1), norm_naive(0.1)) < 2 * rounding(dtype));
      CHECK(same_bits(layer_norm(x, {}, {}), layer_norm(x, ones({n}, dtype), zeros({n}, dtype))));
    }
  }
}

TEST_CASE("A row of -infinity has softmax 0 and gradient 0; a hidden element has 0; NaN stays visible") {
  const Tensor x = variable(tensor({3, 3}, {1, 2, 3, -infinite, -infinite, -infinite, -infinite, 1, 1}));
  const Recording recording;
  const std::vector<double> y = softmax(x).to_vector();
  CHECK(std::vector<double>(y.begin() + 3, y.end()) == std::vector<double>{0, 0, 0, 0, 0.5, 0.5});
  const Tensor cotangent = tensor({3, 3}, {1, -2, 3, 4, 5, 6, 7, 8, 9});
  for (const Tensor& output : {softmax(x), log_softmax(x)}) {
    const std::vector<double> dx = backward(output, cotangent)[x].to_vector();
    CHECK(std::vector<double>(dx.begin() + 3, dx.begin() + 6) == std::vector<double>{0, 0, 0});
    CHECK(std::abs(dx[0]) > 0.01);
  }
  CHECK(backward(softmax(x), cotangent)[x].at({2, 0}) == 0);
  for (const double v : softmax(tensor({3}, {1, std::nan(""), 2})).to_vector()) CHECK(std::isnan(v));
}

TEST_CASE("cross_entropy is the mean of -log softmax at the labels that count") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(8);
  const Tensor logits = scattered(uniform({6, 9}, random, dtype, -20, 20), random);
  const Ids labels({6}, {3, -1, 0, 8, -1, 2});
  Naive log_p = by_rows(logits, log_softmax_naive);
  for (const double e : {0.0, 0.1}) {
    double expected = 0;
    for (std::int64_t i = 0; i < 6; ++i) {
      if (labels[i] < 0) continue;
      double spread = 0;
      for (std::int64_t c = 0; c < 9; ++c) spread -= log_p[{i, c}] / 9;
      expected += ((1 - e) * -log_p[{i, labels[i]}] + e * spread) / 4;
    }
    const Tensor loss = cross_entropy(logits, labels, {.label_smoothing = e});
    CHECK(loss.shape() == Shape{});
    CHECK(loss.item() == Approx(expected).epsilon(rounding(dtype)));
  }
  const Ids seven({2}, {7, 7});
  CHECK(cross_entropy(slice(logits, 0, 0, 2), seven, {.ignored_label = 7}).item() == 0);
  // A far too confident wrong answer: large, and finite.
  CHECK(cross_entropy(tensor({1, 2}, {2000, -2000}, dtype), Ids({1}, {1})).item() == 4000);
}

TEST_CASE("Look-ups and concatenation take what they should from any layout") {
  Random random(6);
  const Tensor table = scattered(uniform({5, 3}, random), random);
  const Tensor rows = embedding(table, Ids({2, 2}, {4, 0, 4, 2}));
  CHECK(rows.shape() == Shape{2, 2, 3});
  CHECK(rows.at({1, 0, 2}) == table.at({4, 2}));
  CHECK(rows.at({1, 1, 0}) == table.at({2, 0}));
  const Tensor x = scattered(uniform({2, 4, 3}, random), random);
  const Tensor selected = select_rows(x, Ids({2}, {3, 1}));
  CHECK(selected.shape() == Shape{2, 3});
  CHECK(selected.at({0, 2}) == x.at({0, 3, 2}));
  CHECK(selected.at({1, 0}) == x.at({1, 1, 0}));
  const Tensor y = scattered(uniform({2, 1, 3}, random), random);
  const Tensor joined = concat({x, y, zeros({2, 0, 3}, DType::float64), x}, 1);
  CHECK(joined.shape() == Shape{2, 9, 3});
  CHECK(distance(slice(joined, 1, 0, 4), x) == 0);
  CHECK(distance(slice(joined, 1, 4, 5), y) == 0);
  CHECK(distance(slice(joined, 1, 5, 9), x) == 0);
}

TEST_CASE("Tensors larger than the caches are filled to the last element, and so is an embedding's gradient") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const std::int64_t rows = 131'077, d = 65;  // 34 MB of floats; rows that do not begin at a vector
  CAPTURE(to_string(dtype));
  const auto all = [](const Tensor& x, double value) { return max(square(x - value)).item() == 0; };
  CHECK(all(full({rows, d}, 3, dtype), 3));
  full({rows, d}, 7, dtype);  // its memory is given out again, with this in it
  const Tensor table = variable(zeros({rows, d}, dtype));
  const Recording recording;
  const Tensor y = embedding(table, Ids({3}, {2, 131'076, 2}));
  const Tensor gradient = backward(y, ones({3, d}, dtype))[table];
  CHECK(all(slice(gradient, 0, 2, 3), 2));
  CHECK(all(slice(gradient, 0, 131'076, 131'077), 1));
  CHECK(all(slice(gradient, 0, 0, 2), 0));
  CHECK(all(slice(gradient, 0, 3, 131'076), 0));
}

TEST_CASE("dropout keeps 1 - p of the elements, scaled; its gradient goes where they were kept") {
  Random random(2), again = random, advanced = random;
  const Tensor x = variable(full({100, 200}, 3));
  const Recording recording;
  const Tensor y = dropout(x, 0.25, random);
  std::int64_t kept = 0;
  for (const double v : y.to_vector()) {
    REQUIRE((v == 0 || v == 4));
    kept += v != 0;
  }
  CHECK(std::abs(static_cast<double>(kept) - 15000) < 5 * std::sqrt(20000 * 0.25 * 0.75));
  CHECK(same_bits(backward(sum(y))[x] * 3, y));
  CHECK(same_bits(dropout(x, 0.25, again), y));
  CHECK_FALSE(same_bits(dropout(x, 0.25, random), y));
  CHECK(distance(dropout(x, 0, again), x) == 0);
  advanced.bits();
  advanced.bits();
  CHECK(advanced.bits() == random.bits());
}
