#include "train/progress.h"

#include "views/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unistd.h>
#include <vector>

namespace heed {
namespace {

std::string duration(double seconds) {
  const std::int64_t s = std::llround(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{}:{:02} min", s / 60, s % 60);
  return fmt::format("{}:{:02} h", s / 3600, s % 3600 / 60);
}

// A failed write is reported once, at the end of the program. It must not end the training.
void write_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Returns "12 steps/s", or "4.2 s/step" for steps of a second and more.
std::string speed_text(double steps_a_second) {
  return steps_a_second > 1 ? fmt::format("{:.0f} steps/s", steps_a_second)
                            : fmt::format("{:.1f} s/step", 1 / steps_a_second);
}

}  // namespace

std::string progress_text(const ProgressState& s, int width) {
  struct Part {
    int importance;  // 0: the most
    std::string text;
    bool fits = false;
  };
  std::vector<Part> parts{{0, fmt::format("step {}/{}", s.step, s.steps)}, {1, fmt::format("loss {:.4f}", s.loss)}};
  if (!std::isnan(s.perplexity)) {
    parts.push_back({3, fmt::format("held-out {:.4f}", std::log(s.perplexity))});
    parts.push_back({4, fmt::format("perplexity {:.2f}", s.perplexity)});
  } else if (!std::isnan(s.accuracy))
    parts.push_back({3, "held-out " + percent(s.accuracy)});
  if (!std::isnan(s.counterpart_accuracy)) parts.push_back({4, "pairs " + percent(s.counterpart_accuracy)});
  if (s.steps_a_second > 0) {
    parts.push_back({5, s.tokens_a_step > 0 ? fmt::format("{:.0f} tokens/s", s.steps_a_second * s.tokens_a_step)
                                            : speed_text(s.steps_a_second)});
    parts.push_back({2, duration(static_cast<double>(s.steps - s.step) / s.steps_a_second) + " left"});
  }
  const auto line = [&] {
    std::string text;
    for (const Part& part : parts) {
      if (part.fits) text += (text.empty() ? "" : "  ") + part.text;
    }
    return text;
  };
  parts[0].fits = true;
  for (int importance = 1; importance <= 5; ++importance) {
    const auto part = std::ranges::find(parts, importance, &Part::importance);
    if (part == parts.end()) continue;
    part->fits = true;
    part->fits = std::ssize(line()) <= width;
  }
  return line().substr(0, static_cast<std::size_t>(std::max(width, 0)));
}

ProgressLine::ProgressLine(std::int64_t steps, bool live, double tokens_a_step) : live_(live) {
  state_.steps = steps;
  state_.tokens_a_step = tokens_a_step;
}

Listener ProgressLine::listener() {
  return {.on_step = [this](std::int64_t step, double loss) { show(step, loss, false); },
          .on_evaluation =
              [this](std::int64_t step, double train_loss, const Evaluation& e) {
                state_.accuracy = e.accuracy;
                state_.counterpart_accuracy = e.counterpart_accuracy;
                state_.perplexity = e.perplexity;
                show(step, train_loss, true);
              }};
}

void ProgressLine::show(std::int64_t step, double loss, bool evaluated) {
  const Clock::time_point now = Clock::now();
  if (first_step_ < 0) {
    first_step_ = evaluated ? step : step - 1;
    start_ = now;
  }
  if (live_ ? now - shown_ < std::chrono::milliseconds(50) && step < state_.steps : !evaluated) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  state_.step = step;
  state_.loss = loss;
  state_.steps_a_second = seconds > 0 ? static_cast<double>(step - first_step_) / seconds : 0;
  write_out(live_ ? live_text() + "\r" : progress_text(state_, std::numeric_limits<int>::max()) + "\n");
  on_line_ = live_;
}

// Between two updates the cursor waits at the beginning of the line. When a narrower window wraps the line, all of it
// is after the cursor and is erased. The last column stays empty, since some terminals begin another line after text in
// it.
std::string ProgressLine::live_text() const {
  return "\x1b[J" + progress_text(state_, window_columns(STDOUT_FILENO) - 1);
}

void ProgressLine::erase() {
  if (on_line_) write_out("\x1b[J");
  on_line_ = false;
}

void ProgressLine::finish() {
  if (on_line_) write_out(live_text() + "\n");
  on_line_ = false;
}

}  // namespace heed
