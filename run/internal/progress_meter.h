#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heed {

/// An item of a progress line. Importance 0 is the most important.
struct ProgressItem {
  int importance;
  std::string text;
};

/// Returns the items that fit in `width` columns, the more important ones first, in their order.
std::string fitted(const std::vector<ProgressItem>& items, int width);

/// Returns "12 steps/s", or "4.2 s/step" for steps of a second and more.
std::string speed_text(double steps_a_second);

/// Returns "5 s left", "2:05 min left" or "1:02 h left".
std::string time_left(std::int64_t steps, double steps_a_second);

/// Shows progress on standard output: one live line on a terminal, as wide as the terminal is; elsewhere one line per milestone.
class ProgressMeter {
 public:
  /// Returns the line for a speed (0: unknown) and a width.
  using Text = std::function<std::string(double steps_a_second, int width)>;

  ProgressMeter(std::int64_t steps, bool live) : steps_(steps), live_(live) {}
  ProgressMeter(const ProgressMeter&) = delete;
  ~ProgressMeter() { finish(); }

  void show(std::int64_t done, bool is_milestone, Text text);
  void finish();  ///< ends the live line, which stays visible
  void erase();   ///< removes the live line

 private:
  std::string live_text() const;

  using Clock = std::chrono::steady_clock;
  std::int64_t steps_, first_ = -1;
  bool live_, on_line_ = false;
  Clock::time_point start_ = Clock::now(), shown_{};
  double speed_ = 0;
  Text text_;
};

}  // namespace heed
