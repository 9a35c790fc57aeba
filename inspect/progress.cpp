#include "inspect/progress.h"

#include "views/terminal.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace heed {

LiveLine::LiveLine(int descriptor, std::string hint)
    : descriptor_(descriptor),
      silent_(isatty(descriptor) != 1),
      hint_(std::move(hint)),
      start_(Clock::now()),
      shown_(start_) {}

LiveLine::~LiveLine() { erase(); }

void LiveLine::erase() {
  if (std::exchange(on_line_, false)) write("\r\x1b[K");
}

void LiveLine::show(const std::string& what, double share, double seconds) {
  constexpr std::chrono::milliseconds between(200);
  const Clock::time_point now = Clock::now();
  if (what != what_) {
    what_ = what;
    start_ = now;
  }
  if (seconds >= long_wait && announced_ != what) {
    announced_ = what;
    const std::string announced =
        fmt::format("{}: about {:.0f} s{}{}", visible(what), seconds, hint_.empty() ? "" : "; ", hint_);
    erase();
    write(wrapped(announced, silent_ ? 400 : window_columns(descriptor_)) + "\n");
  }
  if (silent_ || now - shown_ < between) return;
  shown_ = now;
  on_line_ = true;
  const double so_far = std::chrono::duration<double>(now - start_).count();
  // Leave the last column free: some terminals start a new line when it is filled.
  write("\r" + progress_text(what, share, so_far, window_columns(descriptor_) - 1) + "\x1b[K");
}

void LiveLine::write(const std::string& text) const {
  const ssize_t ignored = ::write(descriptor_, text.data(), text.size());
  static_cast<void>(ignored);
}

std::string progress_text(const std::string& what, double share, double seconds, int width) {
  share = std::clamp(share, 0.0, 1.0);
  std::string figures = fmt::format(": {:.0f} %", 100 * share);
  if (share > 0 && seconds > 1) figures += fmt::format(", {:.0f} s left", seconds * (1 - share) / share);
  const int room = width - display_width(figures);
  const std::string name = visible(what);
  return trimmed(fit_width(name, std::min(display_width(name), room)) + figures);
}

}  // namespace heed
