// A decoder of today's kind: RMSNorm, rotary positions, grouped attention and SwiGLU learn a rhyme letter by letter, and say
// it again, each letter from those before with past keys and values kept.
#include <heed/heed.h>

using namespace heed;

struct Decoder {
  Embedding letters;
  Encoder encoder;
  Decoder(const Scope& scope, int layers, int d)
      : letters(scope / "letters", 128, d, 0.1),
        encoder(scope / "encoder", layers,
                {.d_model = d, .heads = 4, .kv_heads = 2, .output_bias = Bias::no, .rotary = 64}, 2 * d, Residual::yes,
                {.norm = Norm::Kind::rms, .activation = Activation::swiglu}) {}

  Tensor operator()(const Ids& text, Past* past = nullptr) const {  // (B, T) -> (B, T, 128)
    const Tensor x = letters(text);
    return linear(past ? encoder.go_on(x, *past) : encoder(x, Mask::causal()).output, transpose(letters.weight), {});
  }
};

int main() {
  const std::string rhyme = "Peter Piper picked a peck of pickled peppers.";
  const std::vector<std::int32_t> codes(rhyme.begin(), rhyme.end());
  const std::int64_t T = std::ssize(codes) - 1;
  const Ids input({1, T}, {codes.begin(), codes.end() - 1}), target({1, T}, {codes.begin() + 1, codes.end()});
  Parameters parameters;
  const Decoder model(Scope(parameters, 1), 2, 48);
  Optimizer adam(parameters,
                 {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.01, .decay_matrices_only = true});
  const Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 3e-3, .warmup = 10, .steps = 100, .least = 3e-4};
  for (int step = 0; step < 100; ++step) {
    const Recording recording;
    const Tensor loss = cross_entropy(model(input), target);
    adam.step(backward(loss), learning_rate(schedule, step));
    if (step % 33 == 0) fmt::print("step {:2}  loss {:.4f}\n", step, loss.item());
  }
  std::string said = "P";
  Past past;
  while (std::ssize(said) <= T) said += static_cast<char>(argmax(model(Ids({1, 1}, {said.back()}), &past))[0]);
  fmt::print("{}\n", said);
}
