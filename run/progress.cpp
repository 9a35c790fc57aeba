#include "run/internal/progress_meter.h"

#include <heed/run/progress.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace heed {
namespace {

// A failed write is reported once, at the end of the program. It must not end the training.
void write_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

int window_columns(int descriptor) {
  winsize size{};
  if (isatty(descriptor) == 1 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  int columns = 80;
  const char* const variable = std::getenv("COLUMNS");
  const std::string_view text = variable ? variable : "";
  std::from_chars(text.data(), text.data() + text.size(), columns);
  return columns;
}

std::string fitted(const std::vector<ProgressItem>& items, int width) {
  std::vector<bool> fits(items.size());
  const auto line = [&] {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (fits[i]) text += (text.empty() ? "" : "  ") + items[i].text;
    }
    return text;
  };
  for (int importance = 0; importance <= 5; ++importance) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].importance != importance) continue;
      fits[i] = true;
      fits[i] = importance == 0 || std::ssize(line()) <= width;
    }
  }
  return line().substr(0, static_cast<std::size_t>(std::max(width, 0)));
}

std::string speed_text(double steps_a_second) {
  return steps_a_second > 1 ? fmt::format("{:.0f} steps/s", steps_a_second)
                            : fmt::format("{:.1f} s/step", 1 / steps_a_second);
}

std::string time_left(std::int64_t steps, double steps_a_second) {
  const std::int64_t s = std::llround(static_cast<double>(steps) / steps_a_second);
  if (s < 60) return fmt::format("{} s left", s);
  if (s < 3600) return fmt::format("{}:{:02} min left", s / 60, s % 60);
  return fmt::format("{}:{:02} h left", s / 3600, s % 3600 / 60);
}

void ProgressMeter::show(std::int64_t done, bool is_milestone, Text text) {
  const Clock::time_point now = Clock::now();
  if (first_ < 0) {
    first_ = is_milestone ? done : done - 1;
    start_ = now;
  }
  if (live_ ? now - shown_ < std::chrono::milliseconds(50) && done < steps_ : !is_milestone) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  speed_ = seconds > 0 ? static_cast<double>(done - first_) / seconds : 0;
  text_ = std::move(text);
  write_out(live_ ? live_text() + "\r" : text_(speed_, std::numeric_limits<int>::max()) + "\n");
  on_line_ = live_;
}

// Between two updates the cursor waits at the beginning of the line. When a narrower window wraps the line, all of it
// is after the cursor and is erased. The last column stays empty, since some terminals begin another line after text in
// it.
std::string ProgressMeter::live_text() const { return "\x1b[J" + text_(speed_, window_columns(STDOUT_FILENO) - 1); }

void ProgressMeter::erase() {
  if (on_line_) write_out("\x1b[J");
  on_line_ = false;
}

void ProgressMeter::finish() {
  if (on_line_) write_out(live_text() + "\n");
  on_line_ = false;
}

struct ProgressBar::State {
  std::int64_t steps;
  ProgressMeter meter;
};

ProgressBar::ProgressBar(std::int64_t steps) : state_(new State{steps, {steps, isatty(STDOUT_FILENO) == 1}}) {
  if (steps < 1) fail("ProgressBar: expected at least one step, got {}", steps);
}
ProgressBar::ProgressBar(ProgressBar&&) noexcept = default;
ProgressBar::~ProgressBar() = default;

void ProgressBar::show(std::int64_t step, const std::vector<std::pair<std::string, Scalar>>& values) {
  const std::int64_t done = step + 1, steps = state_->steps, part = (steps + 9) / 10;
  state_->meter.show(done, done % part == 0 || done == steps, [=](double speed, int width) {
    std::vector<ProgressItem> items{{0, fmt::format("step {}/{}", done, steps)}};
    for (const auto& [name, scalar] : values) items.push_back({1, fmt::format("{} {:.4g}", name, scalar.value)});
    if (speed > 0) {
      items.push_back({5, speed_text(speed)});
      items.push_back({2, time_left(std::max<std::int64_t>(steps - done, 0), speed)});
    }
    return fitted(items, width);
  });
}

void ProgressBar::erase() { state_->meter.erase(); }

}  // namespace heed
