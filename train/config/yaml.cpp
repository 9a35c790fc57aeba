#include "train/config/yaml.h"

#include <heed/autograd/error.h>

#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

namespace heed {
namespace {

constexpr std::size_t deepest = 8;
constexpr std::size_t max_bytes = 1 << 16;
constexpr std::size_t max_listed = 50;

std::ptrdiff_t line_of(std::string_view text, std::size_t place) {
  return 1 + std::ranges::count(text.substr(0, place), '\n');
}

// "12:5": line and column, in characters, from 1.
std::string line_and_column(std::string_view text, std::size_t place) {
  const std::string_view before = text.substr(0, place);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto is_character_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return fmt::format("{}:{}", line_of(text, place),
                     1 + std::ranges::count_if(before.substr(line_start), is_character_start));
}

// Returns whether the quoted text that begins at `place` is closed. yaml-cpp accepts the end of the file as a closing
// quote.
bool is_closed(std::string_view text, std::size_t place) {
  const char quote = text[place];
  for (std::size_t i = place + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      const bool is_doubled = quote == '\'' && text.substr(i + 1).starts_with(quote);
      if (!is_doubled) return true;
      ++i;
    }
  }
  return quote != '"' && quote != '\'';
}

class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, std::vector<Mistake>& mistakes) : text_(text), mistakes_(mistakes) {}

  Yaml root;

  void OnNull(const YAML::Mark& found, YAML::anchor_t anchor) override {
    // yaml-cpp reports the place of the next token, which may be lines away.
    const std::size_t place = text_.substr(0, at(found)).find_last_not_of(" \t\r\n") + 1;
    add(checked({.kind = Yaml::nothing, .place = place}, "?", anchor));
  }
  void OnAlias(const YAML::Mark& found, YAML::anchor_t) override {
    mistakes_.push_back({at(found), "aliases ('*') are not accepted", ""});
    add({.kind = Yaml::refused, .place = at(found)});
  }
  void OnScalar(const YAML::Mark& found, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag == "!" && !is_closed(text_, at(found)))
      throw YAML::ParserException(found, "the quote that opens here is not closed");
    add(checked({.kind = Yaml::scalar, .place = at(found), .text = value, .quoted = tag == "!"}, tag, anchor));
  }
  void OnSequenceStart(const YAML::Mark& found, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open({.kind = Yaml::sequence, .place = at(found)}, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& found, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open({.kind = Yaml::mapping, .place = at(found)}, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }
  void OnDocumentStart(const YAML::Mark& found) override {
    if (++documents_ > 1) throw YAML::ParserException(found, "expected one document, got another");
  }
  void OnDocumentEnd() override {}

 private:
  static std::size_t at(const YAML::Mark& found) { return found.is_null() ? 0 : static_cast<std::size_t>(found.pos); }

  // yaml-cpp's tags: "?" plain, "!" quoted, "" on collections; anything else was written by the user.
  Yaml checked(Yaml value, const std::string& tag, YAML::anchor_t anchor) {
    const bool tagged = !tag.empty() && tag != "?" && tag != "!";
    if (tagged) mistakes_.push_back({value.place, "tags ('!') are not accepted", ""});
    if (anchor != YAML::NullAnchor) mistakes_.push_back({value.place, "anchors ('&') are not accepted", ""});
    if (tagged || anchor != YAML::NullAnchor) value.kind = Yaml::refused;
    return value;
  }

  void open(Yaml value, const std::string& tag, YAML::anchor_t anchor) {
    if (open_.size() == deepest) {
      throw YAML::ParserException(position(value.place), fmt::format("nested deeper than {}", deepest));
    }
    const Yaml::Kind kind = value.kind;
    value = checked(std::move(value), tag, anchor);
    open_.push_back({kind, std::move(value)});
  }

  void close() {
    Yaml value = std::move(open_.back().value);
    open_.pop_back();
    add(std::move(value));
  }

  void add(Yaml value) {
    if (open_.empty()) {
      root = std::move(value);
      return;
    }
    auto& [kind, parent] = open_.back();
    const bool is_key = kind == Yaml::mapping && parent.keys.size() == parent.items.size();
    if (is_key && value.kind != Yaml::scalar && value.kind != Yaml::refused) {
      mistakes_.push_back({value.place, "a key must be a word", ""});
      value.kind = Yaml::refused;
    }
    (is_key ? parent.keys : parent.items).push_back(std::move(value));
    if (kind == Yaml::mapping && !is_key) drop_duplicate(parent);
  }

  void drop_duplicate(Yaml& parent) {
    const Yaml& key = parent.keys.back();
    const auto first = std::ranges::find(parent.keys, key.text, &Yaml::text);
    if (key.kind == Yaml::scalar && &*first == &key) return;
    if (key.kind == Yaml::scalar) {
      const std::ptrdiff_t line = line_of(text_, first->place);
      mistakes_.push_back({key.place, fmt::format("duplicate key '{}': first given on line {}", key.text, line), ""});
    }
    parent.keys.pop_back();
    parent.items.pop_back();
  }

  static YAML::Mark position(std::size_t place) {
    YAML::Mark found;
    found.pos = static_cast<int>(place);
    return found;
  }

  struct Open {
    Yaml::Kind kind;  // the value's own, also when it is refused
    Yaml value;
  };
  std::string_view text_;
  std::vector<Mistake>& mistakes_;
  std::vector<Open> open_;
  int documents_ = 0;
};

}  // namespace

Yaml parse_yaml(std::string_view text, const std::string& source, std::vector<Mistake>& mistakes) {
  const auto fail_at = [&](std::size_t place, std::string_view message) {
    fail("{}:{}: {}", source, line_and_column(text, place), message);
  };
  if (text.size() > max_bytes)
    fail("{}: {} bytes, expected at most {}: is it a configuration?", source, text.size(), max_bytes);
  // YAML forbids control characters, and yaml-cpp would stop at a 0x04 without an error.
  const auto control = std::ranges::find_if(
      text, [](char c) { return (c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == '\x7f'; });
  if (control != text.end()) {
    fail_at(control - text.begin(), fmt::format("control character 0x{:02x} in the text", *control));
  }

  Builder builder(text, mistakes);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const bool is_layout = error.msg.find("not found") != error.msg.npos || error.msg.find("illegal") != error.msg.npos;
    const char* hint = is_layout ? "; check this line and those above it: a colon and a space behind each key, equal "
                                   "indentation with spaces (no tabs), closed quotes"
                                 : "";
    fail_at(error.mark.is_null() ? 0 : static_cast<std::size_t>(error.mark.pos), error.msg + hint);
  }
  return std::move(builder.root);
}

void fail_with(std::vector<Mistake> mistakes, std::string_view text, const std::string& source) {
  if (mistakes.empty()) return;
  std::ranges::stable_sort(mistakes, {}, [](const Mistake& m) { return std::pair(!m.origin.empty(), m.place); });
  std::vector<std::string> lines;
  for (const Mistake& m : mistakes) {
    if (lines.size() == max_listed) {
      lines.push_back(fmt::format("... and {} more", mistakes.size() - max_listed));
      break;
    }
    const std::string where =
        m.origin.empty() ? fmt::format("{}:{}", source, line_and_column(text, m.place)) : m.origin;
    lines.push_back(fmt::format("{}: {}", where, m.message));
  }
  fail("{}", fmt::join(lines, "\n"));
}

}  // namespace heed
