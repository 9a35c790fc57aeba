// A character model reads numbers that count up. Its LSTM (Hochreiter & Schmidhuber 1997) keeps its state from one part of the text to the
// next, and gradients end where a part begins: truncated backpropagation through time.
#include "examples/waves.h"

using namespace heed;

constexpr std::string_view alphabet = " 0123456789";

struct CharacterModel {
  Embedding characters;
  LSTM lstm;
  Linear out;
  explicit CharacterModel(const Scope& s)
      : characters(s / "characters", 11, 16), lstm(s / "lstm", 16, 64), out(s / "out", 64, 11) {}

  struct Result {
    Tensor logits;  // (B, T, 11)
    LSTM::State state;
  };
  Result operator()(const Ids& text, const LSTM::State& state) const {  // text (B, T)
    auto [output, next] = lstm(characters(text), state);
    return {out(output), std::move(next)};
  }
};

// Returns `count` numbers from `first` on, as indices of characters: " 118 119 120".
std::vector<std::int32_t> counted(int first, int count) {
  std::string text;
  for (int number = first; number < first + count; ++number) text += fmt::format(" {}", number);
  std::vector<std::int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<std::int32_t>(alphabet.find(c)));
  return ids;
}

int main() {
  Parameters parameters;
  const CharacterModel model(Scope(parameters, 1, DType::float64));
  set_to_waves(parameters);
  Optimizer adam(parameters);
  constexpr int B = 16, T = 20, parts = 20;
  std::vector<std::int32_t> streams;  // (B, parts T + 1): stream b begins at 100 + 50 b
  for (int b = 0; b < B; ++b) {
    std::vector<std::int32_t> stream = counted(100 + 50 * b, 101);
    stream.resize(parts * T + 1);
    streams.insert(streams.end(), stream.begin(), stream.end());
  }
  const Ids text({B, parts * T + 1}, streams);
  for (int epoch = 1; epoch <= 30; ++epoch) {
    LSTM::State state;
    double mean_loss = 0;
    for (int part = 0; part < parts; ++part) {
      const Ids read = slice(text, 1, part * T, part * T + T), next = slice(text, 1, part * T + 1, part * T + T + 1);
      const Recording recording;
      const auto [logits, after] = model(read, state);
      const Tensor loss = cross_entropy(logits, next);
      Gradients gradients = backward(loss);
      clip_by_global_norm(gradients, 1);
      adam.step(gradients, 0.01);
      state = after.detach();
      mean_loss += loss.item() / parts;
    }
    if (epoch % 10 == 0) fmt::print("epoch {:2}  loss {:.6f} nats per character\n", epoch, mean_loss);
  }
  std::vector<std::int32_t> read = counted(533, 4);
  std::string written = " 533 534 535 536 ...";
  for (LSTM::State state; written.size() < 40;) {
    auto [logits, after] = model(Ids({1, std::ssize(read)}, read), state);
    read = {argmax(logits[0][-1])[0]};
    written += alphabet[static_cast<std::size_t>(read[0])];
    state = std::move(after);
  }
  fmt::print("{}\n", written);
}
