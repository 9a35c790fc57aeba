#include "tests/autograd/helpers.h"

using namespace heed;

namespace {

template <class T>
std::vector<T> values(const Array<T>& x) {
  return {x.begin(), x.end()};
}

std::vector<std::uint8_t> bits(std::initializer_list<std::uint8_t> list) { return list; }

// Arrays of 0, 1, 2, ... in each shape, and the tensors that hold the same numbers.
const std::vector<Shape> shapes{{6}, {2, 3}, {2, 3, 4}, {1, 5}, {3, 0}, {0, 2}};

Ids counting(const Shape& shape) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(shape.numel()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return Ids(shape, numbers);
}

void check_same(const Ids& x, const Tensor& y) {
  CHECK(x.shape() == y.shape());
  CHECK(tensor(x, DType::float64).to_vector() == y.to_vector());
}

}  // namespace

TEST_CASE("Arrays have sizes and bounds-checked element access") {
  const Ids x({2, 3}, {5, 1, 2, 7, 3, 0});
  CHECK(x.rank() == 2);
  CHECK(x.size(-1) == 3);
  CHECK(x.at({1, 2}) == 0);
  CHECK(x.at({1, 0}) == 7);
  CHECK(x[3] == 7);
  CHECK(std::accumulate(x.begin(), x.end(), 0) == 18);
  check_messages({{"at: index (2, 0) lies outside shape (2, 3)",
                   [&] {
                     x.at({2, 0});
                   }},
                  {"at: index (0, -1) lies outside shape (2, 3)",
                   [&] {
                     x.at({0, -1});
                   }},
                  {"at: expected an index for each axis of shape (2, 3), got (1)", [&] { x.at({1}); }},
                  {"size: axis 2 is outside [-2, 2) for rank 2", [&] { x.size(2); }}});
}

TEST_CASE("reshape, slice, index_select and concat of arrays agree with those of tensors") {
  for (const Shape& shape : shapes) {
    const Ids x = counting(shape);
    const Tensor y = tensor(x, DType::float64);
    for (const Shape& to : shapes) {
      if (to.numel() == shape.numel()) check_same(reshape(x, to), reshape(y, to));
    }
    for (int axis = -shape.rank(); axis < shape.rank(); ++axis) {
      const std::int64_t n = shape[axis];
      for (std::int64_t begin = 0; begin <= n; ++begin) {
        check_same(slice(x, axis, begin), slice(y, axis, begin, n));
        check_same(slice(x, axis, 0, begin, 2), slice(y, axis, 0, begin, 2));
        if (begin > 0) check_same(slice(x, axis, -begin), slice(y, axis, n - begin, n));
      }
      check_same(concat({x, slice(x, axis, 0, n / 2), x}, axis), concat({y, slice(y, axis, 0, n / 2), y}, axis));
      check_same(unsqueeze(x, axis), unsqueeze(y, axis));
      check_same(stack({x, x + 1, x}, axis), stack({y, y + 1, y}, axis));
      if (n == 1) check_same(squeeze(x, axis), squeeze(y, axis));
      if (n == 0) continue;
      const Ids chosen({3}, {static_cast<std::int32_t>(n - 1), 0, 0});
      check_same(index_select(x, chosen, axis), index_select(y, chosen, axis));
    }
  }
  CHECK(reshape(counting({6}), {3, -1}).at({1, 1}) == 3);
  CHECK(values(reshape(Booleans({4}, {1, 0, 0, 1}), {2, 2})) == bits({1, 0, 0, 1}));
  CHECK(values(slice(Booleans({4}, {1, 0, 0, 1}), 0, -1)) == bits({1}));
  CHECK(values(concat({Booleans({1}, {1}), Booleans({2}, {0, 1})}, 0)) == bits({1, 0, 1}));
  CHECK(index_select(Ids({2, 2}, {1, 2, 3, 4}), Ids({0}, {})).shape() == Shape{0, 2});
  check_same(unsqueeze(Ids({}, {7}), 0), tensor({7}));
  check_same(unsqueeze(counting({2, 3}), -1), reshape(tensor(counting({2, 3})), {2, 3, 1}));
  const Booleans mask({2}, {1, 0});
  CHECK(unsqueeze(mask, 1).shape() == Shape{2, 1});
  CHECK(values(squeeze(unsqueeze(mask, 1), -1)) == bits({1, 0}));
  CHECK(values(stack({mask, !mask}, 1)) == bits({1, 0, 0, 1}));
}

