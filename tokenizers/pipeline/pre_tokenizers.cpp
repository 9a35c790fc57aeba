#include "tokenizers/pipeline/metaspace.h"
#include "tokenizers/pipeline/regex.h"
#include "tokenizers/pipeline/replacement.h"
#include "tokenizers/pipeline/steps.h"
#include "tokenizers/pipeline/unicode.h"

#include <algorithm>

namespace heed::tokenizers {
namespace {

enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

Behavior behavior_named(const Part& part, const std::string& name) {
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  part.wrong("unknown behavior '{}'", excerpt(name));
}

// A stretch of a piece: a match of the pattern, or the text between two matches.
struct Stretch {
  std::size_t begin, end;
  bool is_match;
};
using Stretches = std::vector<Stretch>;
using Pattern = std::function<Stretches(std::string_view)>;

Pattern of_regex(Regex regex) {
  return [regex = std::move(regex)](std::string_view text) {
    Stretches result;
    std::size_t at = 0;
    for (const Regex::Match& match : regex.matches(text)) {
      if (at != match.begin) result.push_back({at, match.begin, false});
      result.push_back({match.begin, match.end, true});
      at = match.end;
    }
    if (at != text.size()) result.push_back({at, text.size(), false});
    return result;
  };
}

template <class F>
Pattern of_code_points(F is_match) {
  return [is_match](std::string_view text) {
    Stretches result;
    std::size_t at = 0;
    each_code_point(text, [&](std::int32_t point, std::size_t begin, std::size_t end) {
      if (!is_match(point)) return;
      if (at != begin) result.push_back({at, begin, false});
      result.push_back({begin, end, true});
      at = end;
    });
    if (at != text.size()) result.push_back({at, text.size(), false});
    return result;
  };
}

Pattern inverted(Pattern pattern) {
  return [pattern = std::move(pattern)](std::string_view text) {
    Stretches result = pattern(text);
    for (Stretch& stretch : result) stretch.is_match = !stretch.is_match;
    return result;
  };
}

// Joins each stretch for which joins(it is a match, the one before was) to the one before.
template <class F>
Stretches joined(const Stretches& stretches, F joins) {
  Stretches result;
  bool was_match = false;
  for (const Stretch& stretch : stretches) {
    if (joins(stretch.is_match, was_match) && !result.empty()) {
      result.back().begin = std::min(result.back().begin, stretch.begin);
      result.back().end = std::max(result.back().end, stretch.end);
    } else {
      result.push_back(stretch);
    }
    was_match = stretch.is_match;
  }
  return result;
}

Stretches divided(Stretches stretches, Behavior behavior) {
  const auto begins_match = [](bool is_match, bool was_match) { return is_match && !was_match; };
  switch (behavior) {
    case Behavior::removed:
      std::erase_if(stretches, [](const Stretch& stretch) { return stretch.is_match; });
      return stretches;
    case Behavior::isolated:
      return stretches;
    case Behavior::contiguous:
      return joined(stretches, [](bool is_match, bool was_match) { return is_match == was_match; });
    case Behavior::merged_with_previous:
      return joined(stretches, begins_match);
    case Behavior::merged_with_next: {
      std::ranges::reverse(stretches);
      Stretches result = joined(stretches, begins_match);
      std::ranges::reverse(result);
      return result;
    }
  }
  return stretches;
}

PreTokenizer split(Pattern pattern, Behavior behavior) {
  return [pattern = std::move(pattern), behavior](Pieces& pieces) {
    std::vector<Piece> result;
    for (const Piece& piece : pieces.pieces) {
      if (piece.id >= 0) {
        result.push_back(piece);
        continue;
      }
      const auto text = std::string_view(pieces.text.bytes).substr(piece.begin, piece.end - piece.begin);
      for (const Stretch& stretch : divided(pattern(text), behavior)) {
        if (stretch.begin != stretch.end) result.push_back({piece.begin + stretch.begin, piece.begin + stretch.end});
      }
    }
    pieces.pieces = std::move(result);
  };
}

// Copies added tokens as they are, and the other pieces by append(result, text, piece).
template <class F>
void rewrite(Pieces& pieces, F append) {
  Pieces result;
  result.text.bytes.reserve(pieces.text.bytes.size());
  result.text.origins.reserve(pieces.text.bytes.size());
  for (const Piece& piece : pieces.pieces) {
    const std::size_t begin = result.text.bytes.size();
    if (piece.id >= 0) result.text.append(pieces.text, piece.begin, piece.end);
    if (piece.id < 0) append(result.text, pieces.text, piece);
    result.pieces.push_back({begin, result.text.bytes.size(), piece.id});
  }
  pieces = std::move(result);
}

PreTokenizer in_turn(std::vector<PreTokenizer> all) {
  return [all = std::move(all)](Pieces& pieces) {
    for (const PreTokenizer& one : all) one(pieces);
  };
}

PreTokenizer byte_level_pre_tokenizer(const Part& part) {
  part.expect_keys({"add_prefix_space", "trim_offsets", "use_regex"});
  std::vector<PreTokenizer> all;
  if (part.flag("add_prefix_space")) {
    all.emplace_back([](Pieces& pieces) {
      rewrite(pieces, [](AlignedText& result, const AlignedText& text, const Piece& piece) {
        if (text.bytes[piece.begin] != ' ') result.append(" ", text.origins[piece.begin]);
        result.append(text, piece.begin, piece.end);
      });
    });
  }
  if (part.flag("use_regex", true)) {
    const Regex words(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
    all.push_back(split(of_regex(words), Behavior::isolated));
  }
  all.emplace_back([](Pieces& pieces) {
    rewrite(pieces, [](AlignedText& result, const AlignedText& text, const Piece& piece) {
      for (std::size_t i = piece.begin; i < piece.end; ++i) {
        result.append(utf8(code_point_of_byte(static_cast<unsigned char>(text.bytes[i]))), text.origins[i]);
      }
    });
  });
  return in_turn(std::move(all));
}

PreTokenizer metaspace_pre_tokenizer(const Part& part) {
  const Metaspace options = read_metaspace(part);
  const PreTokenizer divide = split(of_code_points([point = options.code_point](std::int32_t c) { return c == point; }),
                                    Behavior::merged_with_next);
  return [options, divide](Pieces& pieces) {
    rewrite(pieces, [&](AlignedText& result, const AlignedText& text, const Piece& piece) {
      const Origin first = text.origins[piece.begin];
      const std::string_view bytes = std::string_view(text.bytes).substr(piece.begin, piece.end - piece.begin);
      const bool begins_so = bytes[0] == ' ' || bytes.starts_with(options.replacement);
      const bool prepends =
          options.scheme == Metaspace::Scheme::always || (options.scheme == Metaspace::Scheme::first && first.is_first);
      if (prepends && !begins_so) result.append(options.replacement, first);
      for (std::size_t i = piece.begin; i < piece.end; ++i) {
        if (text.bytes[i] == ' ') result.append(options.replacement, text.origins[i]);
        if (text.bytes[i] != ' ') result.append(text, i, i + 1);
      }
    });
    if (options.split) divide(pieces);
  };
}

PreTokenizer split_at_pattern(const Part& part) {
  part.expect_keys({"pattern", "behavior", "invert"});
  Pattern pattern = of_regex(pattern_of(part));
  if (part.flag("invert", false)) pattern = inverted(std::move(pattern));
  return split(std::move(pattern), behavior_named(part, part.text("behavior")));
}

PreTokenizer digits(const Part& part) {
  part.expect_keys({"individual_digits"});
  return split(of_code_points(is_numeric), part.flag("individual_digits") ? Behavior::isolated : Behavior::contiguous);
}

PreTokenizer at_delimiter(const Part& part) {
  part.expect_keys({"delimiter"});
  const std::string delimiter = part.text("delimiter");
  if (count_code_points(delimiter) != 1)
    part.wrong("'delimiter': expected one character, got '{}'", excerpt(delimiter));
  std::size_t end = 0;
  const std::int32_t sought = next_code_point(delimiter, end);
  return split(of_code_points([sought](std::int32_t c) { return c == sought; }), Behavior::removed);
}

PreTokenizer whitespace() {
  constexpr const char* word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d})";
  constexpr const char* space =
      R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
  const Regex words(fmt::format("[{0}]+|[^{0}{1}]+", word, space), Regex::Syntax::pcre2);
  return split(inverted(of_regex(words)), Behavior::removed);
}

}  // namespace

