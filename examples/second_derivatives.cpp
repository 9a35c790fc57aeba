// Losses that contain gradients: a gradient penalty, a differential equation, MAML, and Newton's method.
#include <heed/heed.h>

using namespace heed;

constexpr double pi = 3.141592653589793;

struct Net {
  Linear in, hidden, out;
  Net(const Scope& s, int n = 24) : in(s / "in", 1, n), hidden(s / "hidden", n, n), out(s / "out", n, 1) {}
  Tensor operator()(const Tensor& x) const { return out(tanh(hidden(tanh(in(x))))); }
};

// A critic whose slope is about 1 measures how far two distributions are apart (Gulrajani et al. 2017, arXiv:1704.00028).
void penalise_gradients() {
  Parameters parameters;
  const Net critic(Scope(parameters, 1));
  Optimizer adam(parameters);
  Random random(1);
  for (int step = 0; step <= 400; ++step) {
    const Tensor a = random_normal({64, 1}, random, 0, 0.5), b = random_normal({64, 1}, random, 2, 0.5);
    const Tensor between = variable(a + random_uniform({64, 1}, random) * (b - a));
    const Recording recording;
    const Tensor gain = mean(critic(b)) - mean(critic(a)), slopes = norm(grad(critic(between), between), {1});
    adam.step(backward(100 * mean(square(slopes - 1)) - gain), 0.005);
    if (step == 400) fmt::print("penalty: the distributions are {:.2f} apart\n", gain.item());
  }
}

// u'' = -sin(x) with u = 0 at 0 and pi: u = sin(x).
void solve_equation() {
  Parameters parameters;
  const Net net(Scope(parameters, 2));
  Optimizer adam(parameters);
  const Tensor x = variable(reshape(arange(0, 33), {33, 1}) * (pi / 32));
  for (int step = 0; step < 1000; ++step) {
    const Recording recording;
    const Tensor u = net(x), ddu = grad(grad(u, x), x);
    const Tensor loss = mean(square(ddu + sin(x))) + sum(square(u[0])) + sum(square(u[-1]));
    adam.step(backward(loss), 0.01 * (1 - step / 1000.0));
  }
  fmt::print("equation: u differs from sin(x) by {:.4f}\n", max(abs(net(x) - sin(x))).item());
}

// Weights from which one step of gradient descent learns any sine (Finn et al. 2017, arXiv:1703.03400).
void learn_to_learn() {
  Parameters parameters;
  const Net net(Scope(parameters, 3), 40);
  Optimizer adam(parameters);
  Random random(3);
  double before = 0, after = 0;  // of the last 100
  for (int step = 1; step <= 1000; ++step) {
    const double amplitude = random.uniform(0.5, 2), phase = random.uniform(0, pi);
    const auto loss_of = [&](const Net& model) {
      const Tensor x = random_uniform({20, 1}, random, -3, 3);
      return mse_loss(model(x), amplitude * sin(x + phase));
    };
    const Recording recording;
    const Tensor inner = loss_of(net);
    const Gradients slopes = backward(inner, {.record = true});
    NamedTensors fast;
    for (const auto& [name, p] : parameters) fast.emplace_back(name, p - 0.1 * slopes[p]);
    const Tensor outer = loss_of(Net(Scope(fast), 40));
    adam.step(backward(outer), 0.003);
    if (step > 900) before += inner.item() / 100, after += outer.item() / 100;
  }
  fmt::print("MAML: the loss falls from {:.3f} to {:.3f} in one step\n", before, after);
}

// Newton's method: (H + damping) d = -g by conjugate gradients, which need products with H alone (Martens 2010).
void newton() {
  const Tensor x = reshape(arange(-2, 2, 0.1, DType::float64), {-1, 1}), y = square(x) * 0.5;
  const auto loss = [&](const Tensor& w) {  // of a network with 6 hidden units, whose weights are one vector
    const Tensor h = tanh(x * slice(w, 0, 0, 6) + slice(w, 0, 6, 12));
    return mse_loss(matmul(h, reshape(slice(w, 0, 12, 18), {6, 1})) + w[18], y);
  };
  const auto dot = [](const Tensor& a, const Tensor& b) { return sum(a * b).item(); };
  Random random(4);
  Tensor w = random_normal({19}, random, 0, 1, DType::float64);
  const double first = loss(w).item();
  for (double damping = 1; damping > 1e-6 && damping < 1e6;) {
    Tensor d = zeros(w.shape(), w.dtype()), r = -vjp(loss, w, ones({}, w.dtype())), p = r;
    for (int i = 0; i < 19; ++i) {
      const Tensor Ap = hvp(loss, w, p) + damping * p;
      const double rr = dot(r, r), curvature = dot(p, Ap);
      if (curvature <= 1e-12 * rr) break;  // no minimum in this direction
      d += rr / curvature * p, r -= rr / curvature * Ap;
      p = r + dot(r, r) / rr * p;
    }
    const bool is_better = loss(w + d).item() < loss(w).item();
    damping *= is_better ? 0.5 : 4;
    if (is_better) w += d;
  }
  fmt::print("Newton: the loss falls from {:.1f} to {:.1e}\n", first, loss(w).item());
}

int main() { penalise_gradients(), solve_equation(), learn_to_learn(), newton(); }
