#include <heed/tokenizers/graphemes.h>

#include <utf8proc.h>

#include <algorithm>

namespace heed {
namespace {

// Returns the bytes of the first code point, which is written to `point`; at most 0 where `text` is not UTF-8.
utf8proc_ssize_t next_point(std::string_view text, utf8proc_int32_t& point) {
  return utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                          static_cast<utf8proc_ssize_t>(text.size()), &point);
}

// Returns whether the cluster is printable. Control characters move the cursor, and invalid bytes show as one U+FFFD.
bool is_character(utf8proc_int32_t point) { return point >= 0 && utf8proc_category(point) != UTF8PROC_CATEGORY_CC; }

}  // namespace

std::vector<Grapheme> graphemes(std::string_view text) {
  std::vector<Grapheme> result;
  utf8proc_int32_t previous = -1, point = -1, state = 0;
  for (std::size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    const utf8proc_ssize_t decoded = next_point(text.substr(at), point);
    bytes = decoded > 0 ? static_cast<std::size_t>(decoded) : 1;
    if (decoded <= 0) point = -1;
    const int width = is_character(point) ? utf8proc_charwidth(point) : 1;
    if (previous < 0 || point < 0 || utf8proc_grapheme_break_stateful(previous, point, &state)) {
      result.push_back({text.substr(at, bytes), point, width});
      state = 0;
    } else {
      Grapheme& last = result.back();
      last.text = {last.text.data(), last.text.size() + bytes};
      last.width = std::min(2, last.width + width);
    }
    previous = point;
  }
  return result;
}

int display_width(std::string_view text) {
  int width = 0;
  for (const Grapheme& g : graphemes(text)) width += g.width;
  return width;
}

std::string fit_width(std::string_view text, int width) {
  std::string shown;  // split into characters again: a mark may combine with U+FFFD
  for (const Grapheme& g : graphemes(text)) shown += is_character(g.first) ? g.text : "\uFFFD";
  std::string fitted, kept;  // `kept` leaves a column for the ellipsis
  int columns = 0, kept_columns = 0;
  for (const Grapheme& g : graphemes(shown)) {
    fitted += g.text;
    columns += g.width;
    if (columns > width) break;
    if (columns < width) {
      kept = fitted;
      kept_columns = columns;
    }
  }
  if (columns > width) {
    if (width <= 0) return "";
    fitted = kept + "…";
    columns = kept_columns + 1;
  }
  return fitted.append(static_cast<std::size_t>(std::max(0, width - columns)), ' ');
}

}  // namespace heed
