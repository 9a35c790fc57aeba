#include "tests/autograd/helpers.h"

#include <heed/autograd/derivatives.h>

using namespace heed;

namespace {

const Operation kernel_operation("kernel_cube", "y = x^3", "dx = 3 dy x^2", Samples::none("its backward is a kernel"));
const Operation excused_operation("excused_cube", "y = x^3", "dx = 3 dy x^2", Samples::none("its backward is a kernel"),
                                  {.no_second = "it serves a test"});

// x^3 by an operation whose backward gives what `gradient` computes.
template <class Gradient>
Tensor cube_by(const Operation& operation, const Tensor& x, const Gradient& gradient) {
  const Tensor v = x.detach();
  return record(operation, {&x}, v * v * v, Saved(x), gradient);
}

Tensor cube_gradient(const Tensor& dy, const Tensor& x) { return 3 * dy * square(x); }

}  // namespace

TEST_CASE("A recorded backward gives the gradients of an ordinary one, and these can be differentiated") {
  const Tensor x = variable(full({}, 3, DType::float64)), w = variable(full({}, 2, DType::float64));
  const Recording recording;
  const Tensor y = w * x * x * x;
  const Gradients first = backward(y, {.record = true});
  CHECK(first.size() == 2);
  CHECK(first[x].item() == 54);
  CHECK(first[w].item() == 27);
  const Gradients second = backward(first[x], {.record = true});
  CHECK(second[x].item() == 36);
  CHECK(second[w].item() == 27);
  CHECK(backward(second[x])[w].item() == 18);
  CHECK(backward(square(first[x] - 1) + y)[x].item() == 2 * 53 * 36 + 54);
  // sums of recorded gradients are recorded, with a constant too
  Gradients sum = first;
  sum += second;
  CHECK(backward(sum[x])[w].item() == 27 + 18);
  // a cotangent is an input like others
  const Tensor u = variable(full({}, 5, DType::float64));
  CHECK(backward(backward(y, u, {.record = true})[x])[u].item() == 54);
  CHECK(backward(backward(u, u * w, {.record = true})[u])[w].item() == 5);
  // a gradient that does not depend on a variable is an ordinary constant
  const Gradients ones = backward(x + w, {.record = true});
  CHECK(backward(w * ones[x])[w].item() == 1);
}

TEST_CASE("A recorded gradient outlives its recording as a number") {
  const Tensor x = variable(full({}, 3));
  Gradients first;
  {
    const Recording recording;
    first = backward(x * x * x, {.record = true});
  }
  CHECK(first[x].item() == 27);
  first += first;
  CHECK(first[x].item() == 54);
  const Recording recording;
  CHECK(message([&] {
          const Tensor y = x * backward(x * x, {.record = true})[x];
          const Tensor old = first[x] * y;
        }) == "no error");  // the sum outside a recording is a constant with a mark
  CHECK(message([&] { backward(x * first[x]); }).find("call that backward(loss, {.record = true})") !=
        std::string::npos);
}

TEST_CASE("An operation whose backward cannot be recorded says so by name") {
  const Tensor x = variable(full({2}, 3));
  const Recording recording;
  const auto error = [&](const Tensor& y) {
    CHECK(backward(sum(y))[x].to_vector() == std::vector<double>{27, 27});
    return message([&] { backward(sum(y), {.record = true}); });
  };
  const auto gradient = [](const Tensor& dy, const Tensor& X) { return std::vector{cube_gradient(dy, X)}; };
  CHECK(error(cube_by(kernel_operation, x, gradient)) ==
        "backward of kernel_cube: it cannot be recorded, so second derivatives are not available; its backward must be "
        "Recordable");
  CHECK(error(cube_by(excused_operation, x, gradient)) ==
        "backward of excused_cube: it cannot be recorded, so second derivatives are not available: it serves a test");
  CHECK(error(cube_by(kernel_operation, x, Recordable(gradient))) == "no error");
  // a Recordable that computes with a kernel
  const Tensor y = cube_by(kernel_operation, x, Recordable([](const Tensor& dy, const Tensor& X) {
                             return std::vector{cube_gradient(dy.detach(), X.detach())};
                           }));
  CHECK(
      message([&] { backward(sum(square(y)), {.record = true}); }) ==
      "backward of kernel_cube: the gradient of input 0 was not computed from dy by operations, so second derivatives "
      "are not available");
}

