#include "tests/catch.h"
#include "tests/data/helpers.h"

#include <heed/formats/datasets/tasks.h>

using namespace heed;

namespace {

const Random chance(0);

TaskOptions options(TaskKind kind) {
  TaskOptions o;
  o.kind = kind;
  o.sentences = 72;
  o.held_out = 36;
  return o;
}

}  // namespace

TEST_CASE("make_task makes a task of each kind") {
  for (const TaskKind kind : {TaskKind::coreference, TaskKind::bank, TaskKind::chinese}) {
    const Task task = make_task(options(kind), chance);
    CHECK(task.name == name_of(kind));
    CHECK(task.train.size() == 72);
    CHECK(task.held_out.size() == 36);
  }
  TaskOptions induction = options(TaskKind::induction);
  induction.context = 16;
  CHECK(make_task(induction, chance).corpus.value().train.size() == 72 * 17);
  const test::TemporaryFile file("qa1_x.txt", "1 Ann is in bed.\n2 Where is Ann?\tbed\t1\n");
  TaskOptions o = options(TaskKind::babi);
  o.train = o.test = file.path();
  CHECK(make_task(o, chance).train.size() == 1);
}

TEST_CASE("The option shuffle_antecedents changes only answers of the training set") {
  TaskOptions o = options(TaskKind::coreference);
  const Task task = make_task(o, chance);
  o.shuffle_antecedents = true;
  const Task control = make_task(o, chance);
  int train = 0, held_out = 0;
  for (std::size_t i = 0; i < 72; ++i) train += control.train[i].answer != task.train[i].answer;
  for (std::size_t i = 0; i < 36; ++i) held_out += control.held_out[i].answer != task.held_out[i].answer;
  CHECK(train > 18);
  CHECK(train < 54);
  CHECK(held_out == 0);
}

TEST_CASE("make_task states why it cannot make a task") {
  CHECK(message([] { make_task(options(static_cast<TaskKind>(99)), chance); }) ==
        "value 99 is not among coreference, bank, chinese, babi, jsonl, text, masked_text, induction, "
        "candidates");
  CHECK(message([] { make_task(options(TaskKind::jsonl), chance); }) ==
        "data.train: task 'jsonl' reads a file; expected its path, got nothing");
  TaskOptions o = options(TaskKind::bank);
  o.test = "x.txt";
  CHECK(message([&] { make_task(o, chance); }) ==
        "data.test: task 'bank' makes its own sentences and reads no file, got 'x.txt'. Did you mean "
        "data.task: jsonl?");
  o.train = "y.txt";
  CHECK(message([&] { make_task(o, chance); }) ==
        "data.train: task 'bank' makes its own sentences and reads no file, got 'y.txt'. Did you mean "
        "data.task: jsonl?");
  o = options(TaskKind::bank);
  o.sentences = 0;
  CHECK(message([&] { make_task(o, chance); }) == "data.sentences: expected at least 1, got 0");
}
