#include "tests/autograd/helpers.h"

#include <heed/autograd/gradcheck/samples.h>

#include <type_traits>

using namespace heed;

// slice(a, 0, 1, 2) = b would change neither: it does not compile.
static_assert(!std::is_assignable_v<Tensor, const Tensor&> && !std::is_assignable_v<Tensor, Tensor>);
static_assert(std::is_copy_assignable_v<Tensor> && std::is_nothrow_move_assignable_v<Tensor>);
static_assert(std::is_copy_constructible_v<Tensor> && std::is_nothrow_move_constructible_v<Tensor>);

namespace {

Tensor counting(const Shape& shape) {  // 0, 1, 2, ...
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0.0);
  return tensor(shape, values);
}

// y is a view of x: writing to x shows in y.
bool is_view(Tensor x, const Tensor& y) {
  const std::vector<double> before = y.to_vector();
  for (std::int64_t i = 0; i < x.numel(); ++i) x.mutable_data<float>()[i] += 1000;
  const std::vector<double> after = y.to_vector();
  for (std::int64_t i = 0; i < x.numel(); ++i) x.mutable_data<float>()[i] -= 1000;
  return !before.empty() && after[0] == before[0] + 1000;
}

}  // namespace

TEST_CASE("Shape operations are views where the strides allow it, else copies") {
  const Tensor x = counting({2, 3, 4});
  CHECK(is_view(x, transpose(x)));
  CHECK(is_view(x, permute(x, {2, 0, 1})));
  CHECK(is_view(x, slice(x, 1, 1, 3)));
  CHECK(is_view(x, slice(x, -1, 0, 4, 3)));
  CHECK(is_view(x, broadcast_to(x, {5, 2, 3, 4})));
  CHECK(is_view(x, x.detach()));
  CHECK(is_view(x, variable(x)));
  CHECK(is_view(x, contiguous(x)));
  CHECK_FALSE(is_view(x, x.clone()));
  CHECK_FALSE(is_view(x, contiguous(transpose(x))));

  CHECK(is_view(x, reshape(x, {6, 4})));
  CHECK(is_view(x, reshape(x, {2, 1, 12, 1})));
  CHECK(is_view(x, reshape(slice(x, 0, 1, 2), {12})));
  CHECK(is_view(x, reshape(slice(x, 1, 0, 2), {2, 8})));           // the last two axes still touch
  CHECK(is_view(x, reshape(slice(x, 2, 0, 4, 2), {2, 3, 2, 1})));  // nothing is merged
  CHECK(is_view(x, reshape(slice(x, 2, 0, 4, 2), {6, 2})));        // the first two merge
  CHECK(is_view(x, reshape(transpose(x, 0, 1), {3, 2, 2, 2})));    // an axis is split
  CHECK(is_view(x, reshape(broadcast_to(slice(x, 0, 0, 1), {5, 3, 4}), {5, 12})));
  CHECK_FALSE(is_view(x, reshape(transpose(x), {2, 12})));
  CHECK_FALSE(is_view(x, reshape(transpose(x, 0, 1), {6, 4})));
  CHECK_FALSE(is_view(x, reshape(slice(x, 2, 0, 3), {2, 9})));
  CHECK_FALSE(is_view(x, reshape(slice(x, 1, 0, 2), {16})));
}

