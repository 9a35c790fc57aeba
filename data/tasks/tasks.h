#pragma once
#include <heed/data/task.h>

namespace heed {

struct TaskOptions {
  std::string name;                  // coreference, bank, chinese, babi, jsonl
  std::string train, test;           // files, for babi and jsonl; without `test` a tenth of `train` is held out
  int sentences = 0, held_out = 0;   // to draw, for the others
  bool shuffle_antecedents = false;  // control: answers of the training set dealt at random
  Random random{0};
};

// Error for an unknown name, a missing or superfluous file, and whatever the task itself reports.
Task make_task(const TaskOptions& options);

}  // namespace heed
