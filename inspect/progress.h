#pragma once
#include <chrono>
#include <functional>
#include <string>

namespace heed {

// Is told now and then what a long computation is at, and what share of it is done.
using OnProgress = std::function<void(const std::string& what, double share)>;

// One line of a terminal that is written again and again, fit to its width, and is gone at the end. Silent where the
// descriptor is no terminal, and for what is done within a moment.
class LiveLine {
 public:
  explicit LiveLine(int descriptor);
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const std::string& what, double share);

 private:
  using Clock = std::chrono::steady_clock;
  void write(const std::string& text) const;

  int descriptor_;
  bool silent_, on_line_ = false;
  std::string what_;
  Clock::time_point start_, shown_;
};

// "causes of runs/toy: 47 %, 12 s left", cut to `width` columns; `seconds`: since it began.
std::string progress_text(const std::string& what, double share, double seconds, int width);

}  // namespace heed
