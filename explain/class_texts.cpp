#include "tokenizers/internal/json.h"

#include <heed/explain/class_texts.h>
#include <heed/files/text_file.h>
#include <heed/files/utf8.h>

#include <algorithm>

namespace heed {
namespace {

// Returns the name of the class that a line gives by its name or number.
std::string class_named(const std::vector<std::string>& classes, const Json& label) {
  if (label.is_number_integer() && label >= 0 && label < classes.size()) return classes[label.get<std::size_t>()];
  if (label.is_string() && std::ranges::find(classes, label.get<std::string>()) != classes.end()) return label;
  fail("label: expected one of the classes {}, or a number from 0 to {}, got {}", listed(classes), classes.size() - 1,
       excerpt(format_json(label)));
}

Example read_line(const Model& model, const std::string& line) {
  const Json object = parse_json(line, 1);
  if (!object.is_object())
    fail("expected an object {{\"text\": ..., \"label\": ...}}, got {}", excerpt(format_json(object)));
  for (const char* key : {"text", "label"}) {
    if (!object.contains(key)) fail("missing key '{}'", key);
  }
  if (!object["text"].is_string()) fail("text: expected a text, got {}", excerpt(format_json(object["text"])));
  Example example = question(model, object["text"].get<std::string>());
  batch_of(model, example);  // throws Error when the model cannot read it
  example.answer = example.relation = class_named(model.config().classes, object["label"]);
  return example;
}

}  // namespace

std::vector<Example> read_class_texts(const Model& model, const std::filesystem::path& path) {
  if (!model.head().classifies())
    fail("{}: texts with labels are for a model that tells the class of a text", path.string());
  TextFile file(path);
  std::vector<Example> examples;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    const std::string line(file.lines()[i]);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    try {
      examples.push_back(read_line(model, line));
    } catch (const Error& error) {
      file.mistake(i + 1, "{}", error.what());
    }
  }
  file.finish();
  if (examples.empty()) fail("{}: expected texts with labels, one JSON object per line, got none", path.string());
  return examples;
}

}  // namespace heed
