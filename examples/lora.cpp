// A network that reads digits learns to read mirrored ones by two adapters of rank 2 (LoRA, Hu et al. 2021, arXiv:2106.09685), while its own
// weights stay as they are.
#include "examples/waves.h"

using namespace heed;

constexpr const char* glyphs[] = {"111101101101111", "010110010010111", "111001111100111", "111001111001111",
                                  "101101111001001", "111100111001111", "111100111101111", "111001010010010",
                                  "111101111101111", "111101111001111"};  // 5 rows of 3

struct Digits {
  Tensor pixels;  // (B, 15)
  Ids labels;     // (B)
};

Digits draw_digits(std::int64_t B, bool mirrored, Numbers& numbers) {
  std::vector<double> pixels;
  std::vector<std::int32_t> labels;
  for (std::int64_t b = 0; b < B; ++b) {
    labels.push_back(numbers.below(10));
    for (int i = 0; i < 15; ++i) {
      const char pixel = glyphs[labels.back()][mirrored ? i / 3 * 3 + 2 - i % 3 : i];
      pixels.push_back((pixel == '1') + 0.3 * numbers.normal());
    }
  }
  return {tensor({B, 15}, pixels, DType::float64), Ids({B}, labels)};
}

struct Reader {
  Linear in, hidden, out;
  explicit Reader(const Scope& s) : in(s / "in", 15, 48), hidden(s / "hidden", 48, 48), out(s / "out", 48, 10) {}
  Tensor operator()(const Tensor& x) const { return out(relu(hidden(relu(in(x))))); }
};

void train(const Reader& model, const Parameters& parameters, bool mirrored, Numbers& numbers) {
  Optimizer adam(parameters);
  for (int step = 0; step <= 300; ++step) {
    const auto [x, labels] = draw_digits(64, mirrored, numbers);
    const Recording recording;
    const Tensor loss = cross_entropy(model(x), labels);
    if (step % 100 == 0) fmt::print("  step {:3}  loss {:.6f}\n", step, loss.item());
    adam.step(backward(loss), 0.01);
  }
}

int main() {
  Parameters parameters;
  const Reader model(Scope(parameters, 1, DType::float64));
  set_to_waves(parameters, 1.5);
  Numbers numbers;
  const auto print_accuracies = [&](const char* when) {
    for (const bool mirrored : {false, true}) {
      const auto [x, labels] = draw_digits(1000, mirrored, numbers);
      fmt::print("{}: {:.3f} of {} digits read correctly\n", when, accuracy(model(x), labels),
                 mirrored ? "mirrored" : "upright");
    }
  };
  fmt::print("{} weights learn upright digits\n", parameters.numel());
  train(model, parameters, false, numbers);
  print_accuracies("before");

  const std::int64_t before = parameters.numel();
  const Tensor W = model.in.weight.clone();
  adapt(Scope(parameters, 1, DType::float64), {"in", "hidden"}, {.rank = 2, .alpha = 4});
  for (const char* layer : {"in", "hidden"}) {  // only so that PyTorch can begin with the same values
    const Tensor A = parameters[std::string(layer) + ".lora_A"];
    assign(A, sin(reshape(arange(1, static_cast<double>(A.numel()) + 1, 1, DType::float64), A.shape())) / 4);
  }
  fmt::print("{} weights of adapters learn mirrored digits\n", parameters.numel() - before);
  train(model, parameters, true, numbers);
  print_accuracies("after");
  const Tensor with_adapter = model(ones({1, 15}, DType::float64));
  fmt::print("largest change of the network's own weights: {}\n", max(abs(model.in.weight - W)).item());
  merge(parameters);
  fmt::print("merged: {} weights, logits differ by at most {:.0e}\n", parameters.numel(),
             max(abs(model(ones({1, 15}, DType::float64)) - with_adapter)).item());
}
