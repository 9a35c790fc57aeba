#include "tokenizers/pipeline/charsmap.h"
#include "tokenizers/pipeline/regex.h"
#include "tokenizers/pipeline/replacement.h"
#include "tokenizers/pipeline/steps.h"
#include "tokenizers/pipeline/unicode.h"

#include <utf8proc.h>

#include <algorithm>

namespace heed::tokenizers {
namespace {

// A normalizer that calls f(result, code point, origin) for each code point.
template <class F>
Normalizer by_code_point(F f) {
  return [f](const AlignedText& text) {
    AlignedText result;
    each_code_point(text.bytes,
                    [&](std::int32_t point, std::size_t begin, std::size_t) { f(result, point, text.origins[begin]); });
    return result;
  };
}

template <class F>
Normalizer filter(F keep) {
  return by_code_point([keep](AlignedText& result, std::int32_t point, Origin origin) {
    if (keep(point)) result.append(utf8(point), origin);
  });
}

Normalizer in_sequence(std::vector<Normalizer> all) {
  return [all = std::move(all)](const AlignedText& text) {
    AlignedText result = text;
    for (const Normalizer& normalizer : all) {
      result = normalizer(result);
      result.begins_original = text.begins_original;
    }
    return result;
  };
}

// A code point of a changed text.
struct Changed {
  std::int32_t point;
  Origin origin;
  // Code points of the text that it takes the place of. The `tokenizers` package goes through the text in order: a code
  // point has the offset of the first that it takes, or shares that of the one before.
  std::size_t takes = 1;
};

// Appends what a text becomes from byte `begin` on.
class Changes {
 public:
  Changes(AlignedText& result, const AlignedText& text, std::size_t begin) : result_(result) {
    while (begin < text.bytes.size() && text.origins[begin].is_first) {
      next_code_point(text.bytes, begin);
      ++first_;
    }
  }
  void append(const Changed& next) {
    finish();
    last_ = next;
  }
  // Lets the last code point take more; at the beginning nothing does.
  void take(std::size_t more) {
    if (last_) last_->takes += more;
  }
  void finish() {
    if (!last_) return;
    last_->origin.is_first = (last_->takes > 0 || taken_ == 0 ? taken_ : taken_ - 1) < first_;
    result_.append(utf8(last_->point), last_->origin);
    taken_ += last_->takes;
    last_.reset();
  }