TEST_CASE("A recorded backward refuses a saved tensor of which it does not know how it depends on the inputs") {
  const Tensor x = variable(full({2}, 3, DType::float64));
  const Recording recording;
  const auto times = [](const Tensor& dy, const Tensor& slope) { return std::vector{dy * slope}; };
  const auto recorded = [&](const Tensor& saved) {
    const Tensor v = x.detach(), y = v * v;
    return message(
        [&] { backward(sum(record(kernel_operation, {&x}, y, Saved(saved), Recordable(times))), {.record = true}); });
  };
  const std::string expected =
      "backward of kernel_cube: it keeps a tensor of shape (2) that is no input and not the output, so second "
      "derivatives are not available; save inputs and the output as they are, or give record() a second function";
  CHECK(recorded(x.detach() * 2) == expected);
  CHECK(recorded(x.detach().view({2}, {-1}, 1)) == expected);  // another view of the input
  CHECK(recorded(x) == "no error");
  CHECK(recorded(x.detach()) == "no error");  // the same view: the input
  // the second derivative of x * x.detach() knows which is the constant
  CHECK(backward(sum(backward(sum(square(x) * x.detach()), {.record = true})[x]))[x].to_vector() ==
        std::vector<double>{6, 6});
  // a saved output
  const Tensor y = record(kernel_operation, {&x}, exp(x.detach()), Saved(x), Recordable(times));
  static_cast<void>(y);
  const Tensor z = exp(x), slope = backward(sum(z), {.record = true})[x];
  CHECK(distance(backward(sum(slope))[x], z.detach()) < 1e-14);
}

TEST_CASE("backward with record needs a Recording that records") {
  const Tensor x = variable(full({}, 3));
  const Recording recording;
  const Tensor y = x * x;
  {
    const NoRecording constants;
    CHECK(backward(y)[x].item() == 6);
    CHECK(message([&] { backward(y, {.record = true}); }) ==
          "backward: {.record = true} needs an open Recording, but a NoRecording is open");
  }
  CHECK(message([&] { backward(y, [&](const Tensor&, const Tensor&) { backward(y, {.record = true}); }); }) ==
        "backward: {.record = true} needs an open Recording, but another backward() is at work");
}

TEST_CASE("grad differentiates only what lies between, and gives 0 where there is no dependence") {
  const Tensor x = variable(tensor({2}, {1, 2}, DType::float64)), w = variable(full({}, 3, DType::float64));
  CHECK(message([&] { grad(square(x), x); }) == "grad: no Recording is open");
  const Recording recording;
  const Tensor h = square(x), unrelated = cube_by(kernel_operation, w, [](const Tensor&dy, const Tensor&X) {
                                return std::vector{cube_gradient(dy, X)};
                              });
  const Tensor y = h * h * unrelated;  // no gradient of w is needed, so its kernel does not matter
  CHECK(grad(y, h).to_vector() == std::vector<double>{54, 216});
  CHECK(grad(y, x).to_vector() == std::vector<double>{108, 864});
  CHECK(grad(grad(y, x), x).to_vector() == std::vector<double>{324, 1296});
  const std::vector<Tensor> both = grad(y, std::vector{h, x});
  CHECK(both[0].to_vector() == std::vector<double>{54, 216});
  CHECK(both[1].to_vector() == std::vector<double>{108, 864});
  CHECK(grad(h, y).to_vector() == std::vector<double>{0, 0});
  CHECK(grad(h, w).item() == 0);
  CHECK(grad(grad(x * 2, x), x).to_vector() == std::vector<double>{0, 0});
  CHECK(grad(x, x).to_vector() == std::vector<double>{1, 1});
  check_messages({
      {"grad: the tensor of shape (2) is a constant; expected a variable, or the result of an operation of the open "
       "Recording",
       [&] { grad(y, x.detach()); }},
      {"hvp: the function must give a scalar of shape (), got (2)",
       [&] { hvp([](const Tensor& t) { return t * t; }, x, x); }},
      {"hvp: expected 1 tensors v, got 2",
       [&] {
         hvp([&] { return sum(h); }, {x}, {x, x});
       }},
      {"jvp: expected v float64 (2) as x, got float32 (2)", [&] { jvp(square, x, ones({2})); }},
      {"vjp: expected v float64 (2) as f(x), got float64 (3)", [&] { vjp(square, x, ones({3}, DType::float64)); }},
      {"jacobian: the function gave an undefined tensor", [&] { jacobian([](const Tensor&) { return Tensor(); }, x); }},
      {"jacobian: the function is empty", [&] { jacobian({}, x); }},
  });
}

