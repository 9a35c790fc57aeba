#pragma once
#include "autograd/cpu/thread_pool.h"
#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace heed {

inline Tensor uniform(const Shape& shape, Random& random, DType dtype = DType::float64, double low = -2,
                      double high = 2) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (double& value : values) value = random.uniform(low, high);
  return tensor(shape, values, dtype);
}

// Calls f(index) for every index of `shape`, the last axis fastest.
template <class F>
void for_each_index(const Shape& shape, F f) {
  Shape index = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) index[axis] = 0;
  for (std::int64_t n = shape.numel(); n > 0; --n) {
    f(std::as_const(index));
    for (int axis = shape.rank() - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis) index[axis] = 0;
  }
}

inline std::size_t offset(const Shape& index, const Shape& strides) {
  return static_cast<std::size_t>(std::inner_product(index.begin(), index.end(), strides.begin(), std::int64_t{0}));
}

// An array indexed one element at a time, as a reference for tensors.
struct Naive {
  Shape shape;
  std::vector<double> values;

  explicit Naive(const Shape& s) : shape(s), values(static_cast<std::size_t>(s.numel())) {}
  explicit Naive(const Tensor& x) : Naive(x.shape()) {
    std::size_t i = 0;
    for_each_index(shape, [&](const Shape& index) {
      values[i++] =
          dispatch(x.dtype(), [&]<class T>() { return static_cast<double>(x.data<T>()[offset(index, x.strides())]); });
    });
  }

  // Returns the element at `index`, an index into a shape that this one broadcasts to.
  double& operator[](const Shape& index) {
    std::int64_t element = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::int64_t i = index[axis + index.rank() - shape.rank()];
      element = element * shape[axis] + (shape[axis] == 1 ? 0 : i);
    }
    return values[static_cast<std::size_t>(element)];
  }
};

// The values of x in another layout: axes permuted, and gaps of NaN between and around the elements.
inline Tensor scattered(const Tensor& x, Random& random) {
  std::vector<int> order(static_cast<std::size_t>(x.rank())), inverse(order);
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order);
  Shape shape;
  for (const int axis : order) shape.append(2 * x.size(axis) + 2);
  Tensor y = full(shape, std::numeric_limits<double>::quiet_NaN(), x.dtype());
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = order[static_cast<std::size_t>(i)];
    const std::int64_t step = 1 + random.below(2);
    y = slice(y, i, 1, 1 + x.size(axis) * step, step);
    inverse[static_cast<std::size_t>(axis)] = i;
  }
  y = permute(y, inverse);
  Naive values(x);
  for_each_index(x.shape(), [&](const Shape& index) {
    dispatch(x.dtype(),
             [&]<class T>() { y.mutable_data<T>()[offset(index, y.strides())] = static_cast<T>(values[index]); });
  });
  return y;
}

// The largest |x - y| / (1 + |y|); infinite when a number is NaN or the counts differ.
inline double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = x.size() == y.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    const double d = x[i] == y[i] ? 0 : std::abs(x[i] - y[i]) / (1 + std::abs(y[i]));
    largest = d <= largest ? largest : std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
  }
  return largest;
}
inline double distance(const Tensor& x, const Naive& y) {
  return x.shape() == y.shape ? distance(x.to_vector(), y.values) : std::numeric_limits<double>::infinity();
}
inline double distance(const Tensor& x, const Tensor& y) { return distance(x, Naive(y)); }

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

// Returns log softmax of a row; a row of -infinity is returned unchanged.
inline std::vector<double> log_softmax_naive(std::vector<double> row) {
  const double m = *std::max_element(row.begin(), row.end());
  if (m == -std::numeric_limits<double>::infinity()) return row;
  double total = 0;
  for (const double v : row) total += std::exp(v - m);
  for (double& v : row) v -= m + std::log(total);
  return row;
}

// The error allowed for elementwise operations and sums, as distance() measures it.
inline double rounding(DType dtype) { return dtype == DType::float32 ? 2e-6 : 1e-13; }

// Calls check(shape_a, shape_b, dtype) for shapes that broadcast to one another, some larger than a tile.
template <class F>
void for_each_broadcast(F check) {
  const auto checked = [&](const Shape& a, const Shape& b, DType dtype) {
    INFO(to_string(a) << " with " << to_string(b) << " " << to_string(dtype));
    check(a, b, dtype);
  };
  for (const auto& [a, b] : broadcast_pairs()) {
    checked(a, b, DType::float64);
    checked(a, b, DType::float32);
  }
  checked({70, 1, 130}, {3, 130}, DType::float32);
  checked({}, {20000}, DType::float32);
}

// Checks that each function throws an Error with the given text.
inline void check_messages(const std::vector<std::pair<std::string, std::function<void()>>>& cases) {
  for (const auto& [expected, function] : cases) CHECK(message(function) == expected);
}

// Equal bit for bit: NaN equals itself, 0 does not equal -0.
inline bool same_bits(const Tensor& x, const Tensor& y) {
  const std::vector<double> a = x.to_vector(), b = y.to_vector();
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// Sets the number of threads for its lifetime.
class Threads {
 public:
  explicit Threads(int count) { set_threads(count); }
  ~Threads() { set_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_ = threads();
};

}  // namespace heed
