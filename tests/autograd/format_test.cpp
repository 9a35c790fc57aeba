#include "tests/autograd/helpers.h"

#include <heed/autograd/format.h>
#include <heed/autograd/ops.h>

#include <sstream>

using namespace heed;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_value = std::nan("");

std::string text(const Shape& shape, std::initializer_list<double> values, DType dtype = DType::float32) {
  return fmt::format("{}", tensor(shape, values, dtype));
}

Tensor sevenths(const Shape& shape) {  // 0, 1, 2, ... divided by 7 in float32
  Tensor x(shape, DType::float32);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i) / 7;
  return x;
}

Tensor counted(const Shape& shape, double factor) {  // 0, factor, 2 factor, ...
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) * factor;
  return tensor(shape, values);
}

}  // namespace

// The results of NumPy 2.4's str() for the same values in float32 and float64.
TEST_CASE("A tensor is printed as NumPy prints it") {
  CHECK(text({2}, {1, 2}) == "[1. 2.]");
  CHECK(text({2, 2}, {1, 2.5, 3, 4.25}) == "[[1.   2.5 ]\n [3.   4.25]]");
  CHECK(text({2, 2}, {-1.5, 200, 3, -0.25}) == "[[ -1.5  200.  ]\n [  3.    -0.25]]");
  CHECK(text({3}, {1.0 / 3, 2.0 / 3, -1}) == "[ 0.33333334  0.6666667  -1.        ]");
  CHECK(text({2}, {-0.0, 0}) == "[-0.  0.]");
  CHECK(text({1, 1, 1, 2}, {0, 0}) == "[[[[0. 0.]]]]");
  CHECK(fmt::format("{}", counted({2, 3, 2}, 1)) ==
        "[[[ 0.  1.]\n  [ 2.  3.]\n  [ 4.  5.]]\n\n [[ 6.  7.]\n  [ 8.  9.]\n  [10. 11.]]]");
  CHECK(fmt::format("{}", transpose(tensor({2, 2}, {1, 2, 3, 4}))) == "[[1. 3.]\n [2. 4.]]");
}

TEST_CASE("Numbers of very different magnitude are printed with exponents") {
  CHECK(text({3}, {0.001, 1, 1000}) == "[1.e-03 1.e+00 1.e+03]");
  CHECK(text({2, 2}, {1e-5, -1.5, 123456, 0}) == "[[ 1.00000e-05 -1.50000e+00]\n [ 1.23456e+05  0.00000e+00]]");
  CHECK(text({2}, {123456, 200000}) == "[123456. 200000.]");
  CHECK(text({2}, {1e6, 2e6}) == "[1.e+06 2.e+06]");
  CHECK(text({2}, {1.17549435e-38, 3.4028235e38}) == "[1.1754944e-38 3.4028235e+38]");
  CHECK(text({2}, {1e6, 2e7}, DType::float64) == "[ 1000000. 20000000.] float64");
  CHECK(text({2}, {1e8, 2e8}, DType::float64) == "[1.e+08 2.e+08] float64");
  CHECK(text({2}, {1e-100, 1e5}, DType::float64) == "[1.e-100 1.e+005] float64");
}

TEST_CASE("Elements are printed with 8 decimals, scalars with full precision") {
  const DType wide = DType::float64;
  CHECK(text({3}, {1.0 / 3, 2.0 / 3, -1}, wide) == "[ 0.33333333  0.66666667 -1.        ] float64");
  CHECK(text({2}, {0.123456785, 0.5}, wide) == "[0.12345678 0.5       ] float64");
  CHECK(text({2}, {1.23456789012e-7, 9.9999999999e3}, wide) == "[1.23456789e-07 1.00000000e+04] float64");
  CHECK(text({}, {2.5}) == "2.5");
  CHECK(text({}, {1}) == "1.0");
  CHECK(text({}, {1.0 / 3}) == "0.33333334");
  CHECK(text({}, {1.5e-5}) == "1.5e-05");
  CHECK(text({}, {nan_value}) == "nan");
  CHECK(text({}, {-inf}) == "-inf");
  CHECK(text({}, {1.0 / 3}, wide) == "0.3333333333333333 float64");
  CHECK(text({}, {1e16}, wide) == "1e+16 float64");
}

TEST_CASE("Infinity and NaN keep the columns aligned") {
  CHECK(text({4}, {nan_value, 1, -inf, inf}) == "[ nan   1. -inf  inf]");
  CHECK(text({3}, {nan_value, 1.5, 2}) == "[nan 1.5 2. ]");
  CHECK(text({2}, {nan_value, inf}) == "[nan inf]");
  CHECK(text({2}, {-inf, -inf}) == "[-inf -inf]");
  CHECK(text({3}, {nan_value, -inf, 1e-7}) == "[   nan   -inf 1.e-07]");
  CHECK(text({2}, {nan_value, 123456.5}) == "[     nan 123456.5]");
}

