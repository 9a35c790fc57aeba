#include "inspect/command.h"

#include "inspect/commands/shared.h"
#include "run/internal/program.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>
#include <heed/formats/saved_model.h>
#include <heed/version.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace heed {
namespace {

namespace fs = std::filesystem;

struct CommandGroup {
  const char* name;
  std::vector<const Command*> commands;
};

const std::vector<CommandGroup>& groups() {
  static const std::vector<CommandGroup> all{
      {"Attention and causes",
       {&attention_command, &compare_command, &steps_command, &weights_command, &induction_command, &causes_command,
        &circuit_command, &pairs_command, &why_command, &history_command, &match_command}},
      {"Answers, training and files",
       {&report_command, &heads_command, &evaluate_command, &generate_command, &curves_command, &page_command,
        &serve_command, &export_command, &verify_command}}};
  return all;
}

const Command* command_named(std::string_view name) {
  for (const CommandGroup& group : groups()) {
    for (const Command* command : group.commands) {
      if (command->name == name && command != &attention_command) return command;
    }
  }
  return nullptr;
}

std::string help(const Terminal& terminal) {
  std::string text = wrapped("Usage: inspect [COMMAND] RUN [OPTION...], inspect COMMAND --help or --version",
                             std::min(80, terminal.width)) +
                     "\n";
  for (const CommandGroup& group : groups()) {
    text += fmt::format("{}\n", group.name);
    for (const Command* command : group.commands) {
      const std::string line = fmt::format("{:<10} {}", *command->name ? command->name : "RUN", command->summary);
      text += "  " + wrapped(line, std::min(80, terminal.width) - 2, 13) + "\n";
    }
  }
  const char* run = "RUN: a run directory, a model file of it, a Hugging Face model, or a GGUF file.";
  return text + wrapped(run, std::min(80, terminal.width)) + "\n";
}

cxxopts::Options options_of(const Command& command, const Terminal& terminal) {
  cxxopts::Options options(fmt::format("inspect{}{}", *command.name ? " " : "", command.name),
                           wrapped(fmt::format("{}.", command.summary), std::min(80, terminal.width)) + "\n");
  options.custom_help(fmt::format("{} [OPTION...]", command.words))
      .positional_help("")
      .set_width(static_cast<std::size_t>(std::min(80, terminal.width)));
  cxxopts::OptionAdder add = options.add_options();
  if (command.declare) command.declare(add);
  add_shared(add, command.shared);
  add("help", "Print this help")("word", "", cxxopts::value<std::vector<std::string>>());
  options.parse_positional({"word"});
  return options;
}

bool has_option(const cxxopts::Options& options, const std::string& name) {
  return std::ranges::any_of(options.group_help("").options,
                             [&](const auto& option) { return std::ranges::find(option.l, name) != option.l.end(); });
}

// Throws UsageError for an option of train, and for an option that only other commands have.
void refuse_option_of_others(std::span<const char* const> words, const cxxopts::Options& own,
                             const Terminal& terminal) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i], next = i + 1 < words.size() ? words[i + 1] : "";
    if (!word.starts_with("--") || word.size() < 3) continue;
    const std::string name(word.substr(2, word.find('=') - 2));
    if (has_option(own, name)) continue;
    if (name == "threads") {
      const bool has_count = word == "--threads" && !next.empty() && next.find_first_not_of("0123456789") == next.npos;
      misused("--threads is an option of train; OMP_NUM_THREADS={} inspect ... sets the number of threads",
              has_count ? next : "N");
    }
    std::vector<std::string> others;
    for (const CommandGroup& group : groups()) {
      for (const Command* command : group.commands) {
        if (has_option(options_of(*command, terminal), name)) {
          others.push_back(fmt::format("inspect {}", *command->name ? command->name : "RUN"));
        }
      }
    }
    if (!others.empty()) misused("--{} is an option of {}", name, listed(others));
    return;
  }
}

[[noreturn]] void refuse_pretrained(const Command& command, const fs::path& model) {
  const bool reads_sentence = std::string_view(command.shared).find("sentence") != std::string_view::npos;
  fail("{}: is a pretrained model, without the sentences of a run that inspect {} reads. {}", model.string(),
       command.name,
       command.instead  ? command.instead
       : reads_sentence ? fmt::format("Give it one: inspect {} MODEL --sentence TEXT", command.name)
                        : "inspect MODEL --sentence TEXT shows its attention");
}