TEST_CASE("Chains of views hold what index arithmetic says") {
  Random random(11);
  for (int trial = 0; trial < 3000; ++trial) {
    Shape shape;
    for (std::int64_t rank = random.below(6); rank > 0; --rank)
      shape.append(random.below(20) ? 1 + random.below(4) : 0);
    Tensor x = counting(shape);
    Naive expected(x);
    std::string history = to_string(shape);
    for (int step = 0; step < 5; ++step) {
      const int rank = x.rank();
      const std::int64_t choice = random.below(3);
      if (choice == 0) {
        std::vector<int> axes(static_cast<std::size_t>(rank));
        std::iota(axes.begin(), axes.end(), 0);
        random.shuffle(axes);
        x = permute(x, axes);
        Naive next(x.shape());
        for_each_index(x.shape(), [&](const Shape& index) {
          Shape from = index;
          for (int i = 0; i < rank; ++i) from[axes[static_cast<std::size_t>(i)]] = index[i];
          next[index] = expected[from];
        });
        expected = next;
        history += fmt::format(" permute({})", fmt::join(axes, ", "));
      } else if (choice == 1 && rank > 0) {
        const int axis = static_cast<int>(random.below(rank));
        const std::int64_t begin = random.below(x.size(axis) + 1), stride = 1 + random.below(3);
        const std::int64_t end = begin + random.below(x.size(axis) - begin + 1);
        x = slice(x, axis, begin, end, stride);
        Naive next(x.shape());
        for_each_index(x.shape(), [&](const Shape& index) {
          Shape from = index;
          from[axis] = begin + index[axis] * stride;
          next[index] = expected[from];
        });
        expected = next;
        history += fmt::format(" slice({}, {}, {}, {})", axis, begin, end, stride);
      } else {  // the elements dealt out over random factors
        std::int64_t rest = x.numel();
        Shape to;
        while (rest > 1 && to.rank() < 4) {
          std::int64_t factor = 1 + random.below(rest);
          while (rest % factor != 0) --factor;
          to.append(factor);
          rest /= factor;
        }
        to.append(rest);
        x = reshape(x, to);
        expected.shape = to;
        history += " reshape" + to_string(to);
      }
    }
    if (x.shape() != expected.shape || x.to_vector() != expected.values) FAIL_CHECK(history);
    if (x.numel() > 0 && Naive(x).values != expected.values) FAIL_CHECK(history);
    if (contiguous(x).to_vector() != expected.values) FAIL_CHECK(history);
  }
}

TEST_CASE("Elementwise operations broadcast as NumPy does, whatever the layout") {
  Random random(5);
  const auto check = [&](const Shape& shape_a, const Shape& shape_b, DType dtype) {
    INFO(to_string(shape_a) << " with " << to_string(shape_b) << " " << to_string(dtype));
    const Tensor a = scattered(uniform(shape_a, random, dtype), random);
    const Tensor b = scattered(uniform(shape_b, random, dtype, 0.5, 2), random);
    Naive x(a), y(b);
    const auto same = [&](const Tensor& result, auto f) {
      Naive expected(broadcast_shapes("test", shape_a, shape_b));
      for_each_index(expected.shape, [&](const Shape& index) { expected[index] = f(x[index], y[index]); });
      return distance(result, expected) <= (dtype == DType::float32 ? 3e-7 : 1e-15);
    };
    CHECK(same(a + b, [](double u, double v) { return u + v; }));
    CHECK(same(a - b, [](double u, double v) { return u - v; }));
    CHECK(same(a * b, [](double u, double v) { return u * v; }));
    CHECK(same(a / b, [](double u, double v) { return u / v; }));

    std::vector<std::uint8_t> chosen;
    for (std::int64_t i = 0; i < a.numel(); ++i) chosen.push_back(static_cast<std::uint8_t>(random.below(2)));
    Naive c(shape_a);
    c.values.assign(chosen.begin(), chosen.end());
    const Booleans condition(shape_a, chosen);
    Naive where_expected(broadcast_shapes("test", shape_a, shape_b)), filled(where_expected);
    for_each_index(filled.shape, [&](const Shape& index) {
      where_expected[index] = c[index] != 0 ? x[index] : y[index];
      filled[index] = c[index] != 0 ? -7 : y[index];
    });
    CHECK(distance(where(condition, a, b), where_expected) == 0);
    CHECK(distance(masked_fill(b, condition, -7), filled) == 0);
  };
  for (const auto& [a, b] : broadcast_pairs()) {
    check(a, b, DType::float64);
    check(a, b, DType::float32);
  }
  check({70, 1, 130}, {3, 130}, DType::float32);  // several tiles
  check({}, {20000}, DType::float32);
}

TEST_CASE("Tensors are made, read, converted and written") {
  const Tensor x = tensor({2, 2}, {1, 2, 3, 4});
  CHECK(x.at({1, 0}) == 3);
  CHECK(transpose(x).at({1, 0}) == 2);
  CHECK(full({2}, 0.1).to_vector() == std::vector<double>(2, static_cast<double>(0.1F)));
  CHECK(full({2}, 0.1, DType::float64).to_vector() == std::vector<double>{0.1, 0.1});
  CHECK(x.to(DType::float64).dtype() == DType::float64);
  CHECK(zeros({0, 3}).to_vector().empty());
  CHECK(ones({}).item() == 1);
  CHECK_FALSE(Tensor().defined());
  Tensor y = zeros({2, 2});
  const std::uint64_t version = y.version();
  y.copy_from(transpose(x.to(DType::float64)));
  CHECK(y.to_vector() == std::vector<double>{1, 3, 2, 4});
  CHECK(y.version() > version);
}
