#include "tokenizers/pipeline/replacement.h"

namespace heed::tokenizers {

Regex pattern_of(const Part& part) {
  const Part pattern = part.part("pattern");
  pattern.expect_keys({"String", "Regex"});
  const std::optional<std::string> literal = pattern.given_text("String");
  const std::string expression = literal ? "" : pattern.text("Regex");
  try {
    return literal ? Regex::literal(*literal) : Regex(expression);
  } catch (const Error& error) {
    part.wrong("{}", error.what());
  }
}

AlignedText Replacement::operator()(const AlignedText& text) const {
  AlignedText result;
  std::size_t at = 0;
  for (const Regex::Match& match : pattern_.matches(text.bytes)) {
    result.append(text, at, match.begin);
    const bool is_empty = match.begin == match.end;
    const std::uint32_t begin = text.origins[0].begin;
    const Origin in_front{begin, begin, text.begins_original};
    const Origin last = match.end > 0 ? text.origins[match.end - 1] : in_front;
    Origin origin = is_empty ? last : text.origin_of(match.begin, match.end);
    origin.is_first = last.is_first;
    result.append(content_, origin);
    at = match.end;
  }
  result.append(text, at, text.bytes.size());
  return result;
}

std::string Replacement::operator()(const std::string& text) const {
  std::string result;
  std::size_t at = 0;
  for (const Regex::Match& match : pattern_.matches(text)) {
    result.append(text, at, match.begin - at);
    result += content_;
    at = match.end;
  }
  return result.append(text, at);
}

}  // namespace heed::tokenizers
