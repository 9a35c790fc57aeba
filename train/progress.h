#pragma once
#include "train/training.h"

#include <chrono>
#include <limits>
#include <string>

namespace heed {

// How far a run is, for one line.
struct ProgressState {
  std::int64_t step = 0, steps = 0;  // taken, in all
  double loss = 0;
  double accuracy = std::numeric_limits<double>::quiet_NaN();       // NaN: nothing evaluated yet
  double twin_accuracy = std::numeric_limits<double>::quiet_NaN();  // NaN: no twins
  double perplexity = std::numeric_limits<double>::quiet_NaN();     // NaN: no language model
  double steps_a_second = 0;                                        // 0: unknown
  double tokens_a_step = 0;                                         // 0: no language model
};

// At most `width` columns: of the step, the loss, the time left, the accuracy, that of twins and the speed as many as
// fit, the first of these first.
std::string progress_text(const ProgressState& state, int width);

// One live line on a terminal, as wide as that is at the moment; one line an evaluation elsewhere.
class ProgressLine {
 public:
  ProgressLine(std::int64_t steps, bool live, double tokens_a_step = 0);
  ProgressLine(const ProgressLine&) = delete;
  ~ProgressLine() { finish(); }
  Listener listener();
  void finish();  // leaves the live line
  void erase();   // leaves nothing of it

 private:
  void show(std::int64_t step, double loss, bool evaluated);
  std::string live_text() const;

  using Clock = std::chrono::steady_clock;
  ProgressState state_;
  bool live_, on_line_ = false;
  std::int64_t first_step_ = -1;
  Clock::time_point start_ = Clock::now(), shown_{};
};

}  // namespace heed
