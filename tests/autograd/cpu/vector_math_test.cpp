#include "autograd/cpu/vector_math.h"

#include "tests/autograd/helpers.h"

#include <bit>

using namespace heed;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// The largest error of f in units in the last place of the float nearest to `exact`, over all floats in
// [low, high] whose bits are a multiple of 769.
double largest_error(float (*f)(float), double (*exact)(double), float low, float high) {
  double largest = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 769) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!(x >= low && x <= high)) continue;
    const double y = exact(static_cast<double>(x));
    const float nearest = std::abs(static_cast<float>(y));
    const double unit = static_cast<double>(std::nextafter(nearest, infinity)) - static_cast<double>(nearest);
    largest = std::max(largest, std::abs(static_cast<double>(f(x)) - y) / unit);
  }
  return largest;
}

double sigmoid_exact(double x) { return 1 / (1 + std::exp(-x)); }

// The largest error of an operation against `exact` over [-12, 12], relative to 1 + |exact|.
double operation_error(Tensor (*f)(const Tensor&), double (*exact)(double), DType dtype, double low = -12) {
  std::vector<double> x, y;
  for (double v = low; v <= 12; v += 0.0137) x.push_back(dtype == DType::float32 ? static_cast<float>(v) : v);
  for (const double v : x) y.push_back(exact(v));
  return distance(f(tensor({static_cast<std::int64_t>(x.size())}, x, dtype)).to_vector(), y);
}

}  // namespace

TEST_CASE("float exp and tanh are accurate to 1.1 ulp, sigmoid to 3, the normal CDF above -1 to 8") {
  CHECK(largest_error(cpu::exp, std::exp, -infinity, 88.7228F) < 1.1);  // including subnormal results
  CHECK(largest_error(cpu::exp_nonpositive, std::exp, -87, 88) < 3);
  CHECK(largest_error(cpu::tanh, std::tanh, -infinity, infinity) < 1.1);
  float (*const sigmoid)(float) = cpu::sigmoid;
  CHECK(largest_error(sigmoid, sigmoid_exact, -89, infinity) < 3);  // including subnormal results
  const auto Phi = [](float x) { return cpu::normal(x).distribution; };
  const auto exact = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  CHECK(largest_error(Phi, exact, -1, infinity) < 8);
  CHECK(largest_error(Phi, exact, -13, -1) < 100);  // like e^(-x^2/2), because its exponent is rounded
}

TEST_CASE("exp, tanh, sigmoid and normal are correct at 0, at their limits and for NaN") {
  CHECK(cpu::exp(0.0F) == 1);
  CHECK(cpu::exp(-0.0F) == 1);
  CHECK(cpu::exp(1e-40F) == 1);
  CHECK(cpu::exp(infinity) == infinity);
  CHECK(cpu::exp(-infinity) == 0);
  CHECK(cpu::exp(88.73F) == infinity);
  CHECK(std::isfinite(cpu::exp(88.7228F)));
  CHECK(cpu::exp(-103.2F) == std::numeric_limits<float>::denorm_min());
  CHECK(cpu::exp(-1000.0F) == 0);
  CHECK(std::isnan(cpu::exp(std::nanf(""))));
  CHECK(cpu::exp_nonpositive(0.0F) == 1);
  CHECK(cpu::exp_nonpositive(-infinity) == 0);
  CHECK(cpu::exp_nonpositive(-87.5F) == 0);
  CHECK(std::isnan(cpu::exp_nonpositive(std::nanf(""))));
  CHECK(cpu::tanh(0.0F) == 0);
  CHECK(std::signbit(cpu::tanh(-0.0F)));
  CHECK(cpu::tanh(1e-40F) == 1e-40F);
  CHECK(cpu::tanh(infinity) == 1);
  CHECK(cpu::tanh(-infinity) == -1);
  CHECK(cpu::tanh(20.0F) == 1);
  CHECK(std::isnan(cpu::tanh(std::nanf(""))));
  CHECK(cpu::sigmoid(0.0F) == 0.5F);
  CHECK(cpu::sigmoid(-90.0F) == 0);
  CHECK(cpu::sigmoid(-infinity) == 0);
  CHECK(cpu::sigmoid(100.0F) == 1);
  CHECK(cpu::sigmoid(infinity) == 1);
  CHECK(std::isnan(cpu::sigmoid(std::nanf(""))));
  CHECK(cpu::normal(0.0F).distribution == 0.5F);
  CHECK(cpu::normal(infinity).distribution == 1);
  CHECK(cpu::normal(-infinity).distribution == 0);
  CHECK(cpu::normal(infinity).density == 0);
  CHECK(std::isnan(cpu::normal(std::nanf("")).distribution));
  CHECK(cpu::sigmoid(-infinity) == 0);
  CHECK(cpu::sigmoid(infinity) == 1);
  CHECK(cpu::sigmoid(0.0F) == 0.5F);
}

