#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/data/unknown_words.h>
#include <heed/formats/datasets/tokenized_task.h>
#include <heed/tokenizers/tokenize.h>

namespace heed {

/// The task to learn: generated sentences, or those of a file.
enum class TaskKind { coreference, bank, chinese, babi, jsonl, text, masked_text, induction, candidates };
template <>
inline constexpr EnumName<TaskKind> enum_names<TaskKind>[] = {{TaskKind::coreference, "coreference"},
                                                              {TaskKind::bank, "bank"},
                                                              {TaskKind::chinese, "chinese"},
                                                              {TaskKind::babi, "babi"},
                                                              {TaskKind::jsonl, "jsonl"},
                                                              {TaskKind::text, "text"},
                                                              {TaskKind::masked_text, "masked_text"},
                                                              {TaskKind::induction, "induction"},
                                                              {TaskKind::candidates, "candidates"}};
/// Returns whether a task reads one long text instead of sentences.
constexpr bool is_text(TaskKind kind) { return kind == TaskKind::text || kind == TaskKind::masked_text; }

/// Returns whether a task reads files instead of generating sentences.
constexpr bool reads_files(TaskKind kind) {
  return kind == TaskKind::babi || kind == TaskKind::jsonl || is_text(kind) || kind == TaskKind::candidates;
}

/// Returns whether a model of the task predicts tokens of a text instead of answering questions.
constexpr bool predicts_tokens(TaskKind kind) { return is_text(kind) || kind == TaskKind::induction; }

/// The task and its size.
struct TaskOptions {
  TaskKind kind = TaskKind::coreference;
  std::string train = {},
              test = {};             ///< for tasks that read files; with an empty `test`, a part of `train` is held out
  Split split = Split::words;        ///< how to split a text, or a later question, into tokens
  int context = 64;                  ///< for `text` and `induction`: tokens per window
  int vocabulary = 1024;             ///< for `text`, and `candidates` with subwords: number of subwords to learn
  Unknown unknown = Unknown::error;  ///< how to treat words that are missing from the training set
  int min_count = 1;                 ///< rarer words of the training set are unknown too
  /// Tokenizer with known tokens, for Split::subwords: of a run's subwords, or of a pretrained model. Empty: learn subwords
  std::optional<Tokenizer> tokenizer = {};
  int sentences = 4000, held_out = 1000;  ///< to generate, for the other tasks
  Fold fold{};                            ///< the part that is held out, for tasks that read sentences
  bool shuffle_antecedents = false;       ///< control: randomises answers of the training set
};

/// Makes the task. Throws Error for a missing or superfluous file, and the task's own errors.
TokenizedTask make_task(const TaskOptions& options, const Random& random);

}  // namespace heed
