#include "data/tokenizers/pipeline/charsmap.h"
#include "data/tokenizers/pipeline/regex.h"
#include "data/tokenizers/pipeline/replacement.h"
#include "data/tokenizers/pipeline/steps.h"
#include "data/tokenizers/pipeline/unicode.h"

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
    for (const Normalizer& normalizer : all) result = normalizer(result);
    return result;
  };
}

struct Decomposed {
  std::int32_t point;
  Origin origin;
};

void append_decomposition(std::vector<Decomposed>& result, std::int32_t point, Origin origin,
                          utf8proc_option_t options) {
  utf8proc_int32_t points[32];
  int state = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(point, points, 32, options, &state);
  if (count <= 0 || count > 32 || !has_decomposition(point)) {
    result.push_back({point, origin});
  } else {
    for (utf8proc_ssize_t i = 0; i < count; ++i) result.push_back({points[i], origin});
  }
}

// One of the four normal forms of a grapheme cluster, across whose ends nothing is reordered or composed.
void append_normal_form(AlignedText& result, const AlignedText& text, std::size_t begin, std::size_t end,
                        bool compatible, bool composed) {
  const auto decomposition =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<Decomposed> all;
  each_code_point(std::string_view(text.bytes).substr(begin, end - begin),
                  [&](std::int32_t point, std::size_t at, std::size_t) {
                    append_decomposition(all, point, text.origins[begin + at], decomposition);
                  });
  for (auto from = all.begin(); from != all.end();) {  // marks in the order of their classes
    const auto is_starter = [](const Decomposed& c) { return combining_class(c.point) == 0; };
    from = std::find_if_not(from, all.end(), is_starter);
    const auto to = std::find_if(from, all.end(), is_starter);
    std::stable_sort(from, to, [](const Decomposed& a, const Decomposed& b) {
      return combining_class(a.point) < combining_class(b.point);
    });
    from = to;
  }
  if (!composed) {
    for (const Decomposed& c : all) result.append(utf8(c.point), c.origin);
    return;
  }
  std::vector<utf8proc_int32_t> points;
  for (const Decomposed& c : all) points.push_back(c.point);
  const utf8proc_ssize_t count = utf8proc_normalize_utf32(
      points.data(), std::ssize(points), static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    result.append(utf8(points[static_cast<std::size_t>(i)]), text.origin_of(begin, end));
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

Normalizer normal_form(bool compatible, bool composed) {
  return [compatible, composed](const AlignedText& text) {
    AlignedText result;
    each_grapheme(text.bytes, [&](std::size_t begin, std::size_t end) {
      const bool is_ascii = end == begin + 1;
      if (is_ascii) {
        result.append(text, begin, end);
      } else {
        append_normal_form(result, text, begin, end, compatible, composed);
      }
    });
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
    const std::string_view bytes = text.bytes;
    each_grapheme(bytes, [&](std::size_t begin, std::size_t end) {
      if (end - begin <= longest_cluster) {
        if (const auto replacement = table.find(bytes.substr(begin, end - begin))) {
          result.append(*replacement, text.origin_of(begin, end));
          return;
        }
      }
      each_code_point(bytes.substr(begin, end - begin), [&](std::int32_t, std::size_t from, std::size_t to) {
        const auto replacement = table.find(bytes.substr(begin + from, to - from));
        if (replacement) result.append(*replacement, text.origin_of(begin + from, begin + to));
        if (!replacement) result.append(text, begin + from, begin + to);
      });
    });
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
