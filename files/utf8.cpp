#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <utf8proc.h>

#include <algorithm>

namespace heed {
namespace {

utf8proc_ssize_t decode(std::string_view text, utf8proc_int32_t& point) {
  return utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                          static_cast<utf8proc_ssize_t>(text.size()), &point);
}

// Returns whether the cluster is printable. Control characters move the cursor, and invalid bytes show as one U+FFFD.
bool is_character(utf8proc_int32_t point) { return point >= 0 && utf8proc_category(point) != UTF8PROC_CATEGORY_CC; }

// Returns the encoding that the first bytes indicate, or "".
std::string encoding_of(std::string_view text) {
  const std::string_view first = text.substr(0, 1000);
  if (first.starts_with(std::string_view("\xff\xfe\0\0", 4)) || first.starts_with(std::string_view("\0\0\xfe\xff", 4)))
    return "UTF-32";
  if (first.starts_with("\xff\xfe") || first.starts_with("\xfe\xff")) return "UTF-16";
  const std::ptrdiff_t nuls = std::ranges::count(first, '\0');
  if (4 * nuls < std::ssize(first) || 3 * nuls > 2 * std::ssize(first)) return "";
  return first.find('\0') % 2 == 0 ? "UTF-16BE" : "UTF-16LE";  // half of the bytes are NUL
}

// Returns ", in line 3" for byte `at`, or "" for the first line.
std::string in_line(std::string_view text, std::size_t at) {
  const auto line = 1 + std::ranges::count(text.substr(0, at), '\n');
  return line > 1 ? fmt::format(", in line {}", line) : "";
}

// Returns ". It looks like UTF-16: ...", or `otherwise`.
std::string conversion(std::string_view text, const char* otherwise = "") {
  const std::string encoding = encoding_of(text);
  if (encoding.empty()) return otherwise;
  return fmt::format(". It looks like {0}: convert it with iconv -f {0} -t UTF-8", encoding);
}

}  // namespace

std::string_view checked_utf8(std::string_view text, const std::string& source) {
  utf8proc_int32_t point = 0;
  for (std::size_t at = 0; at < text.size();) {
    const utf8proc_ssize_t bytes = decode(text.substr(at), point);
    if (bytes <= 0) {
      fail("{}: not UTF-8 at byte {}{}: 0x{:02x}{}", source, at, in_line(text, at),
           static_cast<unsigned char>(text[at]), conversion(text));
    }
    at += static_cast<std::size_t>(bytes);
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

std::string_view checked_text(std::string_view text, const std::string& source) {
  const std::string_view checked = checked_utf8(text, source);
  const std::size_t nul = text.find('\0');
  if (nul != text.npos) {
    fail("{}: expected text, got a NUL at byte {}{}{}", source, nul, in_line(text, nul),
         conversion(text, ". tr -d '\\0' removes it"));
  }
  return checked;
}

std::vector<Grapheme> graphemes(std::string_view text) {
  std::vector<Grapheme> result;
  utf8proc_int32_t previous = -1, point = -1, state = 0;
  for (std::size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    const utf8proc_ssize_t decoded = decode(text.substr(at), point);
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

std::string visible(std::string_view text) {
  std::string result;
  utf8proc_int32_t point = -1;
  for (std::size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    const utf8proc_ssize_t decoded = decode(text.substr(at), point);
    bytes = decoded > 0 ? static_cast<std::size_t>(decoded) : 1;
    const auto category = utf8proc_category(point);
    const bool joins = point == 0x200c || point == 0x200d || (point >= 0x600 && point <= 0x605);
    if (decoded <= 0) {
      result += "\xef\xbf\xbd";  // U+FFFD
    } else if (point < 0x20 || point == 0x7f) {
      result += "\xe2\x90";  // UTF-8 of U+2400 is e2 90 80
      result += static_cast<char>(0x80 + (point == 0x7f ? 0x21 : point));
    } else if (!joins &&
               (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
                category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP || point >> 1 == 0x7fff)) {
      result += fmt::format("⟨U+{:04X}⟩", point);
    } else {
      result += text.substr(at, bytes);
    }
  }
  return result;
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

std::string excerpt(std::string_view text, int columns) {
  const std::size_t most = 16 * static_cast<std::size_t>(columns);  // enough bytes for that many columns
  std::size_t end = std::min(text.size(), most);
  while (end < text.size() && end > 0 && (text[end] & 0xc0) == 0x80) --end;  // at the start of a code point
  const std::string shown = visible(text.substr(0, end)) + (end < text.size() ? "…" : "");
  if (display_width(shown) <= columns) return shown;
  const std::string fitted = fit_width(shown, columns);
  return fitted.substr(0, fitted.rfind("…") + std::string_view("…").size());
}

}  // namespace heed
