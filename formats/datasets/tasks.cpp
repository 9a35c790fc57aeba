#include <heed/data/tasks/bank.h>
#include <heed/data/tasks/chinese.h>
#include <heed/data/tasks/coreference.h>
#include <heed/data/tasks/induction.h>
#include <heed/formats/datasets/babi.h>
#include <heed/formats/datasets/candidates.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/formats/datasets/tasks.h>
#include <heed/formats/datasets/text.h>

namespace heed {
namespace {

TokenizedTask task_of(const TaskOptions& o, const Random& random) {
  const char* name = name_of(o.kind);
  if (!reads_files(o.kind)) {
    if (!o.train.empty() || !o.test.empty()) {
      fail("data.{}: task '{}' makes its own sentences and reads no file, got '{}'. Did you mean data.task: jsonl?",
           o.train.empty() ? "test" : "train", name, o.train.empty() ? o.test : o.train);
    }
    if (o.sentences < 1) fail("data.sentences: expected at least 1, got {}", o.sentences);
  } else if (o.train.empty()) {
    fail("data.train: task '{}' reads a file; expected its path, got nothing", name);
  }
  switch (o.kind) {
    case TaskKind::coreference:
      return {coreference_task(o.sentences, o.held_out, random)};
    case TaskKind::bank:
      return {bank_task(o.sentences, o.held_out, random)};
    case TaskKind::chinese:
      return {chinese_task(o.sentences, o.held_out, random)};
    case TaskKind::babi:
      return {babi_task(o.train, o.test, random, o.fold)};
    case TaskKind::jsonl:
      return {jsonl_task(o.train, o.test, random, o.fold)};
    case TaskKind::text:
      return text_task(o.train, o.test, o.split, o.context, o.vocabulary, o.tokenizer);
    case TaskKind::masked_text:
      return masked_text_task(o.train, o.test, o.split, o.context, o.vocabulary, o.tokenizer);
    case TaskKind::induction:
      return {induction_task(o.sentences, o.held_out, o.context, random)};
    case TaskKind::candidates:
      return candidates_task(o.train, o.test, o.split, o.vocabulary, random, o.tokenizer, o.fold);
  }
  fail("make_task: {} is not a task", static_cast<int>(o.kind));
}

}  // namespace

TokenizedTask make_task(const TaskOptions& options, const Random& random) {
  TokenizedTask task = task_of(options, random);
  if (!task.tokenizer.is_of_text()) task.tokenizer = Tokenizer(options.split);
  if (options.unknown == Unknown::token && !task.corpus && !task.tokenizer.is_of_text()) {
    learn_unknown(task, options.min_count);
  }
  if (options.shuffle_antecedents) shuffle_antecedents(task.train, random);
  return task;
}

}  // namespace heed
