#pragma once
#include <heed/explain/studies/interval.h>

#include <string>
#include <string_view>

namespace heed {

struct Terminal {
  int width = 80;  // columns
  bool colour = false;
  int height = 24;  // rows
};

// Columns of the window behind a file descriptor; where there is none, of COLUMNS, else 80.
int window_columns(int descriptor);

// What is known of the terminal behind a file descriptor. Width: window_columns() within 40 to 400; height: the window's,
// else 24. Colour: on a terminal, unless NO_COLOR is set (no-color.org) or TERM is "dumb".
Terminal terminal_of(int descriptor);

// `value` in [0, 1] as a bar of up to `columns` columns, in eighths.
std::string bar(double value, int columns);

// `text`, bold and green where there is colour.
std::string highlighted(std::string_view text, const Terminal& terminal);

// "99.3 %"; `unknown` for NaN.
std::string percent(double share, const char* unknown = "-");

/// Returns "28.0 % ± 6.3", or `unknown` for NaN.
std::string percent(const Interval& share, const char* unknown = "-");

/// Returns "0.79 ± 0.02".
std::string with_error(const Interval& mean);

// Without spaces at its end.
std::string trimmed(std::string_view text);

// `text` (one line) broken at spaces where it would pass `width` columns; further lines begin with `indent` spaces.
std::string wrapped(std::string_view text, int width, int indent = 0);

// A cell of a heat map for `value` in [0, 1]: exactly `columns` columns that hold `text` where it fits. The shade
// grows faster at small values (value^(2/3)), so that they are seen.
std::string heat_cell(double value, std::string_view text, int columns, const Terminal& terminal);

// A cell of two columns for `value` in [-1, 1]: blue and red, or without colour shades with a minus sign.
std::string signed_cell(double value, const Terminal& terminal);

}  // namespace heed
