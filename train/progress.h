#pragma once
#include "run/internal/progress_meter.h"
#include "train/training.h"

#include <limits>
#include <string>

namespace heed {

/// The state of a run, for a progress line.
struct ProgressState {
  std::int64_t step = 0, steps = 0;  // taken; of the run
  double loss = 0;
  double accuracy = std::numeric_limits<double>::quiet_NaN();              // NaN: not evaluated yet
  double counterpart_accuracy = std::numeric_limits<double>::quiet_NaN();  // NaN: without minimal pairs
  double perplexity = std::numeric_limits<double>::quiet_NaN();            // NaN: not a language model
  double steps_a_second = 0;                                               // 0: unknown
  double tokens_a_step = 0;                                                // 0: not a language model
};

/// Returns a line of at most `width` columns with as many items as fit, the first ones first: step, loss, time left,
/// accuracy, accuracy of minimal pairs, speed.
std::string progress_text(const ProgressState& state, int width);

/// Shows one live line on a terminal, as wide as the terminal is; elsewhere prints one line per evaluation.
class ProgressLine {
 public:
  ProgressLine(std::int64_t steps, bool live, double tokens_a_step = 0);
  ProgressLine(const ProgressLine&) = delete;
  Listener listener();
  void finish() { meter_.finish(); }  // ends the live line, which stays visible
  void erase() { meter_.erase(); }    // removes the live line

 private:
  void show(std::int64_t step, double loss, bool evaluated);

  ProgressState state_;
  ProgressMeter meter_;
};

}  // namespace heed
