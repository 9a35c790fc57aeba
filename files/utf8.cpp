#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <utility>

namespace heed {
namespace {

using Point = std::int32_t;

// Code points [first, last].
struct Points {
  Point first, last;
};

template <std::size_t count>
bool holds(const Points (&sorted)[count], Point point) {
  const Points* range = std::ranges::lower_bound(sorted, point, {}, &Points::last);
  return range != std::end(sorted) && range->first <= point;
}

// Points that show nothing and change how others are shown: categories Cf, Zl and Zp of Unicode, without those that join letters.
constexpr Points invisible[] = {{0xad, 0xad},       {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
                                {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200b},
                                {0x200e, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x2064},   {0x2066, 0x206f},
                                {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
                                {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
                                {0xe0001, 0xe0001}, {0xe0020, 0xe007f}};

// Marks that combine with the character before them, in the scripts that mistakes are likely to quote.
constexpr Points combining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                {0x64b, 0x65f},   {0x900, 0x902},   {0x93c, 0x93c},   {0x941, 0x948},
                                {0x94d, 0x94d},   {0xe31, 0xe31},   {0xe34, 0xe3a},   {0xe47, 0xe4e},
                                {0x1ab0, 0x1ace}, {0x1dc0, 0x1dff}, {0x200c, 0x200d}, {0x20d0, 0x20f0},
                                {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

// East Asian characters and pictures, which may take two columns.
constexpr Points wide[] = {
    {0x1100, 0x115f}, {0x231a, 0x23f3},   {0x25fd, 0x27bf},   {0x2b1b, 0x2b55},   {0x2e80, 0x303e},  {0x3041, 0xa4cf},
    {0xa960, 0xa97f}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},  {0xff01, 0xff60},
    {0xffe0, 0xffe6}, {0x16fe0, 0x18dff}, {0x1aff0, 0x1b2ff}, {0x1f000, 0x1faff}, {0x20000, 0x3fffd}};

// Returns the first code point of `text`, which is not empty, and its bytes; {-1, 1} for a byte that is not UTF-8.
std::pair<Point, std::size_t> decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {static_cast<Point>(first), 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {-1, 1};
  unsigned point = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {-1, 1};
    point = point << 6 | (byte(i) & 0x3f);
  }
  constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < least[bytes] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return {-1, 1};
  return {static_cast<Point>(point), bytes};
}

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
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = decode(text.substr(at));
    if (point < 0) {
      fail("{}: not UTF-8 at byte {}{}: 0x{:02x}{}", source, at, in_line(text, at),
           static_cast<unsigned char>(text[at]), conversion(text));
    }
    at += bytes;
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

std::string visible(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = decode(text.substr(at));
    if (point < 0) {
      result += "\xef\xbf\xbd";  // U+FFFD
    } else if (point < 0x20 || point == 0x7f) {
      result += "\xe2\x90";  // UTF-8 of U+2400 is e2 90 80
      result += static_cast<char>(0x80 + (point == 0x7f ? 0x21 : point));
    } else if ((point >= 0x80 && point < 0xa0) || holds(invisible, point)) {
      result += fmt::format("⟨U+{:04X}⟩", point);
    } else {
      result += text.substr(at, bytes);
    }
    at += bytes;
  }
  return result;
}

std::string excerpt(std::string_view text, int columns) {
  const std::size_t most = 16 * static_cast<std::size_t>(columns);  // enough bytes for that many columns
  std::size_t end = std::min(text.size(), most);
  while (end < text.size() && end > 0 && (text[end] & 0xc0) == 0x80) --end;  // at the start of a code point
  const std::string shown = visible(text.substr(0, end));
  std::size_t cut = 0;  // the last place where the text may end with "…" behind it
  int width = 0;
  Point before = 0;
  for (std::size_t at = 0; at < shown.size();) {
    const auto [point, bytes] = decode(std::string_view(shown).substr(at));
    const int own = holds(combining, point) ? 0 : holds(wide, point) ? 2 : 1;
    if (own > 0 && before != 0x200d && width < columns) cut = at;
    width += own;
    before = point;
    at += bytes;
  }
  if (width < columns) cut = shown.size();
  if (end == text.size() && width <= columns) return shown;
  return shown.substr(0, cut) + "…";
}

}  // namespace heed