TEST_CASE("Arrays refuse shapes and indices that do not fit") {
  const Ids x = counting({2, 3});
  check_messages(
      {{"reshape: 6 elements of shape (2, 3) do not fill (4)", [&] { reshape(x, {4}); }},
       {"slice: [1, 4) by 1 does not lie in axis 1 of shape (2, 3)", [&] { slice(x, 1, 1, 4); }},
       {"slice: [-4, end) by 1 does not lie in axis 1 of shape (2, 3)", [&] { slice(x, 1, -4); }},
       {"slice: [2, end) by 0 does not lie in axis 0 of shape (2, 3)", [&] { slice(x, 0, 2, to_end, 0); }},
       {"concat: expected at least one array", [] { concat(std::vector<Ids>{}, 0); }},
       {"concat: part 1 has shape (2, 2); expected that of part 0, (2, 3), except along axis 0",
        [&] {
          concat({x, counting({2, 2})}, 0);
        }},
       {"squeeze: expected size 1 along axis -1 of shape (2, 3)", [&] { squeeze(x, -1); }},
       {"unsqueeze: axis 3 is outside [-3, 3) for rank 3", [&] { unsqueeze(x, 3); }},
       {"stack: expected at least one array", [] { stack(std::vector<Ids>{}); }},
       {"stack: part 1 has shape (2, 2); expected (2, 3) like part 0",
        [&] {
          stack({x, counting({2, 2})});
        }},
       {"index_select: index 2 at position 1 lies outside [0, 2)",
        [&] {
          index_select(x, Ids({2}, {0, 2}));
        }},
       {"index_select: expected indices (n), got (1, 1)",
        [&] {
          index_select(x, Ids({1, 1}, {0}));
        }},
       {"<: shapes (2, 3) and (2) do not broadcast: 3 != 2 at axis -1. Sizes must be equal, or one of them 1",
        [&] { return x < counting({2}); }}});
}

TEST_CASE("Arrays support comparisons, and, or, count, any and all") {
  const Ids x({2, 2}, {1, 2, 3, 4}), row({2}, {1, 4});
  CHECK(values(equal(x, row)) == bits({1, 0, 0, 1}));
  CHECK(values(equal(x, 3)) == bits({0, 0, 1, 0}));
  CHECK(values(x < 3) == bits({1, 1, 0, 0}));
  CHECK(values(x <= row) == bits({1, 1, 0, 1}));
  CHECK(values(x > 1) == bits({0, 1, 1, 1}));
  CHECK(values(x >= row) == bits({1, 0, 1, 1}));
  CHECK(values((x > 1) & (x < 4)) == bits({0, 1, 1, 0}));
  CHECK(values((x < 2) | equal(x, 4)) == bits({1, 0, 0, 1}));
  CHECK(values(Booleans({2}, {2, 0}) & Booleans({2}, {4, 1})) == bits({1, 0}));  // any value but 0 is true
  CHECK(count(x > 1) == 3);
  CHECK(any(equal(x, 4)));
  CHECK_FALSE(any(equal(x, 5)));
  CHECK(all(x > 0));
  CHECK_FALSE(all(x > 1));
  CHECK(all(Booleans({0}, {})));
  CHECK(tensor(Booleans({3}, {0, 7, 1})).to_vector() == std::vector<double>{0, 1, 1});
  CHECK(message([] {
          tensor(Ids({3, -16777217}));
        }) == "tensor: float32 does not hold -16777217 exactly; write tensor(ids, DType::float64)");
  CHECK(message([] { (Ids({16777217}) * ones({1})).item(); }).find("float32 does not hold 16777217 exactly") !=
        std::string::npos);
  CHECK(tensor(Ids({16777216, 16777218, -2147483647 - 1})).to_vector() ==
        std::vector<double>{16777216, 16777218, -2147483648.0});
  CHECK(tensor(Ids({16777217}), DType::float64).item() == 16777217);
  CHECK(values(equal(tensor({3}, {1, 0.5, 1}), 1.0)) == bits({1, 0, 1}));
}

TEST_CASE("tensor() accepts a vector of floats, and where() accepts scalars") {
  const std::vector<float> floats{0.1F, 2, -3};
  const Tensor x = tensor({3}, floats);
  CHECK(x.dtype() == DType::float32);
  CHECK(x.data<float>()[0] == 0.1F);
  CHECK(where(x > 0, x, -1.0).to_vector() == std::vector<double>{0.1F, 2, -1});
  CHECK(where(x > 0, 1.0, x).to_vector() == std::vector<double>{1, 1, -3});
  CHECK(where(x > 0, 1.0, 0.0).to_vector() == std::vector<double>{1, 1, 0});
  CHECK(where(x > 0, 1.0, 0.0, DType::float64).dtype() == DType::float64);
  CHECK(slice(x, 0, 1).to_vector() == std::vector<double>{2, -3});
  CHECK(slice(x, 0, -2, -1).to_vector() == std::vector<double>{2});
  check_messages({{"tensor: shape (2) needs 2 values, got 3", [&] { tensor({2}, floats); }}});
}
