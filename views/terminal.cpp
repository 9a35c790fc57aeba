#include "views/terminal.h"

#include "views/view.h"

#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace heed {
namespace {

constexpr std::array shades{" ", "░", "▒", "▓", "█"};
// Indices of the 256-colour palette.
constexpr std::array heat_colours{234, 53, 89, 125, 161, 202, 208, 214, 220, 226};
constexpr std::array sign_colours{27, 33, 75, 117, 153, 231, 224, 217, 210, 203, 196};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <std::size_t N>
std::size_t level(double fraction) {
  return static_cast<std::size_t>(std::lround(std::clamp(fraction, 0.0, 1.0) * (N - 1)));
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string on_colour(int background, int foreground, std::string_view text) {
  return fmt::format("\x1b[48;5;{};38;5;{}m{}\x1b[0m", background, foreground, text);
}

// Returns whether a line break between the two texts would split a figure such as "28.0 % ± 6.3".
bool is_one_figure(std::string_view before, std::string_view after) {
  return after.starts_with(" %") || after.starts_with(" ±") || (before.ends_with("±") && after.size() > 1);
}

}  // namespace

Terminal terminal_of(int descriptor) {
  const bool is_terminal = isatty(descriptor) == 1;
  Terminal terminal;
  terminal.width = std::clamp(window_columns(descriptor), min_columns, max_columns);
  winsize size{};
  if (is_terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) terminal.height = size.ws_row;
  terminal.colour = is_terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  return terminal;
}

std::string bar(double value, int columns) {
  constexpr std::array eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int length = static_cast<int>(std::lround(std::clamp(value, 0.0, 1.0) * columns * 8));
  return repeated("█", length / 8) + eighths[static_cast<std::size_t>(length % 8)];
}

std::string highlighted(std::string_view text, const Terminal& terminal) {
  return terminal.colour ? fmt::format("\x1b[1;32m{}\x1b[0m", text) : std::string(text);
}

std::string percent(double share, const char* unknown) {
  return std::isnan(share) ? unknown : fmt::format("{:.1f} %", 100 * share);
}

// Returns whether ± half of the interval would place its lower end farther off than `misplaced`.
bool is_lopsided(const Interval& mean, double misplaced) {
  return std::abs(mean.share - mean.error() - mean.low) > misplaced;
}

std::string percent(const Interval& share, const char* unknown) {
  if (std::isnan(share.share)) return unknown;
  if (share.error() >= 1) return percent(share.share);
  constexpr double printed = 0.0005, misplaced = 0.0025;  // ± may place no end outside [0, 1], or farther off than this
  if (share.share - share.error() < -printed || share.share + share.error() > 1 + printed ||
      is_lopsided(share, misplaced)) {
    return fmt::format("{:.1f} % ({:.1f} to {:.1f})", 100 * share.share, 100 * std::max(share.low, 0.0),
                       100 * std::min(share.high, 1.0));
  }
  return fmt::format("{:.1f} % ± {:.1f}", 100 * share.share, 100 * share.error());
}

std::string with_error(const Interval& mean) {
  constexpr double printed = 0.005;
  if (is_lopsided(mean, printed) || mean.share + mean.error() > 1 + printed) {
    return fmt::format("{:.2f} ({:.2f} to {:.2f})", mean.share, mean.low, mean.high);
  }
  return fmt::format("{:.2f} ± {:.2f}", mean.share, mean.error());
}

std::string signed_figure(double value) { return std::abs(value) < 0.0005 ? "0.000" : fmt::format("{:+.3f}", value); }

std::string trimmed(std::string_view text) { return std::string(text.substr(0, text.find_last_not_of(' ') + 1)); }

std::string wrapped(std::string_view text, int width, int indent) {
  std::string result;
  int column = 0;
  while (!text.empty()) {
    std::size_t end = text.find_first_not_of(' ');
    end = end == std::string_view::npos ? text.size() : std::min(text.find(' ', end), text.size());
    while (is_one_figure(text.substr(0, end), text.substr(end))) end = std::min(text.find(' ', end + 1), text.size());
    const std::string_view word = text.substr(0, end);  // includes the spaces before it
    text.remove_prefix(end);
    if (column > indent && column + display_width(word) > width) {
      const std::size_t spaces = word.find_first_not_of(' ');
      if (spaces == word.npos) break;  // at the end of the text
      result += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      column = indent;
      result += word.substr(spaces);
      column += display_width(word.substr(spaces));
    } else {
      result += word;
      column += display_width(word);
    }
  }
  return result;
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& entries, const Terminal& terminal) {
  int widest = 0;
  for (const auto& [name, explained] : entries) widest = std::max(widest, display_width(name));
  std::string text;
  for (const auto& [name, explained] : entries) {
    text += wrapped(fit_width(name, widest) + "  " + explained, terminal.width, widest + 2) + "\n";
  }
  return text;
}

std::string heat_cell(double value, std::string_view text, int columns, const Terminal& terminal) {
  const double fraction = std::pow(std::clamp(value, 0.0, 1.0), 2.0 / 3);
  const int text_width = display_width(text);
  const bool fits = text_width < columns;
  if (terminal.colour) {
    const std::size_t i = level<heat_colours.size()>(fraction);
    const std::string content =
        fits ? repeated(" ", columns - 1 - text_width) + std::string(text) + " " : repeated(" ", columns);
    return on_colour(heat_colours[i], i < 5 ? 255 : 16, content);
  }
  const char* shade = shades[level<shades.size()>(fraction)];
  if (!fits || text.empty()) return repeated(shade, columns);
  return std::string(text) + repeated(shade, columns - 1 - text_width) + " ";
}

std::string signed_cell(double value, const Terminal& terminal) {
  if (terminal.colour) {
    return on_colour(sign_colours[level<sign_colours.size()>((value + 1) / 2)], 16, "  ");
  }
  const std::size_t i = level<shades.size()>(std::abs(value));
  return std::string(value < 0 && i > 0 ? "-" : " ") + shades[i];
}

std::string share_row(const std::string& name, const std::string& share, const std::string& interval,
                      const Terminal& terminal) {
  constexpr int columns = 68;
  const bool is_narrow = terminal.width < columns;
  const std::string begun = name.empty() ? "" : is_narrow ? wrapped("  " + name, terminal.width, 4) + "\n" : "";
  return begun +
         trimmed(fmt::format("  {:<{}} {:>9}   {}", is_narrow ? "" : name, is_narrow ? 6 : 40, share, interval)) + "\n";
}

std::string share_row(const std::string& name, double share, const Terminal& terminal) {
  return share_row(name, percent(share), "", terminal);
}

std::string share_row(const std::string& name, const Interval& interval, const Terminal& terminal) {
  if (std::isnan(interval.share)) return "";
  const bool has_ends = !std::isnan(interval.low);
  return share_row(name, percent(interval.share),
                   has_ends ? fmt::format("{:.1f} to {:.1f}", 100 * interval.low, 100 * interval.high) : "unknown",
                   terminal);
}

Json interval_json(const Interval& interval) {
  return {{"share", number_or_null(interval.share)},
          {"low", number_or_null(interval.low)},
          {"high", number_or_null(interval.high)}};
}

}  // namespace heed
