#pragma once
#include <heed/run/log.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heed {

/// Shows the progress of a training loop of your own: steps, the last numbers, speed and time left. On a terminal it is one line that
/// changes; elsewhere, such as in a file, at most ten lines are printed in all.
///
///     ProgressBar bar(1000);
///     for (int step = 0; step < 1000; ++step) {
///       ...
///       bar.show(step, {{"loss", loss}});   // step 412/1000  loss 0.3107  103 steps/s  6 s left
///     }
class ProgressBar {
 public:
  /// Takes the number of steps.
  explicit ProgressBar(std::int64_t steps);
  ProgressBar(ProgressBar&&) noexcept;  ///< leaves an object that may only be destroyed
  ~ProgressBar();                       ///< ends the line, which stays visible

  /// Shows that step `step`, counted from 0, is done. Call it after each step: it takes little time.
  void show(std::int64_t step, const std::vector<std::pair<std::string, Scalar>>& values = {});
  /// Removes the line before your program prints another one.
  void erase();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the columns of the window of a file descriptor. Without a window, returns COLUMNS, or 80.
int window_columns(int descriptor);

}  // namespace heed
