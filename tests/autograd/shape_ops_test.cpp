#include "tests/autograd/helpers.h"

#include <fmt/ranges.h>

using namespace heed;

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

TEST_CASE("Shape operations return views where the strides allow it, and copies otherwise") {
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

TEST_CASE("Chains of views agree with index arithmetic") {
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

TEST_CASE("concat joins rows that several threads copy") {
  const Tensor x = reshape(arange(3 * 40'000, DType::float64), {3, 40'000});
  const Tensor narrow = slice(x, 1, 5, 39'998);
  for (const Tensor& part : {x, narrow}) {
    const std::int64_t n = part.size(1);
    const Tensor rows = concat({part, part, part}, 0), columns = concat({part, x, part}, 1);
    CHECK(rows.shape() == Shape{9, n});
    for (const int i : {0, 3, 6}) CHECK(distance(slice(rows, 0, i, i + 3), part) == 0);
    CHECK(distance(slice(columns, 1, 0, n), part) == 0);
    CHECK(distance(slice(columns, 1, n, n + 40'000), x) == 0);
    CHECK(distance(slice(columns, 1, n + 40'000, 2 * n + 40'000), part) == 0);
  }
}

TEST_CASE("concat joins rows of any length, and slices pass their gradients back") {
  Random random(7);
  for (std::int64_t n = 1; n < 140; ++n) {
    const Tensor x = variable(uniform({5, n}, random)), y = uniform({5, n % 7}, random);
    const Recording recording;
    const Tensor joined = concat({y, x, slice(x, 1, n / 3, n)}, 1);
    CHECK(distance(slice(joined, 1, 0, n % 7), y) == 0);
    CHECK(distance(slice(joined, 1, n % 7, n % 7 + n), x) == 0);
    CHECK(distance(slice(joined, 1, n % 7 + n, joined.size(1)), slice(x, 1, n / 3, n)) == 0);
    const Tensor dx = backward(sum(joined * joined))[x];
    CHECK(distance(slice(dx, 1, 0, n / 3), 2 * slice(x, 1, 0, n / 3)) == 0);
    CHECK(distance(slice(dx, 1, n / 3, n), 4 * slice(x, 1, n / 3, n)) == 0);
  }
}

TEST_CASE("concat joins tensors of any layout along an axis") {
  Random random(6);
  const Tensor x = scattered(uniform({2, 4, 3}, random), random);
  const Tensor y = scattered(uniform({2, 1, 3}, random), random);
  const Tensor joined = concat({x, y, zeros({2, 0, 3}, DType::float64), x}, 1);
  CHECK(joined.shape() == Shape{2, 9, 3});
  CHECK(distance(slice(joined, 1, 0, 4), x) == 0);
  CHECK(distance(slice(joined, 1, 4, 5), y) == 0);
  CHECK(distance(slice(joined, 1, 5, 9), x) == 0);
  const Tensor dense = uniform({2, 3, 4, 5}, random);
  for (const Tensor& z : {dense, transpose(dense), permute(dense, {2, 0, 3, 1}), slice(dense, 3, 1, 3),
                          slice(dense, 1, 0, 2), slice(slice(dense, 3, 1, 3), 1, 1, 2), slice(dense, 2, 0, 4, 2),
                          broadcast_to(slice(dense, 0, 0, 1), {3, 3, 4, 5})}) {
    for (int axis = 0; axis < 4; ++axis) {
      const Tensor twice = concat({z, z}, axis);
      CHECK(distance(slice(twice, axis, 0, z.size(axis)), z) == 0);
      CHECK(distance(slice(twice, axis, z.size(axis), 2 * z.size(axis)), z) == 0);
    }
  }
}

TEST_CASE("slice accepts any step") {
  const Tensor x = variable(tensor({4}, {1, 2, 3, 4}));
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const Recording recording;
  const Tensor y = slice(x, 0, 1, 4, largest);
  CHECK(y.to_vector() == std::vector<double>{2});
  CHECK(backward(sum(y))[x].to_vector() == std::vector<double>{0, 1, 0, 0});
  CHECK(slice(x, 0, 2, 2, largest).shape() == Shape{0});
  CHECK(slice(x, 0, 0, 4, 3).to_vector() == std::vector<double>{1, 4});
}

TEST_CASE("Wrong use of shape operations throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3}), wide = x.to(DType::float64);
  check_messages(
      {{"reshape: 6 elements of shape (2, 3) do not fill (4, -1)",
        [&] {
          reshape(x, {4, -1});
        }},
       {"reshape: only one size may be -1, got (-1, -1)",
        [&] {
          reshape(x, {-1, -1});
        }},
       {"reshape: 6 elements of shape (2, 3) do not fill (7)", [&] { reshape(x, {7}); }},
       {"permute: expected each axis of (2, 3) once, got (0, 0)",
        [&] {
          permute(x, {0, 0});
        }},
       {"permute: expected each axis of (2, 3) once, got (0)", [&] { permute(x, {0}); }},
       {"permute: axis 5 is outside [-2, 2) for rank 2",
        [&] {
          permute(x, {0, 5});
        }},
       {"transpose: axis -2 is outside [-1, 1) for rank 1", [] { transpose(zeros({3})); }},
       {"slice: [1, 4) by 1 does not lie in axis 1 of shape (2, 3)", [&] { slice(x, 1, 1, 4); }},
       {"slice: [0, 2) by 0 does not lie in axis 0 of shape (2, 3)", [&] { slice(x, 0, 0, 2, 0); }},
       {"broadcast_to: (2, 3) does not broadcast to (3)", [&] { broadcast_to(x, {3}); }},
       {"concat: expected at least one tensor", [] { concat(std::vector<Tensor>{}, 0); }},
       {"concat: part 1 is float32 (2, 2); expected float32 and, except along axis 0, the sizes (2, 3)",
        [&] {
          concat({x, zeros({2, 2})}, 0);
        }},
       {"concat: part 1 is float64 (2, 3); expected float32 and, except along axis 0, the sizes (2, 3)", [&] {
          concat({x, wide}, 0);
        }}});
}
