#pragma once
#include "inspect/progress.h"
#include "run/internal/program.h"
#include "views/view.h"

#include <heed/distributed/communicator.h>
#include <heed/models/generate.h>

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
  std::vector<std::filesystem::path> runs;  // existing paths
  std::vector<std::string> files;           // the words after RUN, for commands that read files
  View view;                                // includes --layer and --head
  OnProgress progress;
  OnText write;
  Communicator processes;

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
  const char* words = "RUN";         // positional arguments as shown in the help: "RUN RUN [RUN...]"
  std::size_t fewest = 1, most = 1;  // minimum and maximum number of runs; further words are files
  const char *summary, *example;     // line in `inspect --help`, and last line of the command's own help
  const char* shared;                // options shared with other commands: "step layer head json"
  void (*declare)(cxxopts::OptionAdder& options) = nullptr;  // declares the command's own options
  bool of_runs = false;           // whether it reads the sentences of a run, which a pretrained model does not have
  const char* instead = nullptr;  // what to do with a pretrained model, where that is not --sentence
  bool is_shared = false;         // whether several processes share its work
  const char* faster = "";        // option that makes it faster
  std::string (*answer)(const Request& request);
};

/// The default command for a run: prints where each watched sentence's query attends.
extern const Command attention_command;
extern const Command causes_command, circuit_command, compare_command, curves_command, evaluate_command, export_command,
    generate_command, heads_command, history_command, induction_command, match_command, page_command, pairs_command,
    report_command, serve_command, steps_command, verify_command, weights_command, why_command;

/// Returns what the program `inspect` prints for its arguments; argv[0] is its name. Throws UsageError for an invalid command
/// line. Calls `progress` during long computations. Passes the text of `inspect generate` to `write` piece by piece, and
/// returns only remarks on its ends. Several `processes` share the work of a study, and each of them returns its result.
std::string inspect(int argc, const char* const* argv, const Terminal& terminal, const OnProgress& progress = {},
                    const OnText& write = {}, const Communicator& processes = {});

/// Returns which option makes the command line faster; "" without one.
const char* faster(int argc, const char* const* argv);

/// Throws UsageError. `inspect()` adds where to find help.
template <class... Args>
[[noreturn]] void misused(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace heed
