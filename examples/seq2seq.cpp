// A transformer with an encoder and a decoder (Vaswani et al. 2017, arXiv:1706.03762) reads 3 to 8 digits and writes them in reverse. Each
// layer of the decoder attends to what is written so far, and then to the states of the encoder.
#include "examples/waves.h"

using namespace heed;

constexpr int d = 32, heads = 4, start = 10, end = 11, words = 12, longest = 8;

struct Decoder {
  MultiHeadAttention own, source;
  Mlp mlp;
  Norm own_norm, source_norm, mlp_norm;
  explicit Decoder(const Scope& s)
      : own(s / "own", {.d_model = d, .heads = heads}),
        source(s / "source", {.d_model = d, .heads = heads}),
        mlp(s / "mlp", d, {.width = 64}),
        own_norm(s / "own_norm", d),
        source_norm(s / "source_norm", d),
        mlp_norm(s / "mlp_norm", d) {}
  Tensor operator()(Tensor y, const Tensor& memory, const Mask& mask) const {
    y = y + own(own_norm(y), Mask::causal()).output;
    y = y + source(source_norm(y), memory, mask, {}).output;
    return y + mlp(mlp_norm(y));
  }
};

struct Seq2Seq {
  Embedding digits;
  LearnedPositions positions;
  TransformerBlock encoder;
  Decoder decoder;
  Linear out;
  explicit Seq2Seq(const Scope& s)
      : digits(s / "digits", words, d),
        positions(s / "positions", longest + 1, d),
        encoder(s / "encoder", {.attention = {.d_model = d, .heads = heads}, .mlp = {.width = 64}}),
        decoder(s / "decoder"),
        out(s / "out", d, words) {}
  Tensor encode(const Ids& read, const Mask& mask) const { return encoder(positions(digits(read)), mask).output; }
  Tensor decode(const Ids& written, const Tensor& memory, const Mask& mask) const {  // (B, T, words)
    return out(decoder(positions(digits(written)), memory, mask));
  }
};

struct Pairs {
  Ids read, written,
      next;  // (B, longest), and (B, longest + 1) behind the start, and with the end; next is -1 behind it
  Mask mask;
};

Pairs draw(int B, Numbers& numbers) {
  std::vector<std::int32_t> read, written, next;
  std::vector<int> lengths;
  for (int b = 0; b < B; ++b) {
    std::vector<std::int32_t> digits(static_cast<std::size_t>(3 + numbers.below(longest - 2)));
    for (std::int32_t& digit : digits) digit = numbers.below(10);
    lengths.push_back(static_cast<int>(digits.size()));
    const std::vector<std::int32_t> reversed(digits.rbegin(), digits.rend());
    written.push_back(start);
    for (std::size_t i = 0; i < longest; ++i) {
      const bool within = i < digits.size();
      read.push_back(within ? digits[i] : end);
      written.push_back(within ? reversed[i] : end);
      next.push_back(within ? reversed[i] : i == digits.size() ? end : -1);
    }
    next.push_back(digits.size() == longest ? end : -1);
  }
  return {Ids({B, longest}, read), Ids({B, longest + 1}, written), Ids({B, longest + 1}, next),
          Mask::padding(lengths, longest)};
}

int main() {
  Parameters parameters;
  const Seq2Seq model(Scope(parameters, 1, DType::float64));
  set_to_waves(parameters);
  Optimizer adam(parameters);
  Numbers numbers;
  for (int step = 0; step <= 400; ++step) {
    const auto [read, written, next, mask] = draw(32, numbers);
    const Recording recording;
    const Tensor loss = cross_entropy(model.decode(written, model.encode(read, mask), mask), next);
    if (step % 100 == 0) fmt::print("step {:3}  loss {:.6f}\n", step, loss.item());
    adam.step(backward(loss), 0.005 * std::min(1.0, (401 - step) / 100.0));
  }
  const auto [read, written, next, mask] = draw(200, numbers);
  const Tensor memory = model.encode(read, mask);
  Ids text({200, 1},
           std::vector<std::int32_t>(200, start));  // written one digit after the other, each the most probable
  for (int t = 0; t <= longest; ++t)
    text = concat({text, slice(argmax(model.decode(text, memory, mask)), 1, t, t + 1)}, 1);
  int right = 0;
  for (std::int64_t b = 0, t = 0; b < 200; ++b, t = 0) {
    while (t <= longest && (next.at({b, t}) < 0 || text.at({b, t + 1}) == next.at({b, t}))) ++t;
    right += t > longest;
  }
  fmt::print("{} of 200 new sequences written without a mistake\n", right);
}
