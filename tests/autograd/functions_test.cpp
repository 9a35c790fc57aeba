#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

namespace {

double silu_exact(double x) { return x / (1 + std::exp(-x)); }

double softplus_exact(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace

TEST_CASE("Unary functions match the C library, and handle tiny arguments, infinity and NaN") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  struct Pair {
    const char* name;
    Tensor (*f)(const Tensor&);
    double (*exact)(double);
    double low;
  };
  for (const Pair& p : {Pair{"abs", abs, std::fabs, -50},
                        {"sin", sin, std::sin, -50},
                        {"cos", cos, std::cos, -50},
                        {"erf", erf, std::erf, -50},
                        {"log1p", log1p, std::log1p, -0.9},
                        {"expm1", expm1, std::expm1, -50},
                        {"softplus", softplus, softplus_exact, -50},
                        {"silu", silu, silu_exact, -50}}) {
    INFO(p.name);
    for (double x = p.low; x < 50; x += 0.37) {
      const double given = dtype == DType::float32 ? static_cast<float>(x) : x, expected = p.exact(given);
      CHECK(p.f(tensor({}, {given}, dtype)).item() == Approx(expected).epsilon(rounding(dtype)).margin(1e-12));
    }
    CHECK(std::isnan(p.f(full({}, std::nan(""), dtype)).item()));
  }
  for (const double tiny : {1e-20, -1e-20}) {
    CHECK(log1p(full({}, tiny, dtype)).item() == Approx(tiny).epsilon(1e-6).margin(0));
    CHECK(expm1(full({}, tiny, dtype)).item() == Approx(tiny).epsilon(1e-6).margin(0));
  }
  const double endless = std::numeric_limits<double>::infinity();
  CHECK(softplus(tensor({4}, {1e30, -1e30, endless, -endless}, dtype)).to_vector() ==
        tensor({4}, {1e30, 0, endless, 0}, dtype).to_vector());
  CHECK(std::isnan(softplus(full({}, std::nan(""), dtype)).item()));
}

TEST_CASE("clamp, leaky_relu, maximum and minimum equal their formulas and propagate NaN") {
  const double nan = std::nan("");
  const Tensor x = tensor({5}, {-2, -0.5, 0, 0.5, 2}, DType::float64);
  CHECK(clamp(x, -1, 1).to_vector() == std::vector<double>{-1, -0.5, 0, 0.5, 1});
  CHECK(clamp(x, 1, 1).to_vector() == std::vector<double>(5, 1));
  check_messages({{"clamp: low must be at most high, got 1 and -1", [&] { clamp(x, 1, -1); }},
                  {"clamp: low must be at most high, got nan and 1", [&] { clamp(x, nan, 1); }}});
  CHECK(leaky_relu(x, 0.1).to_vector() == std::vector<double>{-0.2, -0.05, 0, 0.5, 2});
  CHECK(maximum(x, -x).to_vector() == std::vector<double>{2, 0.5, 0, 0.5, 2});
  CHECK(minimum(x, zeros({}, DType::float64)).to_vector() == std::vector<double>{-2, -0.5, 0, 0, 0});
  constexpr double endless = std::numeric_limits<double>::infinity();
  CHECK(clamp(x, -endless, 1).to_vector() == std::vector<double>{-2, -0.5, 0, 0.5, 1});
  CHECK(clamp(x, -0.5, endless).to_vector() == std::vector<double>{-0.5, -0.5, 0, 0.5, 2});
  CHECK(clamp(tensor({2}, {-endless, endless}), -1, 1).to_vector() == std::vector<double>{-1, 1});
  CHECK(clamp(full({}, 2, DType::float64), -endless, endless).item() == 2);
  CHECK(clamp(zeros({0, 2}), 0, 1).shape() == Shape{0, 2});
  CHECK(maximum(tensor({2, 1}, {1, 4}), tensor({3}, {2, endless, -endless})).to_vector() ==
        std::vector<double>{2, endless, 1, 4, endless, 4});
  CHECK(maximum(zeros({0}), ones({1})).shape() == Shape{0});
  CHECK(maximum(full({}, 1), full({}, 2)).item() == 2);
  const Tensor none = full({}, nan, DType::float64);
  for (const Tensor& y : {clamp(none, 0, 1), leaky_relu(none), maximum(x, none), maximum(none, x), minimum(x, none)}) {
    for (const double v : y.to_vector()) CHECK(std::isnan(v));
  }
  const Tensor a = variable(zeros({2})), b = variable(tensor({2}, {0, 1}));
  const Recording recording;
  const Gradients g = backward(sum(maximum(a, b)));
  CHECK(g[a].to_vector() == std::vector<double>{0.5, 0});
  CHECK(g[b].to_vector() == std::vector<double>{0.5, 1});
}

TEST_CASE("Functions have the documented derivative at their kinks") {
  const Tensor x = variable(tensor({3}, {-1, 0, 1}, DType::float64));
  const Recording recording;
  const auto slopes = [&](const Tensor& y) { return backward(sum(y))[x].to_vector(); };
  CHECK(slopes(abs(x)) == std::vector<double>{-1, 0, 1});
  CHECK(slopes(relu(x)) == std::vector<double>{0, 0, 1});
  CHECK(slopes(leaky_relu(x, 0.1)) == std::vector<double>{0.1, 0.1, 1});
  CHECK(slopes(clamp(x, 0, 5)) == std::vector<double>{0, 1, 1});
  CHECK(slopes(clamp(x, -5, 0)) == std::vector<double>{1, 1, 0});
}

TEST_CASE("Powers of 0 and of negative numbers have correct derivatives") {
  const Tensor x = variable(tensor({3}, {-2, 0, 3}, DType::float64));
  const Recording recording;
  CHECK(pow(x, 3).to_vector() == std::vector<double>{-8, 0, 27});
  CHECK(backward(sum(pow(x, 3)))[x].to_vector() == std::vector<double>{12, 0, 27});
  CHECK(backward(sum(pow(x, 1)))[x].to_vector() == std::vector<double>{1, 1, 1});
  CHECK(backward(sum(pow(x, 0)))[x].to_vector() == std::vector<double>{0, 0, 0});
  const Tensor base = variable(tensor({2}, {0, 2}, DType::float64)), two = variable(full({}, 2, DType::float64));
  const Gradients g = backward(sum(pow(base, two)));
  CHECK(g[base].to_vector() == std::vector<double>{0, 4});
  CHECK(g[two].item() == Approx(4 * std::log(2)));
  CHECK(backward(sum(pow(base, zeros({}, DType::float64))))[base].to_vector() == std::vector<double>{0, 0});
  CHECK(pow(tensor({2, 1}, {2, 3}), tensor({3}, {0, 2, -1})).to_vector() ==
        tensor({6}, {1, 4, 0.5, 1, 9, 1.0 / 3}).to_vector());
  CHECK(std::isnan(pow(full({}, -2), full({}, 0.5)).item()));
  CHECK(std::isinf(pow(zeros({}), full({}, -1)).item()));
  const Tensor none = variable(full({}, std::nan(""), DType::float64));  // x^NaN is NaN, and so is its gradient
  CHECK(std::isnan(backward(pow(zeros({}, DType::float64), none))[none].item()));
}

TEST_CASE("swiglu equals silu(gate) * value, and compound assignment equals the binary operation") {
  Random random(3);
  const Tensor u = uniform({3, 5}, random), v = uniform({3, 5}, random);
  CHECK(distance(swiglu(u, v), silu(u) * v) < 1e-15);
  const Tensor full_block = variable(uniform({64}, random, DType::float32));  // where AddressSanitizer sees one more
  const Recording recording;
  CHECK(backward(sum(swiglu(full_block, full_block))).contains(full_block));
  CHECK(message([&] { swiglu(u, transpose(v)); }) ==
        "swiglu: gate and value must have one shape, got (3, 5) and (5, 3)");
  Tensor a = u;
  a += v, a -= 1, a *= v, a /= 2;
  CHECK(same_bits(a, (u + v - 1) * v / 2));
  CHECK_FALSE(same_bits(a, u));
}
