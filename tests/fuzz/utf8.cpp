// Text is rejected, or split completely into characters and tokens, and made safe for a terminal.
#include "tests/fuzz/fuzz.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>
#include <heed/tokenizers/tokenize.h>

using namespace heed;

void heed::fuzz::utf8(std::string_view text) {
  for (const std::string& shown : {visible(text), excerpt(text), fit_width(text, 7)}) checked_utf8(shown, "shown");
  fuzz::demand(display_width(excerpt(text, 9)) <= 9, "an excerpt is at most as wide as requested");
  fuzz::accepts([&] {
    const std::string_view whole = checked_utf8(text, "f");
    std::string joined;
    int width = 0;
    for (const Grapheme& g : graphemes(whole)) {
      joined += g.text;
      width += g.width;
    }
    fuzz::demand(joined == whole, "the characters add up to the text");
    fuzz::demand(width == display_width(whole), "the widths of the characters add up to that of the text");
    fuzz::demand(display_width(fit_width(whole, 5)) == 5, "fit_width() gives the requested width");
    for (const Split split : {Split::words, Split::characters}) {
      for (const std::string& token : tokenize(whole, split)) {
        fuzz::demand(!token.empty() && whole.find(token) != whole.npos, "a token is a part of the text");
      }
    }
  });
}
