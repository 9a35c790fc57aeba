#pragma once
#include "inspect/continuation.h"
#include "inspect/progress.h"
#include "inspect/views/view.h"
#include "run/program.h"

#include <cxxopts.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// The parsed command line of a command, and where progress and generated text go.
struct Request {
  const cxxopts::ParseResult& arguments;
  std::vector<std::filesystem::path> runs;  // that exist
  std::vector<std::string> files;           // the words after RUN, of a command that reads files
  View view;                                // with --layer and --head
  OnProgress progress;
  OnText write;

  bool has(const char* option) const { return arguments.count(option) > 0; }

  template <class T>
  std::optional<T> given(const char* option) const {
    if (!has(option)) return {};
    return arguments[option].as<T>();
  }
};

/// A command of `inspect`, defined in the file of its name.
struct Command {
  const char* name;
  const char* words = "RUN";         // as its help shows them: "RUN RUN [RUN...]"
  std::size_t fewest = 1, most = 1;  // number of runs; further words are files
  const char *summary, *example;     // its line of `inspect --help`, and the last line of its own help
  const char* shared;                // the options that other commands have, too: "step layer head json"
  void (*declare)(cxxopts::OptionAdder& options) = nullptr;  // its own
  bool of_runs = false;  // whether it reads a run's own sentences, which a pretrained model does not have
  std::string (*answer)(const Request& request);
};

/// The view of a command line that begins with a run: where each watched sentence's query attends.
extern const Command attention_command;
extern const Command causes_command, compare_command, export_command, generate_command, heads_command, history_command,
    induction_command, match_command, page_command, report_command, steps_command, verify_command, weights_command,
    why_command;

/// Returns what the program `inspect` prints for its arguments; argv[0] is its name. Throws UsageError for a command line that
/// its help does not allow. `progress` hears of long computations. `write` receives the text of `inspect generate` piece by
/// piece; that text is then not returned.
std::string inspect(int argc, const char* const* argv, const Terminal& terminal, const OnProgress& progress = {},
                    const OnText& write = {});

/// Throws UsageError; inspect() adds where to find help.
template <class... Args>
[[noreturn]] void misused(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace heed
