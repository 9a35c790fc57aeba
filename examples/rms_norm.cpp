// A custom operation outside the library, with its gradient and the gradient check: x / sqrt(mean(x^2) + eps). The
// composition takes one line; heed has the fused operation as rms_norm.
#include <heed/autograd/operation.h>
#include <heed/heed.h>

using namespace heed;

constexpr double eps = 1e-6;

Tensor composed(const Tensor& x) { return x / sqrt(mean(square(x), {-1}, true) + eps); }

Tensor own(const Tensor& x);
static const Operation own_operation("own rms_norm", "y = r x, r = 1 / sqrt(mean(x^2) + eps)",
                                     "dx = r (dy - y mean(dy y))", [] {
                                       return std::vector<GradientSample>{
                                           {"(2, 5)", {{{2, 5}}}, [](const std::vector<Tensor>& x) {
                                              return own(x[0]);
                                            }}};
                                     });
Tensor own(const Tensor& x) {
  const Tensor r = 1 / sqrt(mean(square(x.detach()), {-1}, true) + eps), y = x.detach() * r;
  return record(own_operation, {&x}, y, Saved(r, y), [](const Tensor& dy, const Tensor& R, const Tensor& Y) {
    return std::vector{R * (dy - Y * mean(dy * Y, {-1}, true))};
  });
}

int main() {
  Random random(1);
  const Tensor x = random_normal({2, 5}, random, 0, 1, DType::float64);
  const auto difference = [](const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); };
  fmt::print("own - composed     {:.1e}\n", difference(own(x), composed(x)));
  fmt::print("own - rms_norm     {:.1e}\n", difference(own(x), rms_norm(x, {}, eps)));
  for (const double scale : {1.0, 1.01}) {
    const CheckReport report =
        check_gradients([](const std::vector<Tensor>& v) { return own(v[0]); }, {x}, {.scale_gradient = scale});
    fmt::print("gradient x {:<4}    {} of {} entries\n", scale, report.passed ? "passes," : "fails,", report.entries);
  }
}
