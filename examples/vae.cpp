// A variational autoencoder (Kingma & Welling 2013, arXiv:1312.6114) compresses noisy digits of 5 x 3 pixels to two numbers and draws new
// ones from a grid of these.
#include "examples/waves.h"

using namespace heed;

constexpr const char* glyphs[] = {"111101101101111", "010110010010111", "111001111100111", "111001111001111",
                                  "101101111001001", "111100111001111", "111100111101111", "111001010010010",
                                  "111101111101111", "111101111001111"};  // 5 rows of 3

// Returns digits (B, 15) of which each pixel is wrong with probability 0.03.
Tensor draw_digits(std::int64_t B, Numbers& numbers) {
  std::vector<double> pixels;
  for (std::int64_t b = 0; b < B; ++b) {
    for (const char* p = glyphs[numbers.below(10)]; *p != 0; ++p)
      pixels.push_back((*p == '1') != (numbers.next() < 0.03));
  }
  return tensor({B, 15}, pixels, DType::float64);
}

struct Vae {
  Linear in, mean, log_variance, out, pixels;
  explicit Vae(const Scope& s)
      : in(s / "in", 15, 64),
        mean(s / "mean", 64, 2),
        log_variance(s / "log_variance", 64, 2),
        out(s / "out", 2, 64),
        pixels(s / "pixels", 64, 15) {}
  Tensor decode(const Tensor& z) const { return pixels(tanh(out(z))); }  // logits (B, 15)

  struct Loss {
    Tensor reconstruction, divergence;  // () in nats per digit: their sum bounds -log p(x) from above
  };
  Loss loss(const Tensor& x, const Tensor& noise) const {
    const Tensor h = tanh(in(x)), m = mean(h), v = log_variance(h);
    const Tensor z = m + exp(0.5 * v) * noise;  // the gradient flows through the sample
    const double B = static_cast<double>(x.size(0));
    return {bce_with_logits(decode(z), x, Reduction::sum) / B, 0.5 * sum(exp(v) + square(m) - 1 - v) / B};
  }
};

int main() {
  Parameters parameters;
  const Vae model(Scope(parameters, 1, DType::float64));
  set_to_waves(parameters);
  Optimizer adam(parameters);
  Numbers numbers;
  for (int step = 0; step <= 2000; ++step) {
    const Tensor x = draw_digits(64, numbers), noise = numbers.normal({64, 2});
    const Recording recording;
    const auto [reconstruction, divergence] = model.loss(x, noise);
    if (step % 500 == 0) {
      fmt::print("step {:4}  reconstruction {:.6f}  divergence {:.6f}\n", step, reconstruction.item(),
                 divergence.item());
    }
    adam.step(backward(reconstruction + divergence), 0.005);
  }
  std::vector<double> grid;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 9; ++j) grid.insert(grid.end(), {0.75 * (i - 2), 0.4 * (j - 4)});
  }
  const Tensor drawn = sigmoid(model.decode(tensor({45, 2}, grid, DType::float64)));
  for (int line = 0; line < 30; ++line) {
    for (int pixel = 0; pixel < 36 && line % 6 < 5; ++pixel) {
      const bool is_on = pixel % 4 < 3 && drawn.at({line / 6 * 9 + pixel / 4, line % 6 * 3 + pixel % 4}) > 0.5;
      fmt::print("{}", is_on ? "█" : " ");
    }
    fmt::print("\n");
  }
}
