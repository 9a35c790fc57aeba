#include <heed/data/tasks/published.h>
#include <heed/files/text_file.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace heed {
namespace {

constexpr std::size_t fields_a_line = 11;

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

// Returns the byte span of `word` at code point `offset` of the text.
MarkedText::Place place_at(const std::string& text, const std::string& word, const std::string& offset) {
  std::size_t points = 0, begin = 0;
  const auto [end, error] = std::from_chars(offset.data(), offset.data() + offset.size(), points);
  if (error != std::errc() || end != offset.data() + offset.size()) {
    fail("expected the offset of '{}', got '{}'", excerpt(word), excerpt(offset));
  }
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

bool truth(const std::string& text) {
  if (text != "TRUE" && text != "FALSE") fail("expected TRUE or FALSE, got '{}'", excerpt(text));
  return text == "TRUE";
}

std::string gender(std::string pronoun) {
  for (char& c : pronoun) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  static const std::array<std::string_view, 4> masculine{"he", "him", "his", "himself"};
  static const std::array<std::string_view, 4> feminine{"she", "her", "hers", "herself"};
  if (std::ranges::find(masculine, pronoun) != masculine.end()) return "masculine";
  if (std::ranges::find(feminine, pronoun) != feminine.end()) return "feminine";
  fail("expected a pronoun of he or she, got '{}'", excerpt(pronoun));
}

MarkedText names_of_line(const std::vector<std::string>& fields) {
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
    const std::vector<std::string> fields = fields_of(file.lines()[i]);
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
