#pragma once
#include "inspect/views/terminal.h"
#include "run/run_directory.h"
#include "train/experiment.h"
#include "train/training.h"

#include <chrono>
#include <string>

namespace heed {

// The first lines: version, kernels and threads, model, data. With `run` where it is written.
std::string opening(const Experiment& experiment, const std::filesystem::path& run);

// What --dry-run prints: the resolved configuration and the size of what would run.
std::string dry_run(const Experiment& experiment);

// The last lines: what the query of each probe attends to, and the figures, trained beside untrained.
std::string closing(const Experiment& experiment, const RunDirectory& run, const Terminal& terminal);

// One live line on a terminal, one line an evaluation elsewhere.
class ProgressLine {
 public:
  ProgressLine(int steps, bool live);
  Listener listener();
  void finish();  // leaves the live line

 private:
  void show(std::int64_t step, double loss, bool evaluated);

  using Clock = std::chrono::steady_clock;
  int steps_;
  bool live_, on_line_ = false;
  std::int64_t first_step_ = -1;
  double accuracy_ = 0, twins_ = 0;
  Clock::time_point start_ = Clock::now(), shown_{};
};

}  // namespace heed
