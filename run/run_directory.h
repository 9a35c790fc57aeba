#pragma once
#include "run/dump.h"
#include "run/metrics.h"

#include <heed/data/task.h>
#include <heed/models/formats/saved_model.h>
#include <heed/optim/weight_average.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace heed {

// A run directory, locked against other processes for as long as this lives. It holds config.yaml, held_out.jsonl,
// metrics.jsonl, model.safetensors, checkpoint.safetensors, attention/ and models/; each file appears whole or not at all.
class RunDirectory {
 public:
  // Makes `path`, or the next free of runs/NAME, runs/NAME-2, ... when `path` is empty, and writes `config` to config.yaml.
  // Error when `path` exists and is not empty.
  static RunDirectory create(const std::string& name, const std::string& config, const std::filesystem::path& path);
  // Removes the half-written files of a killed process. Error when it is no run, when another process is at work on it,
  // or when one of its files is a link.
  static RunDirectory open(const std::filesystem::path& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }

  bool has_checkpoint() const;

  // Error where there is no checkpoint, but a model, figures or attention of a step after the first: training would begin
  // anew and write over them.
  void refuse_lost_checkpoint() const;

  void write_config(const std::string& config) const;

  // held_out.jsonl, where it is missing.
  void write_held_out(const std::vector<Example>& examples) const;

  // metrics.jsonl, one line an evaluation.
  void write_metrics(const std::vector<std::string>& lines) const;

  /// Throws Error when the directory was removed, emptied or moved after it was locked: its path may be another run's now.
  void check_in_place() const;

 private:
  explicit RunDirectory(std::filesystem::path path);  // locks
  std::filesystem::path path_;
  int lock_ = -1;
};

// Those in a directory, sorted: what has a config.yaml.
std::vector<std::filesystem::path> runs_in(const std::filesystem::path& directory);

// How a file that a run lacks is had again: "train --resume RUN writes it", where it has a checkpoint.
std::string written_by_resuming(const std::filesystem::path& run);

// How far a run has come, but for the weights.
struct Progress {
  std::int64_t step = 0;             // steps taken
  std::int64_t evaluated = 0;        // steps at the last evaluation
  double loss_sum = 0;               // of the steps since then
  std::vector<std::string> metrics;  // lines of metrics.jsonl
};
/// Converts to and from the text that a checkpoint keeps. Throws when it is no such text.
std::string to_text(const Progress& progress);
Progress progress_from(const std::string& text);

// 16 hexadecimal digits each of all that a task's training and its held-out set hold: other sentences, or the same ones in
// another order, have others.
struct DataDigest {
  std::string train, held_out;
  bool operator==(const DataDigest&) const = default;
};
DataDigest digest_of(const Task& task);

// What the steps of a run were taken with.
struct Origin {
  std::string config;  // as to_yaml() writes it
  DataDigest data;
};

// checkpoint.safetensors: parameters, moments, the weights' mean, progress and origin: all that a resumed run needs to give
// the same bits.
void save_checkpoint(const RunDirectory& run, const SavedModel& model, const NamedTensors& moments,
                     const WeightAverage& average, const Progress& progress, const Origin& origin);
// What the run has done: as its checkpoint says, nothing without one. Error for one that cannot be read.
struct Done {
  std::int64_t steps = 0;
  std::optional<Origin> origin;  // not in older checkpoints
};
Done done_by(const RunDirectory& run);
/// Loads all but the optimiser's state, and returns that. Leaves all as it is, and returns nothing, when there is no checkpoint
/// yet. Throws Error for one that is damaged or of another model.
NamedTensors load_checkpoint(const RunDirectory& run, SavedModel& model, WeightAverage& average, Progress& progress);

}  // namespace heed
