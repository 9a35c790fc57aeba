#include <heed/data/tokenize.h>
#include <heed/files/utf8.h>

#include <utf8proc.h>

#include <algorithm>

namespace heed {
namespace {

bool is_space(const Grapheme& g) {
  switch (utf8proc_category(g.first)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
      return true;
    default:
      return false;
  }
}

bool is_mark(const Grapheme& g) {  // punctuation or a symbol
  const auto category = utf8proc_category(g.first);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO;
}

bool is_letter(const Grapheme& g) { return !is_space(g) && !is_mark(g); }

bool joins_letters(const Grapheme& g) {
  static constexpr std::string_view joiners[] = {"'", "’", "-", "‐", "‑"};
  return std::find(std::begin(joiners), std::end(joiners), g.text) != std::end(joiners);
}

bool is_ascii_alphanumeric(const Grapheme& g) {
  const char x = g.text[0];
  return g.text.size() == 1 && ((x >= '0' && x <= '9') || (x >= 'A' && x <= 'Z') || (x >= 'a' && x <= 'z'));
}

}  // namespace

std::vector<std::string> tokenize(std::string_view text, Split split) {
  const std::vector<Grapheme> all = graphemes(checked_utf8(text, "text"));
  std::vector<std::string> tokens;
  bool open = false;  // the last token may grow
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool grows;  // this character belongs to a longer token
    if (split == Split::characters) {
      grows = is_ascii_alphanumeric(all[i]);
    } else {
      const bool inside = open && i + 1 < all.size() && is_letter(all[i + 1]);
      grows = is_letter(all[i]) || (inside && joins_letters(all[i]));
    }
    if (is_space(all[i])) {
      grows = false;
    } else if (grows && open) {
      tokens.back() += all[i].text;
    } else {
      tokens.emplace_back(all[i].text);
    }
    open = grows;
  }
  return tokens;
}

}  // namespace heed
