#include "tokenizers/internal/json.h"

#include <heed/files/text_file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/published.h>

#include <algorithm>
#include <map>

namespace heed {
namespace {

// Finds the option as a word of the sentence ("shirt", rather than in "t-shirt"), as the start of one, or anywhere.
MarkedText::Place place_of_option(const std::string& sentence, const std::string& option) {
  const auto is_part = [&](MarkedText::Place place) {
    return (place.begin > 0 && sentence[place.begin - 1] == '-') || sentence.substr(place.end, 1) == "-";
  };
  const MarkedText::Place first = find_word(sentence, option);
  for (MarkedText::Place place = first; place.end > 0; place = find_word(sentence, option, place.end)) {
    if (!is_part(place)) return place;
  }
  if (first.end > 0) return first;
  for (std::size_t begin = 0; begin < sentence.size(); ++begin) {
    if (begin > 0 && sentence[begin - 1] != ' ') continue;
    const std::size_t end = std::min(begin + option.size(), sentence.size());
    if (find_word(sentence.substr(begin, end - begin), option).end == option.size()) return {begin, end};
  }
  const std::size_t begin = sentence.find(option);
  if (option.empty() || begin == sentence.npos) fail("the option '{}' is not in the sentence", excerpt(option));
  return {begin, begin + option.size()};
}

MarkedText cloze_of(const Json& line) {
  const auto text = [&](const char* key) {
    if (!line.is_object() || !line.contains(key) || !line[key].is_string()) fail("expected a text as '{}'", key);
    return line[key].get<std::string>();
  };
  MarkedText cloze;
  cloze.text = text("sentence");
  const std::size_t blank = cloze.text.find('_');
  if (blank == std::string::npos || cloze.text.find('_', blank + 1) != std::string::npos) {
    fail("expected one blank '_' in the sentence '{}'", excerpt(cloze.text));
  }
  cloze.query = {blank, blank + 1};
  for (const char* option : {"option1", "option2"}) {
    cloze.candidates.push_back(place_of_option(cloze.text, text(option)));
  }
  if (cloze.candidates[0] == cloze.candidates[1]) fail("both options are the same word of the sentence");
  const std::string answer = text("answer");
  if (answer != "1" && answer != "2") fail("expected the answer \"1\" or \"2\", got \"{}\"", excerpt(answer));
  cloze.chosen = answer == "2";
  return cloze;
}

}  // namespace

std::vector<MarkedText> read_winogrande(const std::filesystem::path& path) {
  TextFile file(path);
  std::vector<MarkedText> clozes;
  std::map<std::string, int> waiting;  // by the qID that counterparts share
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    if (file.lines()[i].find_first_not_of(" \t") == std::string_view::npos) continue;
    try {
      const Json line = parse_json(file.lines()[i], 2);
      const int number = static_cast<int>(clozes.size());
      MarkedText cloze = cloze_of(line);
      if (line.contains("qID") && line["qID"].is_string()) {
        const std::string id = line["qID"].get<std::string>();
        const auto [counterpart, is_first] = waiting.try_emplace(id.substr(0, id.rfind('-')), number);
        if (!is_first && counterpart->second >= 0) {
          cloze.counterpart = counterpart->second;
          clozes[static_cast<std::size_t>(counterpart->second)].counterpart = number;
          counterpart->second = -1;
        }
      }
      cloze.source = file.at(i + 1);
      clozes.push_back(std::move(cloze));
    } catch (const std::exception& error) {
      file.mistake(i + 1, "{}", message_of(error));
    }
  }
  file.finish();
  return clozes;
}

}  // namespace heed
