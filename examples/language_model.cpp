// A LLaMA-like decoder (RMSNorm, rotary embedding, grouped heads, SwiGLU) learns a rhyme letter by letter, then generates it
// from its first letter with a cache of keys and values.
#include <heed/heed.h>

using namespace heed;

int main() {
  const std::string rhyme = "Peter Piper picked a peck of pickled peppers.";
  const std::vector<std::int32_t> codes(rhyme.begin(), rhyme.end());
  const std::int64_t T = std::ssize(codes) - 1;
  const Ids input({1, T}, {codes.begin(), codes.end() - 1}), target({1, T}, {codes.begin() + 1, codes.end()});
  Parameters parameters;
  LanguageModelConfig config{.transformer = llama(2, 4, 2, 48, 96)};
  config.transformer.vocabulary = 128, config.transformer.max_length = 64;
  const LanguageModel model(Scope(parameters, 1), config);
  Optimizer adam(parameters,
                 {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.01, .decay_matrices_only = true});
  const Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 3e-3, .warmup = 10, .steps = 100, .least = 3e-4};
  for (int step = 0; step < 100; ++step) {
    const Recording recording;
    const Tensor loss = model.loss(input, target);
    adam.step(backward(loss), learning_rate(schedule, step));
    if (step % 33 == 0) fmt::print("step {:2}  loss {:.4f}\n", step, loss.item());
  }
  std::string said = "P";
  Cache cache;
  while (std::ssize(said) <= T) said += static_cast<char>(argmax(model.append(Ids({1, 1}, {said.back()}), cache))[0]);
  fmt::print("{}\n", said);
}
