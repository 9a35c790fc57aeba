#include "bench/rows.h"
#include "bench/toy_data.h"

#include <heed/autograd/error.h>
#include <heed/formats/datasets/tasks.h>
#include <heed/models/model.h>

#include <fmt/format.h>

#include <cstdlib>

namespace heed::bench {
namespace {

Batch whole(const std::vector<Example>& examples, const Task& task) {
  return NumberedExamples(examples, task.vocabulary).batch(0, std::ssize(examples));
}

// Runs the program train once per call.
std::function<void()> training(const std::filesystem::path& train, const std::filesystem::path& run,
                               const std::string& arguments) {
  return [=] {
    std::filesystem::remove_all(run);
    const std::string command = fmt::format("'{}' {} --out '{}' --quiet", train.string(), arguments, run.string());
    if (std::system(command.c_str()) != 0) fail("{}: the command failed", command);
  };
}

}  // namespace

Row program_row(const std::filesystem::path& train, const std::filesystem::path& config,
                const std::filesystem::path& scratch) {
  const std::filesystem::path data = scratch / "toy-data.safetensors", run = scratch / "run";
  return {
      .name = "toy, start to exit",
      .counterpart = {{"row", "program"}, {"script", "toy.py"}, {"arguments", {data.string(), data.string() + ".pt"}}},
      .prepare = [=] {
        const Task task = toy_task();
        SafeTensors content;
        add_batch(content, "train", whole(task.train, task));
        add_batch(content, "held_out", whole(task.held_out, task));
        write_safetensors(data, content);
        return training(train, run, fmt::format("--config '{}'", config.string()));
      }};
}

SafeTensors text_data(const std::filesystem::path& text) {
  constexpr int steps = 2000, B = 12, T = 64;
  const Random random(1);
  const Task task =
      make_task({.kind = TaskKind::text, .train = text.string(), .split = Split::characters, .context = T},
                random.stream("data"));
  Parameters parameters;
  const Model model(Scope(parameters, 1),
                    language_model({.vocabulary = task.vocabulary.size(),
                                    .max_length = T,
                                    .layers = 4,
                                    .causal = true,
                                    .block = {.attention = {.d_model = 128, .heads = 4}, .mlp = {.width = 512}}}));
  SafeTensors content{{parameters.begin(), parameters.end()}, {}};
  std::vector<double> batches, held_out;
  for (int step = 0; step < steps; ++step) {
    const Batch windows = training_windows(*task.corpus, B, step, random.stream("batches"));
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t t = 0; t < T; ++t) batches.push_back(windows.tokens[b * T + t]);
      batches.push_back(windows.targets[b * T + T - 1]);
    }
  }
  for (std::int64_t i = 0; i < task.corpus->held_out.size(); ++i) held_out.push_back(task.corpus->held_out[i]);
  content.tensors.emplace_back("batches", tensor({steps, B, T + 1}, batches, DType::float64));
  content.tensors.emplace_back("held_out", tensor({std::ssize(held_out)}, held_out, DType::float64));
  return content;
}

Row text_row(const std::filesystem::path& train, const std::filesystem::path& config, const std::filesystem::path& text,
             const std::filesystem::path& scratch) {
  const std::filesystem::path data = scratch / "text-data.safetensors", run = scratch / "text-run";
  return {.name = "nanogpt, start to exit",
          .counterpart = {{"row", "program"},
                          {"script", "nanogpt.py"},
                          {"arguments", {data.string(), run.string()}},
                          {"ways", {"", "compiled"}}},
          .prepare = [=] {
            write_safetensors(data, text_data(text));
            return training(train, run,
                            fmt::format("--config '{}' --set 'data.train={}'", config.string(), text.string()));
          }};
}

}  // namespace heed::bench
