// A convolutional network reads noisy digits wherever they stand in an image of 8 x 8. A linear classifier cannot.
#include <heed/heed.h>

using namespace heed;

constexpr const char* glyphs[] = {"111101101101111", "010110010010111", "111001111100111", "111001111001111",
                                  "101101111001001", "111100111001111", "111100111101111", "111001010010010",
                                  "111101111101111", "111101111001111"};  // 5 rows of 3

struct Batch {
  Tensor images;  // (B, 1, 8, 8)
  Ids digits;     // (B)
};

Batch draw_digits(std::int64_t B, Random& random) {
  Batch batch{random_normal({B, 1, 8, 8}, random, 0, 0.2), random_ids({B}, random, 10)};
  float* const pixels = batch.images.mutable_data<float>();
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t top = random.below(4), left = random.below(6);
    for (std::int64_t i = 0; i < 15; ++i) {
      if (glyphs[batch.digits[b]][i] == '1') pixels[b * 64 + (top + i / 3) * 8 + left + i % 3] += 1;
    }
  }
  return batch;
}

struct Linears {
  Linear out;
  explicit Linears(const Scope& s) : out(s / "out", 64, 10) {}
  Tensor operator()(const Tensor& x) const { return out(flatten(x, 1)); }
};

struct Cnn {
  Conv2d first, second;
  Linear out;
  explicit Cnn(const Scope& s)
      : first(s / "first", 1, 16, 3, {.padding = 1}),
        second(s / "second", 16, 32, 3, {.padding = 1}),
        out(s / "out", 32 * 2 * 2, 10) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor h = max_pool2d(relu(first(x)), 2);          // (B, 16, 4, 4)
    return out(flatten(max_pool2d(relu(second(h)), 2), 1));  // (B, 10)
  }
};

template <class Model>
void train(const char* name) {
  Parameters parameters;
  const Model model(Scope(parameters, 1));
  Optimizer adam(parameters);
  Random random(1);
  for (int step = 0; step < 1000; ++step) {
    const auto [images, digits] = draw_digits(64, random);
    const Recording recording;
    adam.step(backward(cross_entropy(model(images), digits)), 0.005 * (1 - step / 1000.0));
  }
  const auto [images, digits] = draw_digits(1000, random);
  fmt::print("{:<7} {:6} parameters, {:.3f} of 1000 new digits read correctly\n", name, parameters.numel(),
             accuracy(model(images), digits));
}

int main() {
  train<Linears>("linear:");
  train<Cnn>("cnn:");
}
