#include "files/internal/ascii.h"

#include <heed/files/text_file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/published.h>

#include <algorithm>
#include <array>

namespace heed {
namespace {

constexpr std::size_t fields_a_line = 11;

// Returns the byte span of `word` at code point `offset` of the text.
MarkedText::Place place_at(const std::string& text, std::string_view word, std::string_view offset) {
  const auto number = parse_number<std::size_t>(offset);
  if (!number) fail("expected the offset of '{}', got '{}'", excerpt(word), excerpt(offset));
  std::size_t points = *number, begin = 0;
  for (; begin < text.size() && points > 0; --points) {
    do ++begin;
    while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80);
  }
  if (word.empty() || text.compare(begin, word.size(), word) != 0) {
    fail("expected '{}' at offset {} of the text, got '{}'", excerpt(word), offset,
         excerpt(text.substr(std::min(begin, text.size()), word.size())));
  }
  return {begin, begin + word.size()};
}

bool truth(std::string_view text) {
  if (text != "TRUE" && text != "FALSE") fail("expected TRUE or FALSE, got '{}'", excerpt(text));
  return text == "TRUE";
}

std::string gender(std::string_view written) {
  const std::string pronoun = lower_case(written);
  static const std::array<std::string_view, 4> masculine{"he", "him", "his", "himself"};
  static const std::array<std::string_view, 4> feminine{"she", "her", "hers", "herself"};
  if (std::ranges::find(masculine, pronoun) != masculine.end()) return "masculine";
  if (std::ranges::find(feminine, pronoun) != feminine.end()) return "feminine";
  fail("expected a form of he or she, got '{}'", excerpt(pronoun));
}

MarkedText names_of_line(const std::vector<std::string_view>& fields) {
  MarkedText names;
  names.text = fields[1];
  names.query = place_at(names.text, fields[2], fields[3]);
  names.candidates = {place_at(names.text, fields[4], fields[5]), place_at(names.text, fields[7], fields[8])};
  const bool is_A = truth(fields[6]), is_B = truth(fields[9]);
  if (is_A && is_B) fail("both names are TRUE; expected one at most");
  names.chosen = is_A ? 0 : is_B ? 1 : -1;
  names.relation = gender(fields[2]);
  return names;
}

}  // namespace

std::vector<MarkedText> read_gap(const std::filesystem::path& path) {
  TextFile file(path);
  std::vector<MarkedText> result;
  for (std::size_t i = 1; i < file.lines().size(); ++i) {
    if (file.lines()[i].empty()) continue;
    const std::vector<std::string_view> fields = split_at(file.lines()[i], '\t');
    if (fields.size() != fields_a_line) {
      file.mistake(i + 1, "expected {} fields separated by tabs, got {}", fields_a_line, fields.size());
      continue;
    }
    try {
      result.push_back(names_of_line(fields));
      result.back().source = file.at(i + 1);
    } catch (const Error& error) {
      file.mistake(i + 1, "{}", error.what());
    }
  }
  file.finish();
  return result;
}

}  // namespace heed
