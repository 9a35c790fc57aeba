#pragma once
#include "inspect/command.h"
#include "run/internal/program.h"
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"

#include <string>
#include <vector>

namespace heed {

// Returns what `inspect` prints with these arguments.
inline std::string shown(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"inspect"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return inspect(static_cast<int>(argv.size()), argv.data(), {});
}

// A run with snapshots of steps 0 and 400 and the model of step 400.
struct InspectedRun : ScratchDirectory {
  InspectedRun() {
    write_dump(path, {0, {chinese_sentence()}});
    write_dump(path, {400, {english_sentence()}});
    save_model(model_path(path), small_model());
  }

  std::string inspect(std::vector<std::string> arguments) const {
    for (std::string& argument : arguments) {
      if (argument.starts_with("RUN")) argument = path.string() + argument.substr(3);
    }
    return shown(arguments);
  }

  // The message, with the run's directory as RUN.
  std::string error(const std::vector<std::string>& arguments) const {
    std::string text = message([&] { inspect(arguments); });
    const std::size_t begin = text.find(path.string());
    return begin == std::string::npos ? text : text.replace(begin, path.string().size(), "RUN");
  }

  bool is_usage_error(const std::vector<std::string>& arguments, const std::string& text) const {
    try {
      inspect(arguments);
    } catch (const UsageError& usage) {
      CHECK(usage.what() == text);
      return true;
    }
    return false;
  }
};

// A held-out sentence in words of small_model().
inline Example dog_example() {
  Example example;
  example.tokens = {"dog", "street", "it", "was", "tired"};
  example.query = 2, example.antecedent = 0;
  example.answer = "dog";
  return example;
}

inline constexpr const char* dog_sentence = "The dog didn't cross the street because it was too tired";

}  // namespace heed
