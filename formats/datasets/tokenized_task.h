#pragma once
#include <heed/data/task.h>
#include <heed/tokenizers/tokenize.h>

namespace heed {

/// A task, and the tokenizer that cuts its texts and later questions into tokens.
///
///     const TokenizedTask task = make_task({.kind = TaskKind::jsonl, .train = "mine.jsonl"}, Random(1));
///     const std::vector<std::string> tokens = task.tokenizer("The dog was tired .");
struct TokenizedTask : Task {
  Tokenizer tokenizer{};  ///< splits into words unless the task says otherwise
};

}  // namespace heed
