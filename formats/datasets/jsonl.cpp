#include "tokenizers/internal/json.h"

#include <heed/data/overlap.h>
#include <heed/files/file.h>
#include <heed/files/text_file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/tokenizers/tokenize.h>

#include <algorithm>
#include <limits>

namespace heed {
namespace {

constexpr int deepest_line = 3;  // lists of words, numbers or spans in one object

std::string quoted(const Json& value) { return excerpt(format_json(value)); }

Json parse_object(std::string_view line) {
  const Json object = parse_json(line, deepest_line);
  if (!object.is_object()) fail("expected an object {{\"tokens\": ...}}, got {}", quoted(object));
  return object;
}

bool is_json(std::string_view line) {
  try {
    (void)parse_json(line, deepest_line);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Rejects a file that is one JSON value over several lines or one list, with one message instead of one per line.
void refuse_one_value(const TextFile& file) {
  std::string text;
  for (const std::string_view line : file.lines()) text.append(line).append("\n");
  const std::size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  if (first == text.npos) return;
  if (file.lines().size() == 1 && text.find('\r') < last) {
    fail("{}: its lines end in CR alone; expected LF or CR LF (tr '\\r' '\\n' converts it)", file.name());
  }
  const char* expected = "expected one object per line, without brackets around them or commas between them";
  if (text.find('{') == text.npos && text.substr(first, text.find('\n', first) - first).find(',') != text.npos) {
    fail("{}: looks like CSV; expected one JSON object per line (examples/convert.py of heed converts CSV)",
         file.name());
  }
  if (text.find('{') == text.npos && !is_json(text.substr(first, text.find('\n', first) - first))) {
    fail("{}: is a text without a JSON object; expected one object per line, with tokens and query: {}", file.name(),
         excerpt(text.substr(first)));
  }
  if (text[first] == '[' && text[last] == ']' && text.find('{') != text.npos) {
    fail("{}: this is one JSON array; {} (jq -c '.[]' converts it)", file.name(), expected);
  }
  if (text.find("\"corrupted\"") != text.npos && text.find("\"tokens\"") == text.npos) {
    fail(
        "{}: has pairs of texts, which inspect circuit, causes and why --answer read; expected sentences, with tokens "
        "and query",
        file.name());
  }
  if (text[first] == '{' && text.find_first_not_of(" \t", first + 1) == text.find('\n', first)) {
    fail("{}: an object spans several lines; {} (jq -c . converts it)", file.name(), expected);
  }
}

bool holds_space(const std::string& token) {
  std::size_t bytes = 0;  // without white space
  for (const std::string& part : tokenize(token, Split::words)) bytes += part.size();
  return bytes < token.size();
}

class LineReader {
 public:
  LineReader(TextFile& file, std::size_t line, const Json& object, Spaces spaces)
      : file_(file), line_(line), object_(object), spaces_(spaces) {}

  Example read() {
    static const std::vector<std::string> keys = {"tokens",  "query",    "antecedent", "answer",    "other",
                                                  "decider", "relation", "twin",       "sentences", "candidates"};
    for (const auto& [key, value] : object_.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        file_.mistake(line_, "unknown key '{}'{}", excerpt(key), did_you_mean(key, keys));
      }
    }
    Example example;
    if (!read_tokens(example.tokens)) return example;
    const int before = file_.mistakes();
    const int tokens = static_cast<int>(example.tokens.size());
    if (const Json* value = require("query")) example.query = number("query", *value, tokens);
    if (object_.contains("candidates")) {
      read_candidates(example);
      if (file_.mistakes() == before) read_rest(example);
      return example;
    }
    if (const Json* value = object_.contains("answer") ? optional("antecedent") : require("antecedent")) {
      example.antecedent = number("antecedent", *value, tokens);
    }
    if (const Json* value = optional("other")) example.distractor = number("other", *value, tokens);
    if (file_.mistakes() > before) return example;
    if (example.distractor == example.antecedent && example.antecedent >= 0) {
      file_.mistake(line_, "other: expected another token than the antecedent, got {} for both", example.antecedent);
    }
    if (example.distractor == example.query) {
      file_.mistake(line_, "other: expected another token than the query, got {} for both", example.query);
    }
    if (example.query == example.antecedent) {
      file_.mistake(line_, "antecedent: expected another token than the query, got {} for both", example.query);
    }
    if (const Json* value = optional("answer")) {
      example.answer = word("answer", *value);
    } else {
      example.answer = example.tokens[static_cast<std::size_t>(example.antecedent)];
    }
    read_rest(example);
    return example;
  }

 private:
  void read_rest(Example& example) {
    if (const Json* value = optional("decider")) example.cue = cue(*value, example.tokens);
    if (const Json* value = optional("relation")) example.relation = word("relation", *value);
    if (const Json* value = optional("twin"))
      example.counterpart = number("twin", *value, std::numeric_limits<int>::max());
    const int tokens = static_cast<int>(example.tokens.size());
    if (object_.contains("sentences")) read_sentences(example.sentences, tokens);
  }

  void read_candidates(Example& example) {
    for (const char* key : {"answer", "other"}) {
      if (object_.contains(key)) file_.mistake(line_, "{}: not allowed with candidates, which determine it", key);
    }
    const Json& list = object_["candidates"];
    const int tokens = static_cast<int>(example.tokens.size()), before = file_.mistakes();
    if (!list.is_array() || list.empty()) {
      return file_.mistake(line_, "candidates: expected a list of spans [begin, end], got {}", quoted(list));
    }
    if (list.size() > max_candidates) {
      return file_.mistake(line_, "candidates: expected at most {}, got {}", max_candidates, list.size());
    }
    const auto is_index = [](const Json& value) { return value.is_number_integer() && value >= 0; };
    for (const Json& span : list) {
      const bool is_span = span.is_array() && span.size() == 2 && is_index(span[0]) && is_index(span[1]);
      if (!is_span || span[0] >= span[1] || span[1] > tokens) {
        file_.mistake(line_, "candidates: expected [begin, end] with 0 <= begin < end <= {}, got {}", tokens,
                      quoted(span));
        continue;
      }
      const Span read{span[0].get<int>(), span[1].get<int>()};
      if (read.begin <= example.query && example.query < read.end) {
        file_.mistake(line_, "candidates: expected other tokens than the query, {}, got {}", example.query,
                      quoted(span));
      }
      if (std::ranges::find(example.candidates, read) != example.candidates.end()) {
        file_.mistake(line_, "candidates: expected each span once, got {} twice", quoted(span));
      }
      example.candidates.push_back(read);
    }
    const Json* meant = require("antecedent");
    if (!meant || file_.mistakes() > before) return;
    const int count = static_cast<int>(list.size());
    if (!meant->is_null() && !(is_index(*meant) && *meant < count)) {
      return file_.mistake(line_, "antecedent: expected the number of a candidate, from 0 to {}, or null, got {}",
                           count - 1, quoted(*meant));
    }
    choose(example, meant->is_null() ? -1 : meant->get<int>());
  }

  const Json* optional(const char* key) { return object_.contains(key) ? &object_[key] : nullptr; }

  const Json* require(const char* key) {
    if (const Json* value = optional(key)) return value;
    file_.mistake(line_, "missing key '{}'", key);
    return nullptr;
  }

  std::string word(const std::string& name, const Json& value) {
    if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value.get<std::string>();
    file_.mistake(line_, "{}: expected a word, got {}", name, quoted(value));
    return "";
  }

  std::string cue(const Json& value, const std::vector<std::string>& tokens) {
    const std::string given = word("decider", value);
    if (given.empty() || index_of(given, tokens) >= 0) return given;
    file_.mistake(line_, "decider: expected one of the tokens, got {}{}", quoted(value), did_you_mean(given, tokens));
    return "";
  }

  int number(const std::string& name, const Json& value, int count) {
    if (value.is_number_integer() && value >= 0 && value < count) return value.get<int>();
    file_.mistake(line_, "{}: expected a number from 0 to {}, got {}", name, count - 1, quoted(value));
    return 0;
  }

  bool read_tokens(std::vector<std::string>& tokens) {
    const Json* list = require("tokens");
    if (!list) return false;
    const std::size_t least = object_.contains("answer") && !object_.contains("antecedent") ? 1 : 2;  // what comes next
    if (!list->is_array() || list->size() < least) {
      file_.mistake(line_, "tokens: expected a list of at least {} word{}, got {}", least, least > 1 ? "s" : "",
                    quoted(*list));
      return false;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      tokens.push_back(word(fmt::format("tokens[{}]", i), (*list)[i]));
      if (spaces_ == Spaces::refused && holds_space(tokens.back()))
        file_.mistake(line_, "tokens[{}]: expected a word without white space, got {}", i, quoted((*list)[i]));
    }
    return true;
  }

  void read_sentences(std::vector<int>& sentences, int tokens) {
    const Json& list = object_["sentences"];
    if (!list.is_array() || list.size() != static_cast<std::size_t>(tokens)) {
      file_.mistake(line_, "sentences: expected a list of {} numbers, one per token, got {}", tokens, quoted(list));
      return;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      sentences.push_back(number(fmt::format("sentences[{}]", i), list[i], tokens));
    }
  }

  TextFile& file_;
  std::size_t line_;
  const Json& object_;
  Spaces spaces_;
};

// Checks that counterparts name each other and differ only in tokens.
void check_counterpart(TextFile& file, std::size_t line, const std::vector<Example>& examples, std::size_t i) {
  const Example& example = examples[i];
  if (example.counterpart < 0) return;
  const auto number = static_cast<std::size_t>(example.counterpart);
  if (number >= examples.size()) {
    return file.mistake(line, "twin: expected a number from 0 to {}, got {}", examples.size() - 1, number);
  }
  const Example& counterpart = examples[number];
  if (number == i || counterpart.counterpart != static_cast<int>(i)) {
    file.mistake(line, "twin: expected a sentence whose twin is this one, {}, got {}", i, number);
  } else if (example.candidates.empty() &&
             (counterpart.tokens.size() != example.tokens.size() || counterpart.query != example.query)) {
    file.mistake(line, "twin: expected a sentence of {} tokens with query {}, got {} tokens and {}",
                 example.tokens.size(), example.query, counterpart.tokens.size(), counterpart.query);
  }
}

std::vector<Example> read_lines(TextFile& file, Spaces spaces) {
  std::vector<Example> examples;
  std::vector<std::size_t> lines;  // of the examples
  refuse_one_value(file);
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    const std::string_view line = file.lines()[i];
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    try {
      examples.push_back(LineReader(file, i + 1, parse_object(line), spaces).read());
      examples.back().source = file.at(i + 1);
    } catch (const Error& error) {
      file.mistake(i + 1, "{}", error.what());
    }
    lines.push_back(i + 1);
  }
  if (file.mistakes() == 0) {
    for (std::size_t i = 0; i < examples.size(); ++i) check_counterpart(file, lines[i], examples, i);
  }
  file.finish();
  if (examples.empty()) fail("{}: no examples; expected one JSON object per line", file.name());
  return examples;
}

std::vector<Example> read_files(const std::string& paths) {
  std::vector<Example> all;
  for (const std::string& path : divided_paths(paths)) append_set(all, read_jsonl(path, Spaces::refused));
  return all;
}

}  // namespace

std::vector<Example> read_jsonl(const std::filesystem::path& path, Spaces spaces) {
  TextFile file(path);
  return read_lines(file, spaces);
}

void write_jsonl(const std::filesystem::path& path, const std::vector<Example>& examples) {
  std::string text;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Example& example = examples[i];
    Json line = {{"tokens", example.tokens}, {"query", example.query}};
    if (!example.candidates.empty()) {
      for (const Span& span : example.candidates) line["candidates"].push_back({span.begin, span.end});
      line["antecedent"] = example.chosen < 0 ? Json() : Json(example.chosen);
    } else {
      if (example.antecedent >= 0) line["antecedent"] = example.antecedent;
      line["answer"] = example.answer;
      if (example.distractor >= 0) line["other"] = example.distractor;
    }
    if (!example.cue.empty()) line["decider"] = example.cue;
    if (!example.relation.empty()) line["relation"] = example.relation;
    if (example.counterpart >= 0) line["twin"] = example.counterpart;
    if (!example.sentences.empty()) line["sentences"] = example.sentences;
    try {
      text += format_json(line) + "\n";
    } catch (const Error& error) {
      fail("{}: example {}, counted from 0, {}", path.string(), i, error.what());
    }
  }
  if (!examples.empty()) {
    TextFile written(path.string(), text);
    read_lines(written, Spaces::allowed);
  }
  write_file(path, text);
}

Task jsonl_task(const std::string& train, const std::string& test, const Random& random, Fold fold) {
  Task task;
  task.name = "jsonl";
  std::vector<Example> examples = read_files(train);
  if (!test.empty()) {
    task.train = std::move(examples);
    task.held_out = read_files(test);
  } else {
    pair_counterparts(examples);
    std::vector<std::vector<Example>> groups = with_counterparts(examples);
    if (groups.size() < 2) {
      fail("{}: has only one sentence or minimal pair; expected more, to hold some out, or a file in data.test", train);
    }
    hold_out(task, std::move(groups), fold, random.stream("held_out"));
  }
  pair_counterparts(task.train);
  pair_counterparts(task.held_out);
  std::unordered_set<std::uint64_t> known;
  for (const Example& example : task.train) known.insert(question_number(example));
  task.known_left_out =
      leave_out_if(task.held_out, [&](const Example& example) { return known.contains(question_number(example)); });
  if (task.held_out.empty()) {
    fail("{}: every held-out sentence is also in the training set; expected others to test on",
         test.empty() ? train : test);
  }
  complete(task);
  return task;
}

}  // namespace heed