PreTokenizer make_pre_tokenizer(const Part& part) {
  const std::string type = part.type();
  if (type == "Sequence") {
    part.expect_keys({"pretokenizers"});
    std::vector<PreTokenizer> all;
    for (const Part& one : part.parts("pretokenizers")) all.push_back(make_pre_tokenizer(one));
    return in_turn(std::move(all));
  }
  if (type == "ByteLevel") return byte_level_pre_tokenizer(part);
  if (type == "Metaspace") return metaspace_pre_tokenizer(part);
  if (type == "Split") return split_at_pattern(part);
  if (type == "Digits") return digits(part);
  if (type == "CharDelimiterSplit") return at_delimiter(part);
  if (type == "Punctuation") {
    part.expect_keys({"behavior"});
    return split(of_code_points(is_punctuation), behavior_named(part, part.text("behavior", "Isolated")));
  }
  if (type == "Whitespace" || type == "WhitespaceSplit" || type == "BertPreTokenizer") {
    part.expect_keys({});
    if (type == "Whitespace") return whitespace();
    const PreTokenizer at_white_space = split(of_code_points(is_white_space), Behavior::removed);
    if (type == "WhitespaceSplit") return at_white_space;
    return in_turn({at_white_space, split(of_code_points(is_punctuation), Behavior::isolated)});
  }
  part.wrong("unknown type '{}'", excerpt(type));
}

}  // namespace heed::tokenizers
