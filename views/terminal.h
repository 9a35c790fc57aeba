#pragma once
#include <heed/explain/studies/interval.h>
#include <heed/run/progress.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

struct Terminal {
  int width = 80;  // columns
  bool colour = false;
  int height = 24;  // rows
};

constexpr int min_columns = 40, max_columns = 400;  ///< of a terminal that text is written for

/// Returns the properties of the terminal of a file descriptor. The width is `window_columns()`, clamped to [40, 400]; the
/// height is the window's, or 24. Colour is enabled on a terminal unless NO_COLOR is set (no-color.org) or TERM is "dumb".
Terminal terminal_of(int descriptor);

/// Returns `value` in [0, 1] as a bar of up to `columns` columns, in steps of an eighth.
std::string bar(double value, int columns);

/// Returns `text`, bold and green if colour is enabled.
std::string highlighted(std::string_view text, const Terminal& terminal);

/// Returns "99.3 %", or `unknown` for NaN.
std::string percent(double share, const char* unknown = "-");

/// Returns "28.0 % ± 6.3"; "28.0 % (22.0 to 34.9)" where ± would misplace an end; "28.0 %" where the interval says nothing;
/// `unknown` for NaN.
std::string percent(const Interval& share, const char* unknown = "-");

/// Returns "0.79 ± 0.02".
std::string with_error(const Interval& mean);

/// Returns "+0.123"; "0.000" without a sign for a value that rounds to 0.
std::string signed_figure(double value);

/// Returns `text` without trailing spaces.
std::string trimmed(std::string_view text);

/// Wraps `text` (one line) at spaces to `width` columns. Further lines begin with `indent` spaces. "28.0 % ± 6.3" stays on
/// one line.
std::string wrapped(std::string_view text, int width, int indent = 0);

/// Returns a line per name and explanation, the explanations below each other, wrapped at the terminal's width.
std::string legend(const std::vector<std::pair<std::string, std::string>>& entries, const Terminal& terminal);

/// Returns a heat map cell for `value` in [0, 1]: exactly `columns` columns, with `text` if it fits. The shade follows
/// value^(2/3), which makes small values visible.
std::string heat_cell(double value, std::string_view text, int columns, const Terminal& terminal);

/// Returns a cell of two columns for `value` in [-1, 1]: blue and red, or shades with a minus sign without colour.
std::string signed_cell(double value, const Terminal& terminal);

}  // namespace heed
