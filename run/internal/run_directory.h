#pragma once
#include "run/dump.h"
#include "run/metrics.h"

#include <heed/data/task.h>
#include <heed/formats/saved_model.h>
#include <heed/optim/weight_average.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// A run directory, locked against other processes while this object exists. It holds config.yaml, held_out.jsonl,
/// metrics.jsonl, model.safetensors, checkpoint.safetensors, attention/ and models/. Each file is written atomically.
class RunDirectory {
 public:
  /// Makes `path`, or the next free of runs/NAME, runs/NAME-2, ... if `path` is empty, and writes `config` to
  /// config.yaml. Throws Error when `path` exists and is not empty.
  static RunDirectory create(const std::string& name, const std::string& config, const std::filesystem::path& path);
  /// Opens a run and removes the temporary files of a killed process. Throws Error for a path that is not a run, while
  /// another process trains it, or when one of its files is a link.
  static RunDirectory open(const std::filesystem::path& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }

  bool has_checkpoint() const;

  /// Throws Error when the checkpoint is missing but the run has a model, metrics or attention of a later step: training
  /// would restart and overwrite them.
  void refuse_lost_checkpoint() const;

  void write_config(const std::string& config) const;

  /// Throws Error when there is a held_out.jsonl with other sentences.
  void check_held_out(const std::vector<Example>& examples) const;
  /// Writes held_out.jsonl if it is missing.
  void write_held_out(const std::vector<Example>& examples) const;

  /// Writes metrics.jsonl, one line per evaluation.
  void write_metrics(const std::vector<std::string>& lines) const;

  /// Throws Error when the directory was removed, emptied or moved after it was locked: its path may now be another
  /// run's.
  void check_in_place() const;

 private:
  explicit RunDirectory(std::filesystem::path path);  // locks
  std::filesystem::path path_;
  int lock_ = -1;
};

/// Returns the runs in a directory (entries with a config.yaml), sorted.
std::vector<std::filesystem::path> runs_in(const std::filesystem::path& directory);

/// Returns whether train made the run. RunWriter, for a loop of one's own, writes no config.yaml.
bool is_of_train(const std::filesystem::path& run);

/// Returns how to regenerate a missing file: "train --resume RUN writes it", if the run has a checkpoint.
std::string written_by_resuming(const std::filesystem::path& run);

/// The progress of a run, without the weights.
struct Progress {
  std::int64_t step = 0;             // steps taken
  std::int64_t evaluated = 0;        // steps at the last evaluation
  double loss_sum = 0;               // over the steps since then
  std::vector<std::string> metrics;  // lines of metrics.jsonl
};
/// Converts to and from the text that a checkpoint keeps. Throws for text of another form.
std::string to_text(const Progress& progress);
Progress progress_from(const std::string& text);

/// Digests of a task's training set and held-out set, 16 hexadecimal digits each. They depend on the sentences and their
/// order.
struct DataDigest {
  std::string train, held_out;
  bool operator==(const DataDigest&) const = default;
};
DataDigest digest_of(const Task& task);

/// The configuration and data of a run's steps.
struct Origin {
  std::string config;  // as to_yaml() writes it
  DataDigest data;
};

/// Writes checkpoint.safetensors: parameters, moments, the weights' mean, progress and origin. With these a resumed run
/// gives the same bits.
void save_checkpoint(const RunDirectory& run, const Model& model, const NamedTensors& moments,
                     const WeightAverage& average, const Progress& progress, const Origin& origin);
/// The progress and origin in a run's checkpoint; default values without one. done_by() throws Error when it cannot be
/// read.
struct Done {
  std::int64_t steps = 0;
  std::optional<Origin> origin;  // not in older checkpoints
};
Done done_by(const RunDirectory& run);
/// Loads all but the optimiser's state, and returns that. Without a checkpoint it changes nothing and returns an empty
/// state. Throws Error for a checkpoint that is damaged or of another model.
NamedTensors load_checkpoint(const RunDirectory& run, Model& model, WeightAverage& average, Progress& progress);

}  // namespace heed
