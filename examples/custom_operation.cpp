// An operation of one's own with two inputs, whose gradient is checked and which has second derivatives: the activation
// snake(x) = x + sin(a x)^2 / a with a learned a (Ziyin et al. 2020, arXiv:2006.08195). A small network learns a wave with it.
#include <heed/autograd/operation.h>
#include <heed/heed.h>

using namespace heed;

Tensor snake(const Tensor& x, const Tensor& a);
static const Operation snake_operation("snake", "y = x + sin(a x)^2 / a",
                                       "dx = dy (1 + sin(2 a x)), da = sum(dy (x sin(2 a x) - sin(a x)^2 / a) / a)",
                                       [] {
                                         return std::vector<GradientSample>{
                                             {"(2, 5)", {{{2, 5}}, {{}}}, [](const std::vector<Tensor>& v) {
                                                return snake(v[0], v[1] + 1.5);  // away from a = 0
                                              }}};
                                       });
Tensor snake(const Tensor& x, const Tensor& a) {  // (...), () -> (...)
  const Tensor v = x.detach(), b = a.detach();    // what the forward pass computes is not recorded
  return record(snake_operation, {&x, &a}, v + square(sin(b * v)) / b, Saved(x, a),
                Recordable([](const Tensor& dy, const Tensor& X, const Tensor& A) {
                  const Tensor slope = sin(2 * A * X);
                  return std::vector{dy * (1 + slope), sum(dy * (X * slope - square(sin(A * X)) / A) / A)};
                }));
}

struct Network {
  Linear in, out;
  Parameter a;
  explicit Network(const Scope& scope)
      : in(scope / "in", 1, 8), out(scope / "out", 8, 1), a(scope.parameter("a", {}, Init::constant(2))) {}
  Tensor operator()(const Tensor& x) const { return out(snake(in(x), a)); }
};

int main() {
  const Tensor point = tensor({3}, {-1, 0.5, 2}, DType::float64);
  for (const double scale : {1.0, 1.01}) {
    const CheckReport report = check_gradients([](const std::vector<Tensor>& v) { return snake(v[0], v[1]); },
                                               {point, tensor({}, {1.5}, DType::float64)}, {.scale_gradient = scale});
    fmt::print("gradient x {:<4}    {} of {} entries\n", scale, report.passed ? "passes," : "fails,", report.entries);
  }

  Parameters parameters;
  const Network network(Scope(parameters, 1, DType::float64));
  std::vector<double> values;  // that PyTorch can begin with, too
  for (int i = 0; i < 8; ++i) values.push_back(std::sin(i + 1));
  assign(network.in.weight, 2 * tensor({1, 8}, values, DType::float64));
  assign(network.out.weight, 0.5 * tensor({8, 1}, values, DType::float64));
  const Tensor x = reshape(arange(-1, 1, 0.05, DType::float64), {-1, 1}), y = sin(6 * x);
  Optimizer adam(parameters);
  for (int step = 0; step <= 300; ++step) {
    const Recording recording;
    const Tensor loss = mse_loss(network(x), y);
    if (step % 100 == 0) fmt::print("step {:3}  loss {:.8f}  a {:.6f}\n", step, loss.item(), network.a.item());
    adam.step(backward(loss), 0.01);
  }

  const Tensor v = variable(point);
  const Recording recording;
  const Gradients first = backward(sum(snake(v, tensor({}, {1.5}, DType::float64))), {.record = true});
  fmt::print("second derivative {:.6f}\n", fmt::join(backward(sum(first[v]))[v].to_vector(), " "));  // 2 a cos(2 a x)
}
