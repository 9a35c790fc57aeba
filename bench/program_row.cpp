#include "bench/rows.h"
#include "bench/toy_data.h"

#include <heed/autograd/error.h>

#include <fmt/format.h>

#include <cstdlib>

namespace heed::bench {
namespace {

Batch whole(const std::vector<Example>& examples, const Task& task) {
  return NumberedExamples(examples, task.vocabulary).batch(0, std::ssize(examples));
}

}  // namespace

Row program_row(const std::filesystem::path& train, const std::filesystem::path& config,
                const std::filesystem::path& scratch) {
  const std::filesystem::path data = scratch / "toy-data.safetensors", run = scratch / "run";
  return {.name = "toy, start to exit", .twin = {{"row", "program"}, {"data", data.string()}}, .prepare = [=] {
            const Task task = toy_task();
            SafeTensors content;
            add_batch(content, "train", whole(task.train, task));
            add_batch(content, "held_out", whole(task.held_out, task));
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