 private:
  AlignedText& result_;
  std::size_t first_ = 0, taken_ = 0;  // code points of the text: those with the offset 0, and those taken
  std::optional<Changed> last_;
};

void append_decomposition(std::vector<Changed>& result, std::int32_t point, Origin origin, utf8proc_option_t options) {
  utf8proc_int32_t points[32];
  int state = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(point, points, 32, options, &state);
  if (count <= 0 || count > 32 || !has_decomposition(point)) {
    result.push_back({point, origin});
  } else {
    for (utf8proc_ssize_t i = 0; i < count; ++i) result.push_back({points[i], origin, i == 0 ? 1U : 0U});
  }
}

// Returns the one code point that two become in a composed form; -1 without one.
std::int32_t composition(std::int32_t left, std::int32_t right) {
  constexpr std::int32_t before_finals = 0x11a7;  // no final consonant of Hangul, but utf8proc takes it for one
  if (right == before_finals) return -1;
  utf8proc_int32_t points[] = {left, right};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  return utf8proc_normalize_utf32(points, 2, options) == 1 && has_decomposition(points[0]) ? points[0] : -1;
}

// Joins each code point to the starter before it where the two have a composition and no mark between blocks it.
std::vector<Changed> composed_of(const std::vector<Changed>& all) {
  std::vector<Changed> result;
  std::optional<std::size_t> starter;  // index
  int last_class = -1;                 // of the mark behind the starter; -1: nothing is between
  for (const Changed& c : all) {
    const int its_class = combining_class(c.point);
    const std::int32_t joined = starter && last_class < its_class ? composition(result[*starter].point, c.point) : -1;
    if (joined >= 0) {
      result[*starter].point = joined;
      result[*starter].takes += c.takes;
      result[*starter].origin.end = c.origin.end;
      continue;
    }
    if (its_class == 0) starter = result.size();
    last_class = its_class == 0 ? -1 : its_class;
    result.push_back(c);
  }
  return result;
}

// Appends the normal form of `all`, the decomposition of a part of the text that begins at byte `begin`.
void append_normal_form(AlignedText& result, const AlignedText& text, std::size_t begin, std::vector<Changed> all,
                        bool composed) {
  for (auto from = all.begin(); from != all.end();) {  // marks in the order of their classes
    const auto is_starter = [](const Changed& c) { return combining_class(c.point) == 0; };
    from = std::find_if_not(from, all.end(), is_starter);
    const auto to = std::find_if(from, all.end(), is_starter);
    std::stable_sort(from, to, [](const Changed& a, const Changed& b) {
      return combining_class(a.point) < combining_class(b.point);
    });
    from = to;
  }
  if (composed) all = composed_of(all);
  Changes changes(result, text, begin);
  for (const Changed& c : all) changes.append(c);
  changes.finish();
}

// Calls f(begin, end) for each grapheme cluster.
template <class F>
void each_grapheme(std::string_view text, F f) {
  utf8proc_int32_t previous = -1, state = 0;
  std::size_t first = 0;
  each_code_point(text, [&](std::int32_t point, std::size_t begin, std::size_t) {
    if (previous >= 0 && utf8proc_grapheme_break_stateful(previous, point, &state)) {
      f(first, begin);
      first = begin;
      state = 0;
    }
    previous = point;
  });
  if (first < text.size()) f(first, text.size());
}

// Returns whether NFKC may compose this letter of Hangul with the letter before it, although it begins a grapheme cluster.
bool may_join_hangul(std::int32_t point) {
  return (point >= 0x3131 && point <= 0x318e) || (point >= 0xffa1 && point <= 0xffdc);
}

// One of the four normal forms. Nothing is reordered across the ends of grapheme clusters.
Normalizer normal_form(bool compatible, bool composed) {
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  return [=](const AlignedText& text) {
    AlignedText result;
    std::vector<Changed> all;  // of the bytes from `first` on, to be appended together
    std::size_t first = 0;
    const auto append = [&] {
      if (all.empty()) return;
      append_normal_form(result, text, first, std::move(all), composed);
      all.clear();
    };
    each_grapheme(text.bytes, [&](std::size_t begin, std::size_t end) {
      const bool is_ascii = end == begin + 1;
      std::size_t next = begin;
      const bool joins = composed && compatible && may_join_hangul(next_code_point(text.bytes, next));
      if (!joins || all.empty()) {
        append();
        first = begin;
      }
      if (is_ascii) return result.append(text, begin, end);
      each_code_point(std::string_view(text.bytes).substr(begin, end - begin),
                      [&](std::int32_t point, std::size_t at, std::size_t) {
                        const Origin origin = composed ? text.origin_of(begin, end) : text.origins[begin + at];
                        append_decomposition(all, point, origin, options);
                      });
    });
    append();
    return result;
  };
}

Normalizer lowercase() {
  return by_code_point(
      [](AlignedText& result, std::int32_t point, Origin origin) { result.append(lower(point), origin); });
}

bool is_chinese(std::int32_t c) {  // without the extensions after E, as BERT's authors wrote it
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

Normalizer bert(const Part& part) {
  part.expect_keys({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  std::vector<Normalizer> all;
  if (part.flag("clean_text")) {
    all.push_back(by_code_point([](AlignedText& result, std::int32_t c, Origin origin) {
      if (c == 0 || c == 0xfffd || is_control(c)) return;
      const std::string text = is_white_space(c) ? std::string(" ") : utf8(c);
      result.append(text, origin);
    }));
  }
  if (part.flag("handle_chinese_chars")) {
    all.push_back(by_code_point([](AlignedText& result, std::int32_t c, Origin origin) {
      const std::string text = utf8(c);
      result.append(is_chinese(c) ? fmt::format(" {} ", text) : text, origin);
    }));
  }
  const bool is_lowercase = part.flag("lowercase");
  if (part.given_flag("strip_accents").value_or(is_lowercase)) {
    all.push_back(normal_form(false, false));
    all.push_back(filter([](std::int32_t c) { return !is_nonspacing_mark(c); }));
  }
  if (is_lowercase) all.push_back(lowercase());
  return in_sequence(std::move(all));
}

Normalizer strip_normalizer(const Part& part) {
  part.expect_keys({"strip_left", "strip_right"});
  return [left = part.flag("strip_left"), right = part.flag("strip_right")](const AlignedText& text) {
    std::size_t begin = text.bytes.size(), end = 0;
    each_code_point(text.bytes, [&](std::int32_t point, std::size_t from, std::size_t to) {
      if (is_white_space(point)) return;
      begin = std::min(begin, from);
      end = to;
    });
    if (end == 0) return left || right ? AlignedText{} : text;
    return text.slice(left ? begin : 0, right ? end : text.bytes.size());
  };
}

// As the lines of the table in SentencePiece's builder say.
Normalizer nmt() {
  return by_code_point([](AlignedText& result, std::int32_t c, Origin origin) {
    const bool is_removed =
        (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
    const bool is_space = c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) ||
                          c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
    if (!is_removed) result.append(is_space ? " " : utf8(c), origin);
  });
}

Normalizer precompiled(const Part& part) {
  part.expect_keys({"precompiled_charsmap"});
  constexpr std::size_t longest_cluster = 5;  // bytes of one that is replaced whole
  std::optional<Charsmap> table;
  try {
    table.emplace(from_base64(part.text("precompiled_charsmap")));
  } catch (const Error& error) {
    part.wrong("'precompiled_charsmap': {}", error.what());
  }
  return [table = *table](const AlignedText& text) {
    AlignedText result;
    Changes changes(result, text, 0);
    const std::string_view bytes = text.bytes;
    const auto replace = [&](std::size_t begin, std::size_t end, std::string_view replacement) {
      std::size_t left = count_code_points(bytes.substr(begin, end - begin));
      each_code_point(replacement, [&](std::int32_t point, std::size_t, std::size_t) {
        const std::size_t takes = std::min<std::size_t>(left, 1);
        changes.append({point, text.origin_of(begin, end), takes});
        left -= takes;
      });
      changes.take(left);
    };
    each_grapheme(bytes, [&](std::size_t begin, std::size_t end) {
      if (end - begin <= longest_cluster) {
        if (const auto replacement = table.find(bytes.substr(begin, end - begin))) {
          replace(begin, end, *replacement);
          return;
        }
      }
      each_code_point(bytes.substr(begin, end - begin), [&](std::int32_t point, std::size_t from, std::size_t to) {
        const auto replacement = table.find(bytes.substr(begin + from, to - from));
        if (replacement) replace(begin + from, begin + to, *replacement);
        if (!replacement) changes.append({point, text.origins[begin + from]});
      });
    });
    changes.finish();
    return result;
  };
}

Normalizer replace(const Part& part) {
  part.expect_keys({"pattern", "content"});
  return [replacement = Replacement(part)](const AlignedText& text) { return replacement(text); };
}

Normalizer prepend(const Part& part) {
  part.expect_keys({"prepend"});
  return [prefix = part.text("prepend")](const AlignedText& text) {
    if (text.bytes.empty()) return text;
    AlignedText result;
    result.append(prefix, text.origins[0]);
    result.append(text, 0, text.bytes.size());
    return result;
  };
}

Normalizer byte_level_normalizer() {
  return [](const AlignedText& text) {
    AlignedText result;
    for (std::size_t i = 0; i < text.bytes.size(); ++i) {
      result.append(utf8(code_point_of_byte(static_cast<unsigned char>(text.bytes[i]))), text.origins[i]);
    }
    return result;
  };
}

}  // namespace

Normalizer make_normalizer(const Part& part) {
  const std::string type = part.type();
  if (type == "Sequence") {
    part.expect_keys({"normalizers"});
    std::vector<Normalizer> all;
    for (const Part& one : part.parts("normalizers")) all.push_back(make_normalizer(one));
    return in_sequence(std::move(all));
  }
  if (type == "BertNormalizer") return bert(part);
  if (type == "Strip") return strip_normalizer(part);
  if (type == "Precompiled") return precompiled(part);
  if (type == "Replace") return replace(part);
  if (type == "Prepend") return prepend(part);
  const auto is_plain = [&](std::string_view name) {
    if (type == name) part.expect_keys({});
    return type == name;
  };
  if (is_plain("Lowercase")) return lowercase();
  if (is_plain("NFC")) return normal_form(false, true);
  if (is_plain("NFD")) return normal_form(false, false);
  if (is_plain("NFKC")) return normal_form(true, true);
  if (is_plain("NFKD")) return normal_form(true, false);
  if (is_plain("StripAccents")) return filter([](std::int32_t c) { return !is_mark(c); });
  if (is_plain("Nmt")) return nmt();
  if (is_plain("ByteLevel")) return byte_level_normalizer();
  part.wrong("unknown type '{}'", excerpt(type));
}

}  // namespace heed::tokenizers
