// A LLaMA-like decoder (RMSNorm, rotary embedding, grouped-query attention, SwiGLU) learns a rhyme letter by letter,
// then generates it from its first letter with a key-value cache. With an argument, "language_model runs/rhyme", it
// also writes a run: "inspect runs/rhyme" shows the attention of each head, and "inspect page runs/rhyme --out
// rhyme.html" writes a page.
#include <heed/heed.h>
#include <heed/models/generate.h>
#include <heed/models/reading.h>
#include <heed/run/run_writer.h>

#include <optional>

using namespace heed;

int main(int argc, char** argv) {
  const std::string rhyme = "Peter Piper picked a peck of pickled peppers.";
  const Tokenizer tokenizer = Tokenizer::of_text(Split::characters);
  Vocabulary letters;
  std::vector<std::int32_t> codes;
  for (const std::string& letter : tokenizer(rhyme)) codes.push_back(letters.add(letter));
  const Ids text({1, std::ssize(codes)}, codes);
  const Batch batch{.tokens = slice(text, 1, 0, -1), .targets = slice(text, 1, 1)};

  ModelConfig config = language_model(llama(2, 4, 2, 48, 96));
  config.transformer.vocabulary = letters.size(), config.transformer.max_length = 64;
  Model model(config);
  model.vocabulary = letters, model.tokenizer = tokenizer;

  std::optional<RunWriter> run;
  if (argc > 1) run.emplace(argv[1], model, std::vector{question(model, "Peter Piper picked a peck of p")});
  Optimizer adam(model.parameters,
                 {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.01, .decay_matrices_only = true});
  const Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 3e-3, .warmup = 10, .steps = 100, .least = 3e-4};
  for (int step = 0; step < 100; ++step) {
    const Recording recording;
    const Tensor loss = model.loss(batch);
    if (step % 33 == 0) {
      fmt::print("step {:2}  loss {:.4f}\n", step, loss.item());
      if (run) run->write({.step = step, .train_loss = loss.item()});
    }
    adam.step(backward(loss), learning_rate(schedule, step));
  }
  const Generation wanted{.prompt = "P", .tokens = static_cast<int>(rhyme.size()) - 1, .sampling = {.temperature = 0}};
  generate(model, wanted, [](std::string_view piece) { return fmt::print("{}", piece), true; });
  fmt::print("\n");
}