TEST_CASE("Unary operations match the C library to the precision of the dtype") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const double allowed = dtype == DType::float32 ? 3e-7 : 1e-15;
  CAPTURE(to_string(dtype));
  const auto gelu_exact = [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; };
  const auto gelu_tanh_exact = [](double x) {
    return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2;
  };
  CHECK(operation_error(exp, std::exp, dtype) < 2 * allowed);
  CHECK(operation_error(tanh, std::tanh, dtype) < allowed);
  CHECK(operation_error(sigmoid, sigmoid_exact, dtype) < allowed);
  CHECK(operation_error(gelu, gelu_exact, dtype) < allowed);
  CHECK(operation_error(gelu_tanh, gelu_tanh_exact, dtype) < 2 * allowed);
  CHECK(operation_error(
            relu, [](double x) { return x > 0 ? x : 0; }, dtype) == 0);
  CHECK(operation_error(
            square, [](double x) { return x * x; }, dtype) < allowed);
  CHECK(operation_error(log, std::log, dtype, 1e-3) < allowed);
  CHECK(operation_error(sqrt, std::sqrt, dtype, 1e-3) < allowed);
}

TEST_CASE("Arithmetic operators accept a scalar on either side") {
  const Tensor x = tensor({3}, {1, -2, 4}, DType::float64);
  CHECK((2 + x - 0.5).to_vector() == std::vector<double>{2.5, -0.5, 5.5});
  CHECK((1 - x).to_vector() == std::vector<double>{0, 3, -3});
  CHECK((3 * x * 0.5).to_vector() == std::vector<double>{1.5, -3, 6});
  CHECK((x / 4).to_vector() == std::vector<double>{0.25, -0.5, 1});
  CHECK((4 / x).to_vector() == std::vector<double>{4, -2, 1});
  CHECK((-x).to_vector() == std::vector<double>{-1, 2, -4});
}

TEST_CASE("gelu and gelu_tanh of huge numbers are the identity or 0, with gradient 1 or 0") {
  const Tensor x = variable(tensor({4}, {3e38, -3e38, 1e15, -1e15}));
  const Recording recording;
  for (const Tensor& y : {gelu(x), gelu_tanh(x)}) {
    CHECK(y.to_vector() == tensor({4}, {3e38, 0, 1e15, 0}).to_vector());
    CHECK(backward(sum(y))[x].to_vector() == std::vector<double>{1, 0, 1, 0});
  }
}

TEST_CASE("relu has gradient 0 at its kink, and the first of equal maxima gets the gradient of max") {
  const Tensor x = variable(tensor({2, 3}, {0, -1, 2, 3, 3, 1}));
  const Recording recording;
  CHECK(backward(sum(relu(x)))[x].to_vector() == std::vector<double>{0, 0, 1, 1, 1, 1});
  CHECK(backward(sum(max(x, {1})))[x].to_vector() == std::vector<double>{0, 0, 1, 1, 0, 0});
}
