#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/data/task.h>
#include <heed/data/tokenize.h>
#include <heed/data/unknown_words.h>

namespace heed {

// What is learned: sentences that are made, or those of a file.
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
/// Whether a task reads one long text instead of sentences.
constexpr bool is_text(TaskKind kind) { return kind == TaskKind::text || kind == TaskKind::masked_text; }

/// Whether a task reads files instead of making its sentences.
constexpr bool reads_files(TaskKind kind) {
  return kind == TaskKind::babi || kind == TaskKind::jsonl || is_text(kind) || kind == TaskKind::candidates;
}

/// Whether a model of the task predicts tokens of a text, and answers no questions.
constexpr bool predicts_tokens(TaskKind kind) { return is_text(kind) || kind == TaskKind::induction; }

// Which task, and how much of it.
struct TaskOptions {
  TaskKind kind = TaskKind::coreference;
  std::string train = {}, test = {};      // of those that read files; without `test` a tenth of `train` is held out
  Split split = Split::words;             // how a text, or a sentence that is asked later, is cut into tokens
  int context = 64;                       // of `text` and `induction`: tokens that are seen at once
  int vocabulary = 1024;                  // of `text`, `candidates` cut into subwords: how many are learned
  Unknown unknown = Unknown::error;       // what a word that training never saw is
  int min_count = 1;                      // rarer words of training are unknown, too
  std::optional<Subwords> subwords = {};  // those that are not learned, but known from before
  int sentences = 4000, held_out = 1000;  // to make, for the others
  bool shuffle_antecedents = false;       // control: answers of the training set dealt at random
};

// Error for a missing or superfluous file, and whatever the task itself reports.
Task make_task(const TaskOptions& options, const Random& random);

}  // namespace heed
