#pragma once
#include <heed/explain/progress.h>

#include <chrono>
#include <string>

namespace heed {

/// Shows progress on one line of a terminal, cut to its width, and erases it at the end. Announces a computation of at least
/// `long_wait` seconds on a line that stays, even if the descriptor is not a terminal; `hint` says how to shorten it. Shows
/// nothing for short computations.
constexpr double long_wait = 10;
class LiveLine {
 public:
  explicit LiveLine(int descriptor, std::string hint = "--limit N asks fewer sentences");
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const std::string& what, double share, double seconds = 0);
  void erase();  ///< erases the line before other text is written

 private:
  using Clock = std::chrono::steady_clock;
  void write(const std::string& text) const;

  int descriptor_;
  bool silent_, on_line_ = false;
  std::string hint_, what_, announced_;
  Clock::time_point start_, shown_;
};

/// Returns "causes of runs/toy: 47 %, 12 s left", cut to `width` columns. `seconds` is the time since the start.
std::string progress_text(const std::string& what, double share, double seconds, int width);

}  // namespace heed
