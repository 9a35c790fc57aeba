// Two networks play a game (Goodfellow et al. 2014, arXiv:1406.2661): one makes points, the other tells them from points of eight clusters on
// a circle.
#include "examples/waves.h"

using namespace heed;

struct Network {
  Linear in, hidden, out;
  Network(const Scope& s, int from, int to)
      : in(s / "in", from, 64), hidden(s / "hidden", 64, 64), out(s / "out", 64, to) {}
  Tensor operator()(const Tensor& x) const { return out(leaky_relu(hidden(leaky_relu(in(x), 0.2)), 0.2)); }
};

// Returns points (B, 2) around eight centres at a distance of 2 from the origin.
Tensor draw_points(std::int64_t B, Numbers& numbers) {
  std::vector<double> angles(static_cast<std::size_t>(B));
  for (double& angle : angles) angle = std::numbers::pi / 4 * numbers.below(8);
  const Tensor angle = tensor({B}, angles, DType::float64);
  return 2 * stack({cos(angle), sin(angle)}, 1) + 0.1 * numbers.normal({B, 2});
}

int main() {
  Parameters of_maker, of_judge;
  const Network maker(Scope(of_maker, 1, DType::float64), 4, 2), judge(Scope(of_judge, 2, DType::float64), 2, 1);
  set_to_waves(of_maker);
  set_to_waves(of_judge);
  Optimizer maker_adam(of_maker, {.beta1 = 0}), judge_adam(of_judge, {.beta1 = 0});
  Numbers numbers;
  constexpr std::int64_t B = 128;
  for (int step = 0; step <= 4000; ++step) {
    const double rate = 0.001 * (1 - step / 4001.0);
    const Tensor real = draw_points(B, numbers), made = maker(numbers.normal({B, 4}));  // not recorded: a constant
    double judged = 0;
    {
      const Recording recording;
      const Tensor loss = mean(softplus(-judge(real))) + mean(softplus(judge(made)));
      judged = loss.item();
      judge_adam.step(backward(loss), rate);
    }
    of_judge.freeze("");  // a constant for the other network's step
    {
      const Recording recording;
      const Tensor loss = mean(softplus(-judge(maker(numbers.normal({B, 4})))));
      if (step % 1000 == 0) fmt::print("step {:4}  judge {:.6f}  maker {:.6f}\n", step, judged, loss.item());
      maker_adam.step(backward(loss), rate);
    }
    of_judge.unfreeze("");
  }
  const Tensor points = maker(numbers.normal({1000, 4}));
  std::vector<int> counts(9);  // of points near each centre, and of the others
  for (std::int64_t i = 0; i < 1000; ++i) {
    std::size_t nearest = 8;
    for (std::size_t k = 0; k < 8; ++k) {
      const double angle = std::numbers::pi / 4 * static_cast<double>(k);
      if (std::hypot(points.at({i, 0}) - 2 * std::cos(angle), points.at({i, 1}) - 2 * std::sin(angle)) < 0.4)
        nearest = k;
    }
    ++counts[nearest];
  }
  fmt::print("of 1000 points near each cluster: {}, near none: {}\n", fmt::join(counts.begin(), counts.end() - 1, " "),
             counts[8]);
}
