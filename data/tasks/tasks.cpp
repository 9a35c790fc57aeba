#include <heed/data/tasks/babi.h>
#include <heed/data/tasks/bank.h>
#include <heed/data/tasks/chinese.h>
#include <heed/data/tasks/coreference.h>
#include <heed/data/tasks/jsonl.h>
#include <heed/data/tasks/tasks.h>

#include <algorithm>

namespace heed {
namespace {

using MakeGenerated = Task (*)(int train, int held_out, const Random& random);

Task named_task(const TaskOptions& o) {
  static const std::vector<std::string> names = {"coreference", "bank", "chinese", "babi", "jsonl"};
  static constexpr MakeGenerated generated[] = {coreference_task, bank_task, chinese_task};
  const auto name = static_cast<std::size_t>(std::find(names.begin(), names.end(), o.name) - names.begin());
  if (name == names.size()) {
    fail("data.task: unknown task '{}'{}; expected one of {}", o.name, did_you_mean(o.name, names),
         fmt::join(names, ", "));
  }
  if (name < std::size(generated)) {
    if (!o.train.empty() || !o.test.empty()) {
      fail(
          "data.{}: task '{}' makes its own sentences and reads no file, got '{}'. Did you mean data.task: "
          "jsonl?",
          o.train.empty() ? "test" : "train", o.name, o.train.empty() ? o.test : o.train);
    }
    if (o.sentences < 1) fail("data.sentences: expected at least 1, got {}", o.sentences);
    return generated[name](o.sentences, o.held_out, o.random);
  }
  if (o.train.empty()) fail("data.train: task '{}' reads a file; expected its path, got nothing", o.name);
  return o.name == "babi" ? babi_task(o.train, o.test, o.random) : jsonl_task(o.train, o.test, o.random);
}

}  // namespace

Task make_task(const TaskOptions& options) {
  Task task = named_task(options);
  if (options.shuffle_antecedents) shuffle_antecedents(task.train, options.random);
  return task;
}

}  // namespace heed
