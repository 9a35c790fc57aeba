#include "train/config/config.h"
#include "train/config/keys.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

namespace heed {
namespace {

// Returns `text` in double quotes. Texts are free of control characters.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace

std::string written(const Key& key) {
  return std::visit(
      Overloaded{[](const Text& t) { return in_quotes(*t.value); }, [](const Choice& c) { return c.value(); },
                 [](const Flag& f) { return fmt::format("{}", f.value()); },
                 [](const auto& slot) { return fmt::format("{}", *slot.value); }},
      key.slot);
}

namespace {

// Writes each key on a line, and the name of each section before its keys. `comment` returns the text that follows a
// line.
template <class Comment>
std::string write_keys(Config config, Comment comment) {
  std::string text, section;
  for (const Key& key : keys(config)) {
    if (key.section() != section) {
      section = key.section();
      text += section + ":\n";
    }
    const std::string line = fmt::format("{}{}: {}", section.empty() ? "" : "  ", key.word(), written(key));
    text += line + comment(key, line) + "\n";
  }
  return text;
}

}  // namespace

std::string to_yaml(const Config& config) {
  std::string text = write_keys(config, [](const Key&, const std::string&) { return ""; });
  text += config.watched.empty() ? "probes: []\n" : "probes:\n";
  for (const WatchedSentence& sentence : config.watched) {
    text += fmt::format("  - text: {}\n", in_quotes(sentence.text));
    if (!sentence.query.empty()) text += fmt::format("    query: {}\n", in_quotes(sentence.query));
    if (!sentence.antecedent.empty()) text += fmt::format("    antecedent: {}\n", in_quotes(sentence.antecedent));
  }
  return text;
}

std::string config_help() {
  constexpr int columns = 80;
  constexpr int margin = 31;
  const auto comment = [=](const Key& key, const std::string& line) {
    constexpr std::size_t most = columns - margin - 2;
    std::vector<std::string> lines;
    for (std::string rest : {std::string(key.meaning), "(" + range(key) + ")"}) {
      if (!lines.empty() && lines.back().size() + 1 + rest.size() <= most) {
        lines.back() += " " + rest;
        continue;
      }
      while (!rest.empty()) {
        const std::size_t end = rest.size() <= most ? rest.size() : rest.rfind(' ', most);
        lines.push_back(rest.substr(0, end));
        rest.erase(0, end + (end < rest.size()));
      }
    }
    std::string text = fmt::format("{:{}}# {}", "", margin - line.size(), lines[0]);
    for (std::size_t i = 1; i < lines.size(); ++i) text += fmt::format("\n{:{}}# {}", "", margin, lines[i]);
    return text;
  };
  return write_keys(Config{}, comment) +
         fmt::format("{:{}}# watched sentences, {{text, query, antecedent}}\n", "probes: []", margin);
}

}  // namespace heed