// Splits the positional arguments into runs and files.
void take_words(Request& request, const Command& command, const std::vector<std::string>& words) {
  if (words.size() < command.fewest) {
    if (command.fewest > 1) misused("expected two runs or more, got {}", words.size());
    misused("expected a run directory");
  }
  const auto runs = static_cast<std::ptrdiff_t>(std::min(command.most, words.size()));
  request.runs.assign(words.begin(), words.begin() + runs);
  request.files.assign(words.begin() + runs, words.end());
  if (!request.files.empty() && std::string_view(command.words).find("FILE") == std::string_view::npos) {
    if (command.instead && !pretrained_path(request.runs[0]).empty()) refuse_pretrained(command, request.runs[0]);
    const std::string hint = command_named(words[0])
                                 ? fmt::format("; the command comes first: inspect {} RUN", words[0])
                             : &command == &attention_command ? "; inspect compare RUN RUN compares two"
                                                              : "";
    const std::string expected = runs == 1 ? "one run" : runs == 2 ? "two runs" : fmt::format("at most {} runs", runs);
    misused("expected {}, got '{}' too{}", expected, request.files[0], hint);
  }
  for (fs::path& run : request.runs) {
    check_run(run);
    if (const fs::path model = pretrained_path(run); !model.empty()) run = model;
    if (command.of_runs && is_pretrained(run) && !request.has("sentence") && request.files.empty()) {
      refuse_pretrained(command, run);
    }
  }
}

std::string answer(const Command& command, std::span<const char* const> words, const Terminal& terminal,
                   const OnProgress& progress, const OnText& write, const Communicator& processes) {
  const int count = static_cast<int>(words.size());
  cxxopts::Options options = options_of(command, terminal);
  cxxopts::ParseResult arguments;
  try {
    arguments = options.parse(count, words.data());
  } catch (const cxxopts::exceptions::exception& error) {
    if (std::string_view(error.what()).find("does not exist") != std::string_view::npos) {
      refuse_option_of_others(words, options, terminal);
    }
    misused("{}", command_line_error(count, words.data(), error.what(), options.help(),
                                     {"--faithfulness", "--temperature", "--top-p"}));
  }
  if (arguments.count("help")) return fmt::format("{}\nExample: {}\n", options.help(), command.example);
  if (processes.size() > 1 && !command.is_shared) {
    misused("expected one process, got {}; only inspect causes, history, match, report and heads run with several",
            processes.size());
  }
  Request request{arguments, {}, {}, {.terminal = terminal, .layer = {}, .head = {}}, progress, write, processes};
  request.view.layer = request.given<int>("layer");
  request.view.head = request.given<int>("head");
  take_words(request, command, request.given<std::vector<std::string>>("word").value_or(std::vector<std::string>{}));
  request.view.has_steps = !is_pretrained(request.runs[0]);
  return command.answer(request);
}

// Throws UsageError for a word that looks like a command but names no command and no existing path.
void refuse_unknown_command(std::string_view word) {
  std::error_code unreadable;
  if (word.starts_with('-') || word.find_first_of("/.") != std::string_view::npos || fs::exists(word, unreadable))
    return;
  std::vector<std::string> names;
  for (const CommandGroup& group : groups()) {
    for (const Command* command : group.commands) {
      if (*command->name) names.emplace_back(command->name);
    }
  }
  const std::string near = did_you_mean(word, names);
  if (!near.empty()) misused("'{}' is not a command or an existing run{}", excerpt(word), near);
  misused("{}", no_such_run(excerpt(word), "run, model or command"));
}

}  // namespace

std::string inspect(int argc, const char* const* argv, const Terminal& terminal, const OnProgress& progress,
                    const OnText& write, const Communicator& processes) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help") return help(terminal);
  if (first == "--version") return "inspect " HEED_VERSION "\n";
  const Command* named = command_named(first);
  const Command& command = named ? *named : attention_command;
  try {
    const std::span words(argv, static_cast<std::size_t>(argc));
    const bool asks_for_help = std::ranges::find(words, std::string_view("--help")) != words.end();
    if (!named && argc > 1 && !asks_for_help) refuse_unknown_command(first);
    return answer(command, words.subspan(named ? 1 : 0), terminal, progress, write, processes);
  } catch (const UsageError& error) {
    throw misuse("inspect", error.what(), command.name);
  }
}

const char* faster(int argc, const char* const* argv) {
  const auto asks = [](std::string_view word) { return word.starts_with("--sentence"); };
  if (std::any_of(argv, argv + argc, asks)) return "--layer L --head H measures one head";
  const Command* const named = argc > 1 ? command_named(argv[1]) : nullptr;
  return named ? named->faster : "";
}

}  // namespace heed
