#include "tests/autograd/helpers.h"

#include <heed/autograd/derivatives.h>
#include <heed/autograd/gradcheck/check.h>

using namespace heed;

namespace {

const Operation doubtful("doubtful", "y = x^2", "any", Samples::none("an operation whose gradient is wrong"));

// y = x^2 with a gradient of the test's choice
template <class F>
Tensor square_with(const Tensor& x, F gradient) {
  return record(doubtful, {&x}, square(x.detach()), Saved(x.detach()),
                [gradient](const Tensor& dy, const Tensor& v) { return std::vector{gradient(dy, v)}; });
}

template <class F>
CheckReport check_square(F gradient) {
  return check_gradients([&](const std::vector<Tensor>& x) { return square_with(x[0], gradient); },
                         {tensor({3}, {1, -2, 0.5}, DType::float64)});
}

}  // namespace

TEST_CASE("A wrong gradient fails the check, and the report locates it") {
  CHECK(check_square([](const Tensor& dy, const Tensor& x) { return dy * x * 2; }).passed);
  const CheckReport half = check_square([](const Tensor& dy, const Tensor& x) { return dy * x; });
  CHECK_FALSE(half.passed);
  CHECK(half.worst.computed == Approx(half.worst.expected / 2));
  CHECK(half.worst.excess > 1e6);

  const CheckReport one = check_square([](const Tensor& dy, const Tensor& x) {
    return dy * x * tensor({3}, {2, 2, 2.001}, DType::float64);
  });
  CHECK_FALSE(one.passed);
  CHECK(one.worst.where.find("input 0, element 2, ") == 0);
  CHECK(one.worst.computed == Approx(one.worst.expected * 1.0005).epsilon(1e-9));

  CHECK_FALSE(check_square([](const Tensor& dy, const Tensor&) { return dy * std::nan(""); }).passed);
  CHECK(check_square([](const Tensor& dy, const Tensor& x) { return dy * x * 2; }).entries == 3 * (3 + 2));
}

TEST_CASE("check_gradients and derivative reject functions that they cannot check") {
  const auto first = [](const std::vector<Tensor>& x) { return square(x[0]); };
  CHECK(message([&] { check_gradients(first, {ones({2})}); }) ==
        "check_gradients: input 0 must be float64: x.to(DType::float64)");
  CHECK(message([&] {
          check_gradients(first, {ones({2}, DType::float64), ones({2}, DType::float64)});
        }) == "check_gradients: input 1 received no gradient: the function must compute with the tensors it is given");
  const auto nothing = [](const std::vector<Tensor>&) { return Tensor(); };
  check_messages({{"check_gradients: the function gave an undefined tensor", [&] { check_gradients(nothing, {}); }},
                  {"check_gradients: the function is empty", [] { check_gradients(nullptr, {}); }},
                  {"derivative: the function is empty", [] { derivative(nullptr, 0, 1e-3); }},
                  {"derivative: the function must give one number, got (0)",
                   [] { derivative([](const Tensor&) { return zeros({0}); }, 0, 1e-3); }}});
}

TEST_CASE("check_gradients takes functions of gradients") {
  const auto penalty = [](const std::vector<Tensor>& v) { return sum(square(grad(sum(v[0] * v[0] * v[0]), v[0]))); };
  CHECK(check_gradients(penalty, {tensor({1, 2, -1}, DType::float64)}).passed);  // of 9 x^4
}

TEST_CASE("check() checks the gradient of an operation on its samples") {
  const auto named = [](const char* name) {
    const auto same = [&](const Operation* operation) { return std::string_view(operation->name()) == name; };
    return *std::ranges::find_if(operations(), same);
  };
  const CheckReport report = check(*named("layer_norm"));
  CHECK((report.passed && report.entries > 100 && report.worst.excess <= 1));
  const CheckReport off = check(*named("exp"), {.scale_gradient = 1.001});
  CHECK_FALSE(off.passed);
  CHECK(off.worst.where.find("sample '(") == 0);
  CHECK(message([&] { check(*named("exp"), {.rtol = 1}); }) ==
        "check: sample '()' of exp passes with a gradient that is 1 % too large; set gradient_is_zero where it is 0");
}

TEST_CASE("An operation that computes with recorded inputs is refused") {
  const auto cube = [](const Tensor& x) {
    return record(doubtful, {&x}, x * x * x, Saved(x),
                  [](const Tensor& dy, const Tensor& X) { return std::vector{3 * dy * square(X)}; });
  };
  CHECK(message([&] { check_gradients([&](auto& x) { return cube(x[0]); }, {ones({2}, DType::float64)}); }) ==
        "doubtful: the output, of shape (2), is recorded already; compute it from the detach() of each input, and "
        "make each variable that it uses an input");
  const auto reversed = [](const Tensor& x) {  // may return its input
    return record(doubtful, {&x}, x, Saved(), [](const Tensor& dy) { return std::vector{-dy}; });
  };
  const Tensor x = variable(ones({}));
  const Recording recording;
  CHECK(backward(reversed(x))[x].item() == -1);
  CHECK(backward(reversed(2 * x))[x].item() == -2);
}
