#pragma once
#include <heed/explain/progress.h>

#include <chrono>
#include <string>

namespace heed {

/// Shows progress on one line of a terminal, fit to its width, which is gone at the end. Before a computation of long_wait
/// seconds or more writes about how long it takes in a line that stays, also where the descriptor is no terminal. Silent for
/// what is done within a moment.
constexpr double long_wait = 10;
class LiveLine {
 public:
  explicit LiveLine(int descriptor);
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const std::string& what, double share, double seconds = 0);

 private:
  using Clock = std::chrono::steady_clock;
  void write(const std::string& text) const;

  int descriptor_;
  bool silent_, on_line_ = false;
  std::string what_, announced_;
  Clock::time_point start_, shown_;
};

// "causes of runs/toy: 47 %, 12 s left", cut to `width` columns; `seconds`: since it began.
std::string progress_text(const std::string& what, double share, double seconds, int width);

}  // namespace heed
