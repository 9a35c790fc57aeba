#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

namespace {

double silu_exact(double x) { return x / (1 + std::exp(-x)); }

double softplus_exact(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

constexpr double endless = std::numeric_limits<double>::infinity();

// The largest error of f in units in the last place over numbers of all sizes, 1e-30 to 1e30, of which `low` is the least.
template <class T>
double units_off(Tensor (*f)(const Tensor&), long double (*exact)(long double), double low) {
  std::vector<double> x;
  for (double v = 1e-30; v < 1e30; v *= 1.00713) {
    for (const double u : {v, -v}) {
      if (static_cast<double>(static_cast<T>(u)) >= low) x.push_back(static_cast<double>(static_cast<T>(u)));
    }
  }
  for (double v = std::max(low, -30.0); v < 30; v += 0.00371) x.push_back(static_cast<double>(static_cast<T>(v)));
  const std::vector<double> y =
      f(tensor({static_cast<std::int64_t>(x.size())}, x, sizeof(T) == 4 ? DType::float32 : DType::float64)).to_vector();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double expected = exact(static_cast<long double>(x[i]));
    const T nearest = static_cast<T>(std::abs(expected));
    if (std::isinf(nearest) ? std::abs(y[i]) == endless : static_cast<long double>(y[i]) == expected) continue;
    const T unit = std::nextafter(nearest, std::numeric_limits<T>::infinity()) - nearest;
    const double off =
        static_cast<double>(std::abs(static_cast<long double>(y[i]) - expected) / static_cast<long double>(unit));
    most = std::max(most, std::isnan(off) ? endless : off);
  }
  return most;
}

}  // namespace

TEST_CASE("Functions of vectors are accurate to 4 units in the last place") {
  struct Function {
    const char* name;
    Tensor (*f)(const Tensor&);
    long double (*exact)(long double);
    double low;
    double units_of_float = 4;
  };
  for (const Function& t :
       {Function{"exp", exp, std::exp, -endless},
        {"log", log, std::log, 0},
        {"sin", sin, std::sin, -endless},
        {"cos", cos, std::cos, -endless},
        {"tanh", tanh, std::tanh, -endless},
        {"erf", erf, std::erf, -endless},
        {"log1p", log1p, std::log1p, -0.999},
        {"expm1", expm1, std::expm1, -endless},
        {"pow 2.5", [](const Tensor& x) { return pow(x, 2.5); }, [](long double x) { return std::pow(x, 2.5L); }, 0},
        {"pow 3", [](const Tensor& x) { return pow(x, 3); }, [](long double x) { return x * x * x; }, -endless}}) {
    INFO(t.name);
    CHECK(units_off<float>(t.f, t.exact, t.low) <= t.units_of_float);
    CHECK(units_off<double>(t.f, t.exact, t.low) <= 4);
  }
}

