#include "files/internal/ascii.h"

#include <heed/files/text_file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/published.h>

#include <algorithm>
#include <array>
#include <set>

namespace heed {
namespace {

using Place = MarkedText::Place;

constexpr std::array<std::string_view, 8> pronouns{"he", "she", "him", "her", "his", "hers", "himself", "herself"};
constexpr std::array<std::string_view, 3> articles{"the ", "a ", "an "};

std::string lower_trimmed(std::string_view text) { return lower_case(without_spaces(text)); }

// "the developer" -> "developer"
std::string without_article(const std::string& name) {
  for (const std::string_view article : articles) {
    if (name.starts_with(article)) return lower_trimmed(std::string_view(name).substr(article.size()));
  }
  return name;
}

// The article before a name belongs to it.
Place with_article(const std::string& text, Place name) {
  for (const std::string_view article : articles) {
    if (name.begin < article.size()) continue;
    const std::size_t begin = name.begin - article.size();
    if (find_word(text.substr(begin, article.size() - 1), article.substr(0, article.size() - 1)).end > 0 &&
        text[name.begin - 1] == ' ' && (begin == 0 || text[begin - 1] == ' ')) {
      return {begin, name.end};
    }
  }
  return name;
}

// Parses a line; its only candidate is the antecedent, its query the pronoun.
MarkedText marked_line(std::string_view line) {
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  if (digits == 0 || !line.substr(digits).starts_with(' ')) fail("expected a number and a sentence");
  MarkedText marked = without_brackets(line.substr(digits + 1));
  const std::vector<Place> places = std::move(marked.candidates);
  marked.candidates.clear();
  for (const Place& place : places) {
    const std::string words = lower_trimmed(marked.words(place));
    const bool is_pronoun = std::ranges::find(pronouns, words) != pronouns.end();
    if (is_pronoun && marked.query.end == 0) marked.query = place;
    if (!is_pronoun) marked.candidates.push_back(place);
  }
  if (marked.candidates.size() != 1 || marked.query.end == 0) {
    fail("expected brackets around the antecedent and around a pronoun, got {} and {}", marked.candidates.size(),
         places.size() - marked.candidates.size());
  }
  marked.chosen = 0;
  return marked;
}

std::string name_in(const MarkedText& marked) {
  return without_article(lower_trimmed(marked.words(marked.candidates[0])));
}

// Returns the first of the file's names in the sentence, except the antecedent.
void add_other(MarkedText& marked, const std::set<std::string>& names) {
  const Place meant = marked.candidates[0];
  const std::string own = name_in(marked);
  Place other{std::string::npos, 0};
  for (const std::string& name : names) {
    for (Place place = find_word(marked.text, name); place.end > 0; place = find_word(marked.text, name, place.end)) {
      const bool is_apart = place.end <= meant.begin || place.begin >= meant.end;
      if (name != own && is_apart && place.begin < other.begin) other = place;
    }
  }
  if (other.end == 0) fail("found no distractor; expected a second person that other lines mark");
  other = with_article(marked.text, other);
  marked.chosen = other.begin < meant.begin;
  marked.candidates.insert(marked.candidates.begin() + !marked.chosen, other);
}

}  // namespace

std::vector<MarkedText> read_winobias(const std::filesystem::path& path) {
  TextFile file(path);
  std::vector<MarkedText> result;
  std::vector<std::size_t> lines;
  std::set<std::string> names;
  const std::string file_name = path.filename().string();
  const char* relation = file_name.starts_with("pro") ? "pro" : file_name.starts_with("anti") ? "anti" : "";
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    if (file.lines()[i].find_first_not_of(" \t") == std::string_view::npos) continue;
    try {
      result.push_back(marked_line(file.lines()[i]));
      result.back().relation = relation;
      result.back().source = file.at(i + 1);
      lines.push_back(i + 1);
      names.insert(name_in(result.back()));
    } catch (const Error& error) {
      file.mistake(i + 1, "{}", error.what());
    }
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    try {
      add_other(result[i], names);
    } catch (const Error& error) {
      file.mistake(lines[i], "{}", error.what());
    }
  }
  file.finish();
  pair_adjacent(result);
  return result;
}

}  // namespace heed
