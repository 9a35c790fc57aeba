// A custom layer, written out: a gated recurrent unit (Cho et al. 2014, arXiv:1406.1078; nn/recurrent.h has one) reads 12 symbols one by one and learns to
// name the first one.
#include <heed/heed.h>

using namespace heed;

struct GatedUnit {
  Linear of_x, of_h;  // for reset gate, update gate and candidate, side by side
  GatedUnit(const Scope& scope, int in, int d) : of_x(scope / "x", in, 3 * d), of_h(scope / "h", d, 3 * d) {}

  Tensor operator()(const Tensor& x) const {  // (T, B, in) -> the last state (B, d)
    const std::int64_t d = of_h.weight.size(0);
    Tensor h = zeros({x.size(1), d});
    for (std::int64_t t = 0; t < x.size(0); ++t) {
      const std::vector<Tensor> a = split(of_x(x[t]), {d, d, d}, 1), b = split(of_h(h), {d, d, d}, 1);
      const Tensor reset = sigmoid(a[0] + b[0]), update = sigmoid(a[1] + b[1]);
      h = update * h + (1 - update) * tanh(a[2] + reset * b[2]);
    }
    return h;
  }
};

int main() {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const GatedUnit gru(scope / "gru", 4, 32);
  const Linear answer(scope / "answer", 32, 4);
  Optimizer adam(parameters);
  Random random(2);
  for (int step = 0; step <= 300; ++step) {
    const Tensor text = one_hot(random_ids({12, 64}, random, 4), 4);  // (T, B, symbols)
    const Ids first = argmax(text[0]);
    const Recording recording;
    const Tensor logits = answer(gru(text)), loss = cross_entropy(logits, first);
    Gradients gradients = backward(loss);
    clip_by_global_norm(gradients, 1);
    adam.step(gradients, 0.01);
    if (step % 100 == 0) fmt::print("step {:3}  loss {:.4f}  right {}\n", step, loss.item(), accuracy(logits, first));
  }
}
