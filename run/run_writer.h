#pragma once
#include <heed/data/task.h>
#include <heed/run/dump.h>
#include <heed/run/metrics.h>

namespace heed {

/// Options of a RunWriter.
struct RunWriterOptions {
  /// Whether to keep the model of each step, which `inspect history` and the page's slider need.
  bool keep_models = false;
};

/// Writes a run that `inspect` opens, from your own training loop.
///
///     Model saved(Scope(parameters, 1), config);
///     saved.vocabulary = Vocabulary(words);
///     RunWriter run("runs/mine", saved, {question(saved, "The cat slept because it was tired")});
///     for (int step = 1; step <= 1000; ++step) {
///       ...
///       if (step % 100 == 0) run.write({.step = step, .train_loss = loss.item()});
///     }
class RunWriter {
 public:
  /// Makes the directory `path`, or the first of path-2, path-3, ... that does not exist. `model` shares the parameters
  /// that the loop trains. write() computes the attention of the `watched` examples; `inspect causes` asks the
  /// `held_out` ones, which need an answer. Throws `Error`, and leaves no directory, when check_saved() does, when the
  /// model cannot read an example, and when write_jsonl() refuses the held-out ones.
  RunWriter(const std::filesystem::path& path, const Model& model, std::vector<Example> watched,
            const std::vector<Example>& held_out = {}, const RunWriterOptions& options = {});

  /// Returns the directory that was made.
  const std::filesystem::path& path() const { return path_; }

  /// Writes the model, the attention of the watched examples, and a line of metrics.jsonl. Each file appears whole or not at all.
  /// Throws `Error` when the step is not larger than the one before, and when the model computes infinity or NaN.
  void write(const Metrics& metrics);

 private:
  Model model_;
  RunWriterOptions options_;
  std::vector<Example> watched_;
  std::filesystem::path path_;
  std::string lines_;  // of metrics.jsonl
};

}  // namespace heed
