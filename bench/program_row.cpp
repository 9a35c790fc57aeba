#include "autograd/error.h"
#include "bench/rows.h"
#include "data/tasks.h"
#include "nn/safetensors.h"

#include <fmt/format.h>

#include <cstdlib>

namespace heed::bench {
namespace {

Tensor numbers(const Ids& ids) {
  return tensor(ids.shape(), std::vector<double>(ids.data(), ids.data() + ids.elements()), DType::float64);
}

void add(SafeTensors& content, const std::string& set, const Task& task, const std::vector<Example>& examples) {
  std::vector<const Example*> all;
  for (const Example& example : examples) all.push_back(&example);
  const Batch batch = make_batch(all, task.vocabulary);
  const std::vector<double> lengths(batch.lengths.begin(), batch.lengths.end());
  content.tensors.emplace_back(set + ".tokens", numbers(batch.tokens));
  content.tensors.emplace_back(set + ".lengths", tensor({std::ssize(lengths)}, lengths, DType::float64));
  content.tensors.emplace_back(set + ".query", numbers(batch.query));
  content.tensors.emplace_back(set + ".answer", numbers(batch.answer));
}

}  // namespace

Row program_row(const std::filesystem::path& train, const std::filesystem::path& config,
                const std::filesystem::path& scratch) {
  const std::filesystem::path data = scratch / "toy-data.safetensors", run = scratch / "run";
  return {.name = "toy, start to exit", .twin = {{"row", "program"}, {"data", data.string()}}, .prepare = [=] {
            const Task task = make_task({.name = "coreference",
                                         .train = "",
                                         .test = "",
                                         .sentences = 4000,
                                         .held_out = 1000,
                                         .random = Random(1).stream("data")});
            SafeTensors content{{}, {{"words", fmt::format("{}", task.vocabulary.size())}}};
            add(content, "train", task, task.train);
            add(content, "held_out", task, task.held_out);
            write_safetensors(data, content);
            return [=] {
              std::filesystem::remove_all(run);
              const std::string command =
                  fmt::format("'{}' --config '{}' --out '{}' --quiet", train.string(), config.string(), run.string());
              if (std::system(command.c_str()) != 0) fail("{}: it failed", command);
            };
          }};
}

}  // namespace heed::bench
