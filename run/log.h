#pragma once
#include <heed/autograd/record.h>
#include <heed/nn/parameters.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heed {

/// A number to write: that of a loss () as well.
struct Scalar {
  double value;
  Scalar(double number) : value(number) {}                ///< the number
  Scalar(const Tensor& scalar) : value(scalar.item()) {}  ///< its only element; throws Error when it has more
};

/// Options of Log.
struct LogOptions {
  /// The first step to write of a log that is continued: its lines from this step on are removed, since the run takes these steps
  /// again. With 0 there may be no log yet, so `{.resume = state.load(file)}` also serves the first run, and one after a run that ended
  /// before it saved. Without it: a new log.
  std::optional<std::int64_t> resume = {};
};

/// Writes the numbers of a training loop of your own, whatever it trains: metrics.jsonl (a JSON object per step), metrics.csv (a row
/// per step) and an event file for TensorBoard, all in one directory.
///
///     Log log("runs/mine");
///     for (int step = 0; step < 1000; ++step) {
///       ...
///       if (step % 10 == 0) log.write(step, {{"loss", loss}, {"rate", rate}});
///     }
///
/// `inspect curves runs/mine` and `tensorboard --logdir runs` show the curves. Each call ends with its numbers in the files, so a
/// program that is killed loses none of them.
class Log {
 public:
  /// Makes the directory `path`, or the first of path-2, path-3, ... that does not exist. With `resume`, opens that of `path`, where a line
  /// that was cut off is removed. Throws Error when there is no log to continue at a step above 0, and when another Log, of this or
  /// another process, writes to the directory.
  explicit Log(const std::filesystem::path& path, LogOptions options = {});
  Log(Log&&) noexcept;  ///< leaves an object that may only be destroyed
  ~Log();

  /// Returns the directory that was made or opened.
  const std::filesystem::path& path() const;

  /// Writes numbers by their names, such as "loss" or "accuracy/held_out". Several calls for one step share a line. Throws Error for
  /// a step below that of the call before, for a name without characters or with line breaks, for the name "step", and for a name
  /// that was written for this step. JSON has neither infinity nor NaN: metrics.jsonl has null there.
  void write(std::int64_t step, const std::vector<std::pair<std::string, Scalar>>& values);

  /// Writes for each parameter the norm of its values and of its gradient, "norm/NAME" and "gradient/NAME", and "dead/NAME": the
  /// share of units (columns of a matrix, else elements of the first axis) whose gradient is exactly 0, as those of a relu() that the
  /// batch never activates. Parameters without a gradient are left out.
  void write_gradients(std::int64_t step, const Parameters& parameters, const Gradients& gradients);

  /// Calls `update`, such as a step of an optimiser, and writes for each parameter "update/NAME": the norm of its change divided by
  /// the norm of its values before. About 1e-3 is usual for Adam. Takes a copy of the parameters meanwhile.
  ///
  ///     log.write_updates(step, parameters, [&] { optimizer.step(gradients, 3e-4); });
  void write_updates(std::int64_t step, const Parameters& parameters, const std::function<void()>& update);

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

/// A line of metrics.jsonl: the numbers of a step, in the order of their first appearance. NaN where the file has null.
struct LogLine {
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> values{};
};

/// Reads the numbers of RUN/metrics.jsonl, which Log, RunWriter or train wrote; leaves out lists, and a last line that was cut off.
/// Throws Error that names each invalid line.
std::vector<LogLine> read_log(const std::filesystem::path& run);

}  // namespace heed