TEST_CASE("Functions of vectors are right at 0, infinity, NaN and subnormal numbers, at each place of a vector") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  const double least = dtype == DType::float32 ? 1e-45 : 5e-324, nan = std::nan("");
  struct Edge {
    const char* name;
    Tensor (*f)(const Tensor&);
    std::vector<double> expected;
  };
  const std::vector<double> x{0, -0.0, endless, -endless, nan, least, -least};
  for (const Edge& t :
       {Edge{"exp", exp, {1, 1, endless, 0, nan, 1, 1}},
        {"log", log, {-endless, -endless, endless, nan, nan, std::log(tensor({}, {least}, dtype).item()), nan}},
        {"sin", sin, {0, -0.0, nan, nan, nan, least, -least}},
        {"cos", cos, {1, 1, nan, nan, nan, 1, 1}},
        {"tanh", tanh, {0, -0.0, 1, -1, nan, least, -least}},
        {"erf", erf, {0, -0.0, 1, -1, nan, least, -least}},
        {"log1p", log1p, {0, -0.0, endless, nan, nan, least, -least}},
        {"expm1", expm1, {0, -0.0, endless, -1, nan, least, -least}},
        {"softplus", softplus, {std::log(2.0), std::log(2.0), endless, 0, nan, std::log(2.0), std::log(2.0)}},
        {"pow 0.5",
         [](const Tensor& v) { return pow(v, 0.5); },
         {0, 0, endless, endless, nan, std::sqrt(tensor({}, {least}, dtype).item()), nan}},
        {"pow 3", [](const Tensor& v) { return pow(v, 3); }, {0, -0.0, endless, -endless, nan, 0, -0.0}},
        {"pow -1", [](const Tensor& v) { return pow(v, -1); }, {endless, -endless, 0, -0.0, nan, endless, -endless}},
        {"leaky_relu",
         [](const Tensor& v) { return leaky_relu(v, 0.5); },
         {0, -0.0, endless, -endless, nan, least, -0.0}}}) {
    for (std::size_t place = 0; place < 17; ++place) {  // beside ordinary numbers, which must not change
      for (std::size_t i = 0; i < x.size(); ++i) {
        std::vector<double> row(17, 0.75);
        row[place] = x[i];
        const std::vector<double> y = t.f(tensor({17}, row, dtype)).to_vector();
        INFO(t.name << " of " << x[i] << " at " << place << " is " << y[place]);
        const double expected = t.expected[i];
        CHECK((std::isnan(expected) ? std::isnan(y[place])
                                    : y[place] == tensor({}, {expected}, dtype).item() ||
                                          std::abs(y[place] - expected) < 1e-6 * std::abs(expected)));
        if (expected == 0 && y[place] == 0) CHECK(std::signbit(y[place]) == std::signbit(expected));
        CHECK(y[(place + 1) % 17] == t.f(full({}, 0.75, dtype)).item());
      }
    }
  }
}

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
  for (const double x : {1e-30, 0.3, 2.0, 7e30}) {
    const Tensor given = full({3}, x, dtype);
    CHECK(distance(pow(given, 0.5), sqrt(given)) == 0);
    CHECK(pow(given, -0.5).at({1}) == Approx(1 / std::sqrt(x)).epsilon(rounding(dtype)).margin(0));
  }
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
  const Tensor none = variable(full({}, std::nan("")));
  CHECK(backward(relu(none))[none].item() == 1);  // as PyTorch: NaN is not hidden
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
  for (const double p : {0.0, 1.0, 2.0, 4.0, -1.0, 5.0, -2.0, 0.5}) {
    const Tensor a = tensor({4}, {0.3, 1.7, 4e3, 1e-3}, DType::float64);
    for (std::int64_t i = 0; i < 4; ++i) CHECK(pow(a, p).at({i}) == Approx(std::pow(a.at({i}), p)).epsilon(1e-14));
  }
  CHECK(std::isnan(pow(full({}, -2), full({}, 0.5)).item()));
  CHECK(std::isinf(pow(zeros({}), full({}, -1)).item()));
  const Tensor none = variable(full({}, std::nan(""), DType::float64));  // x^NaN is NaN, and so is its gradient
  CHECK(std::isnan(backward(pow(zeros({}, DType::float64), none))[none].item()));
}

TEST_CASE("The gradients of pow at 0 and NaN are those of PyTorch, recorded or not") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    double base, exponent, of_base, of_exponent;
  };
  for (const auto& [base, exponent, of_base, of_exponent] : std::vector<Case>{{0, 0, 0, 0},
                                                                              {0, 2, 0, 0},
                                                                              {0, endless, nan, 0},
                                                                              {0, -1, -endless, -endless},
                                                                              {-0.0, -1, -endless, endless},
                                                                              {0, nan, nan, nan},
                                                                              {nan, 0, 0, nan},
                                                                              {nan, 1, 1, nan},
                                                                              {endless, 0, 0, endless},
                                                                              {-2, 2, -4, nan}}) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      INFO(base << " to " << exponent << ", " << to_string(dtype));
      const Tensor a = variable(full({}, base, dtype)), b = variable(full({}, exponent, dtype));
      const Recording recording;
      const Tensor y = pow(a, b);
      const auto is = [](const Tensor& found, double expected) {
        return std::isnan(expected) ? std::isnan(found.item()) : found.item() == expected;
      };
      for (const bool is_recorded : {false, true}) {
        const Gradients g = is_recorded ? backward(y, {.record = true}) : backward(y);
        CHECK(is(g[a].detach(), of_base));
        CHECK(is(g[b].detach(), of_exponent));
      }
    }
  }
}

TEST_CASE("The gradient of x^0 is 0 for any gradient of the output, recorded or not") {
  const Tensor x = variable(full({}, 2));
  const Recording recording;
  const Tensor y = pow(x, 0) - 1, z = sqrt(y);  // dz / dy is infinite
  CHECK(backward(z)[x].item() == 0);
  CHECK(backward(z, {.record = true})[x].item() == 0);
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