TEST_CASE("Derivatives of functions are constants outside a Recording, and recorded inside") {
  const Tensor x = tensor({2}, {1, 2}), v = tensor({2}, {1, 0});
  const auto f = [](const Tensor& t) { return sum(square(t) * t); };
  CHECK(vjp(square, x, v).to_vector() == std::vector<double>{2, 0});
  CHECK(jvp(square, x, v).to_vector() == std::vector<double>{2, 0});
  CHECK(hvp(f, x, v).to_vector() == std::vector<double>{6, 0});
  CHECK(hessian(f, x).to_vector() == std::vector<double>{6, 0, 0, 12});
  CHECK(jacobian([](const Tensor& t) { return t[0] * t; }, x).to_vector() == std::vector<double>{2, 0, 2, 1});
  CHECK(jacobian(f, zeros({0})).shape() == Shape{0});
  CHECK(jvp([](const Tensor&) { return ones({3}); }, x, v).to_vector() == std::vector<double>{0, 0, 0});
  const Tensor frozen = variable(x.clone());
  frozen.set_frozen(true);
  CHECK(hvp(f, frozen, v).to_vector() == std::vector<double>{6, 0});
  const Tensor w = variable(x);
  const Recording recording;
  CHECK(backward(sum(jvp(f, w, v)))[w].to_vector() == std::vector<double>{6, 0});
  CHECK(backward(sum(hvp(f, w * 2, v)))[w].to_vector() == std::vector<double>{12, 0});
  const NoRecording constants;
  CHECK(hvp(f, w, v).tape_node() == TapeNode{});
}

static const Operation cubed_operation("cubed", "y = x^3", "dx = 3 dy x^2", Samples::none("an operation of a test"));

TEST_CASE("The backward of an operation differentiates in a Recording of its own") {
  const auto cube = [](const Tensor& v) { return v * square(v); };
  const auto gradient_with = [&](auto own_backward) {
    const Tensor x = variable(tensor({1, 2}));
    const Recording recording;
    const Tensor h = 2 * x, y = record(cubed_operation, {&h}, cube(h.detach()), Saved(h), own_backward);
    const std::vector<double> gradient = backward(sum(y) + sum(h))[x].to_vector();
    CHECK(recording.size() == 6);
    CHECK(backward(sum(square(x)))[x].to_vector() == std::vector<double>{2, 4});  // the outer one goes on
    return gradient;
  };
  const std::vector<double> expected{2 * 3 * 4 + 2, 2 * 3 * 16 + 2};
  CHECK(gradient_with([](const Tensor& dy, const Tensor& X) {
          return std::vector{vjp([](const Tensor& v) { return v * square(v); }, X.detach(), dy)};
        }) == expected);
  CHECK(gradient_with([](const Tensor& dy, const Tensor& X) {
          const Tensor v = variable(X.detach());
          const Recording own;
          return std::vector{backward(v * square(v), dy)[v].detach()};
        }) == expected);
  CHECK(gradient_with([](const Tensor& dy, const Tensor& X) {
          const Tensor v = variable(X.detach());
          const Recording own;
          return std::vector{grad(sum(v * square(v) * dy), v).detach()};
        }) == expected);
  CHECK(message([&] {
          gradient_with([](const Tensor& dy, const Tensor& X) {
            const Tensor v = variable(X.detach());
            return std::vector{grad(sum(v * dy), v)};
          });
        }) == "grad: a backward records nothing; open a Recording in it");
}

TEST_CASE("hvp takes a gradient as its direction") {
  const Tensor w = variable(tensor({1, 2}));
  const auto loss = [&] { return sum(square(w) * w); };
  Tensor g;
  {
    const Recording recording;
    g = backward(loss())[w];  // (3, 12)
    const Tensor product = hvp(loss, {w}, {g})[0];
    CHECK(product.to_vector() == std::vector<double>{18, 144});
    CHECK(message([&] { backward(sum(product * w)); }).find("gradients of an earlier backward()") != std::string::npos);
  }
  CHECK(hvp(loss, {w}, {g})[0].to_vector() == std::vector<double>{18, 144});
  CHECK(hvp(loss, {w}, {g * 1})[0].to_vector() == std::vector<double>{18, 144});

  const Tensor buffer = variable(ones({3}));
  buffer.set_frozen(true);
  const std::vector<std::pair<std::string, Tensor>> named{{"buffer", buffer}, {"w", w}};
  const std::vector<Tensor> products = hvp(loss, named, {g});
  REQUIRE(products.size() == 1);
  CHECK(products[0].to_vector() == std::vector<double>{18, 144});
}