TEST_CASE("Long lines wrap, and tensors of more than 1000 values are printed without the middle") {
  CHECK(fmt::format("{}", sevenths({2, 20})) == R"([[0.         0.14285715 0.2857143  0.42857143 0.5714286  0.71428573
  0.85714287 1.         1.1428572  1.2857143  1.4285715  1.5714285
  1.7142857  1.8571428  2.         2.142857   2.2857144  2.4285715
  2.5714285  2.7142856 ]
 [2.857143   3.         3.142857   3.2857144  3.4285715  3.5714285
  3.7142856  3.857143   4.         4.142857   4.285714   4.428571
  4.571429   4.714286   4.857143   5.         5.142857   5.285714
  5.428571   5.571429  ]])");
  CHECK(fmt::format("{}", counted({2000}, 1)) ==
        "[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03] (2000)");
  CHECK(fmt::format("{}", counted({40, 50}, 0.1)) ==
        R"([[0.000e+00 1.000e-01 2.000e-01 ... 4.700e+00 4.800e+00 4.900e+00]
 [5.000e+00 5.100e+00 5.200e+00 ... 9.700e+00 9.800e+00 9.900e+00]
 [1.000e+01 1.010e+01 1.020e+01 ... 1.470e+01 1.480e+01 1.490e+01]
 ...
 [1.850e+02 1.851e+02 1.852e+02 ... 1.897e+02 1.898e+02 1.899e+02]
 [1.900e+02 1.901e+02 1.902e+02 ... 1.947e+02 1.948e+02 1.949e+02]
 [1.950e+02 1.951e+02 1.952e+02 ... 1.997e+02 1.998e+02 1.999e+02]] (40, 50))");
  CHECK(to_string(zeros({8, 2, 100})) == R"([[[0. 0. 0. ... 0. 0. 0.]
  [0. 0. 0. ... 0. 0. 0.]]

 [[0. 0. 0. ... 0. 0. 0.]
  [0. 0. 0. ... 0. 0. 0.]]

 [[0. 0. 0. ... 0. 0. 0.]
  [0. 0. 0. ... 0. 0. 0.]]

 ...

 [[0. 0. 0. ... 0. 0. 0.]
  [0. 0. 0. ... 0. 0. 0.]]

 [[0. 0. 0. ... 0. 0. 0.]
  [0. 0. 0. ... 0. 0. 0.]]

 [[0. 0. 0. ... 0. 0. 0.]
  [0. 0. 0. ... 0. 0. 0.]]] (8, 2, 100))");
  CHECK(to_string(broadcast_to(ones({1}), {std::int64_t{1} << 40})) == "[1. 1. 1. ... 1. 1. 1.] (1099511627776)");
}

TEST_CASE("Arrays print like tensors, and tensors, arrays, shapes and dtypes print to streams") {
  const Ids ids({2, 3}, {1, 20, -3, 4, 5, 600});
  CHECK(to_string(ids) == "[[  1  20  -3]\n [  4   5 600]]");
  CHECK(to_string(Ids({}, {7})) == "7");
  CHECK(to_string(Ids({0, 2}, {})) == "[] (0, 2)");
  CHECK(to_string(Booleans({2, 2}, {1, 0, 1, 1})) == "[[ True False]\n [ True  True]]");
  CHECK(to_string(arange_ids(0, 1001)) == "[   0    1    2 ...  998  999 1000] (1001)");
  std::ostringstream out;
  out << tensor({2}, {1, 2.5}) << ' ' << Ids({2}, {1, 2}) << ' ' << Booleans({1}, {0}) << ' ' << Shape{2, 3} << ' '
      << DType::float64;
  CHECK(out.str() == "[1.  2.5] [1 2] [False] (2, 3) float64");
  CHECK(fmt::format("{:>6}|{}", Ids({2}, {1, 2}), Booleans({}, {1})) == " [1 2]|True");
}

TEST_CASE("Undefined and empty tensors, shapes and dtypes can be formatted") {
  CHECK(fmt::format("{}", Tensor()) == "undefined");
  CHECK(fmt::format("{}", zeros({0, 3})) == "[] (0, 3)");
  CHECK(to_string(zeros({2, 0}, DType::float64)) == "[] float64 (2, 0)");
  CHECK(fmt::format("{} {} {}", Shape{2, 3}, Shape{}, DType::float64) == "(2, 3) () float64");
  CHECK(fmt::format("{:>7}|{:<9}|", Shape{2}, DType::float32) == "    (2)|float32  |");
}
