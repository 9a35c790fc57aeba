#include "run/internal/program.h"

#include "tokenizers/internal/json.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <new>
#include <sys/resource.h>

namespace heed {
namespace {

// If a standard stream is closed, the next opened file would get its number and receive messages. /dev/null, opened for
// reading, takes that number instead; writing to it fails.
void open_standard_streams() {
  for (const int number : {0, 1, 2}) {
    if (::fcntl(number, F_GETFD) < 0 && errno == EBADF) (void)!::open("/dev/null", O_RDONLY);
  }
}

// Returns a message for a terminal: controls become visible signs, and very long lines are cut at a character.
std::string printable(std::string_view message) {
  constexpr int widest = 1000;
  std::string text;
  while (true) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string line = visible(message.substr(0, end));
    text += display_width(line) > widest ? fit_width(line, widest) : line;
    if (end == message.size()) return text;
    text += '\n';
    message.remove_prefix(end + 1);
  }
}

// Reading files needs more than 64 KiB of stack.
void check_stack() {
  constexpr rlim_t min_kib = 128;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= min_kib << 10) return;
  fail("the stack is limited to {} KiB; expected at least {} KiB (ulimit -s {})", stack.rlim_cur >> 10, min_kib,
       min_kib);
}

const char *program = "", *program_called_as = "";

// Called when memory runs out in a destructor that cannot throw, which happens in some libraries.
[[noreturn]] void end_without_memory() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc& error) {
      std::fprintf(stderr, "%s: %s\n", program, error.what());
      std::_Exit(1);
    } catch (...) {
    }
  }
  std::abort();
}

}  // namespace

UsageError misuse(std::string_view name, const std::string& what, std::string_view command) {
  return UsageError(fmt::format("{} (see {}{}{} --help)", what, command_of(name), command.empty() ? "" : " ", command));
}

namespace {

// Returns the long options that a help text names: "--layer".
std::vector<std::string> options_in(std::string_view help) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz-";
  std::vector<std::string> options;
  for (std::size_t at = 0; (at = help.find("--", at)) != help.npos;) {
    const std::size_t end = std::min(help.size(), help.find_first_not_of(letters, at));
    options.emplace_back(help.substr(at, end - at));
    at = end;
  }
  return options;
}

// Returns what a help text shows after an option: "FILE" for "  --svg FILE  Draw one sentence"; "VALUE" where it shows nothing.
std::string value_of_option(std::string_view help, std::string_view option) {
  const std::size_t at = help.find(fmt::format("{} ", option));
  if (at == help.npos) return "VALUE";
  const std::string_view rest = help.substr(at + option.size() + 1);
  const std::string value(rest.substr(0, rest.find_first_of(" \n")));
  return value.empty() ? "VALUE" : value;
}

// Returns whether `message` has `word` in quotes. Which quotes depends on the version of cxxopts.
bool has_quoted(std::string_view message, std::string_view word) {
  return message.find(fmt::format("‘{}’", word)) != message.npos ||
         message.find(fmt::format("'{}'", word)) != message.npos;
}

}  // namespace

std::string command_line_error(int argc, const char* const* argv, std::string_view message, std::string_view help,
                               const std::vector<std::string_view>& decimals) {
  if (message.find("does not exist") != std::string_view::npos) {
    std::vector<std::string> known = options_in(help);
    for (int i = 1; i < argc; ++i) {
      const std::string_view word = std::string_view(argv[i]).substr(0, std::string_view(argv[i]).find('='));
      if (!word.starts_with("--") || message.find(word.substr(2)) == std::string_view::npos) continue;
      if (!word.starts_with("--h")) std::erase(known, "--help");  // near to --step and others
      return fmt::format("unknown option {}{}", excerpt(word), did_you_mean(word, known));
    }
  }
  if (message.find("missing an argument") != std::string_view::npos) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view word = argv[i];
      if (!word.starts_with("--") || !has_quoted(message, word.substr(2))) continue;
      return fmt::format("{0} needs a value: {0} {1}", word, value_of_option(help, word));
    }
  }
  if (message.find("failed to parse") == std::string_view::npos) return std::string(message);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    const bool is_joined = word.starts_with("--") && equals != std::string_view::npos;
    const std::string_view option = is_joined ? word.substr(0, equals) : argv[i - 1];
    const std::string_view value = is_joined ? word.substr(equals + 1) : word;
    if (!option.starts_with("-") || !has_quoted(message, value)) continue;
    const std::string_view digits = value.substr(value.starts_with('-'));
    const bool is_whole = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    const bool is_decimal = std::ranges::find(decimals, option) != decimals.end();
    return fmt::format("{}: expected {}, got '{}'", option,
                       is_decimal               ? "a number such as 0.8"
                       : !is_whole              ? "a whole number"
                       : value.starts_with('-') ? "a whole number from 0"
                                                : "a smaller number",
                       excerpt(value));
  }
  return std::string(message);
}

std::string command_of(std::string_view name) {
  const std::string_view called_as = program_called_as, own = program;
  if (own.empty() || !called_as.ends_with(own)) return std::string(name);
  const std::string other = std::string(called_as.substr(0, called_as.size() - own.size())) + std::string(name);
  if (other.find('/') == std::string::npos) return other;  // found in PATH
  std::error_code unreadable;
  if (!std::filesystem::exists(other, unreadable)) return std::string(name);
  const std::string here = std::filesystem::current_path(unreadable).string() + "/";
  if (!other.starts_with(here)) return other;
  const std::string below = other.substr(here.size());
  return below.find('/') == std::string::npos ? "./" + below : below;
}

void handle_signal(int signal, void (*handler)(int)) {
  struct sigaction inherited {};
  if (::sigaction(signal, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN) return;
  std::signal(signal, handler);
}

int run_program(const char* name, const char* called_as, const std::function<int()>& body) {
  program = name;
  program_called_as = called_as ? called_as : name;
  std::set_terminate(end_without_memory);
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // makes exceeding a file size limit an ordinary write error
  int code = 1;
  try {
    check_stack();
    code = body();
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", name, printable(error.what()).c_str());
    code = 2;
  } catch (const std::bad_alloc& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());  // unchanged: making it printable would need memory
  } catch (const std::exception& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    const bool is_output = system && std::ferror(stdout);  // fmt::print() does not name the file
    std::fprintf(
        stderr, "%s: %s\n", name,
        printable(is_output ? "cannot write to standard output: " + system->code().message() : message_of(error))
            .c_str());
  }
  errno = 0;
  if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && code == 0) {
    std::fprintf(stderr, "%s: cannot write to standard output%s%s\n", name, errno ? ": " : "",
                 errno ? std::strerror(errno) : "");
    code = 1;
  }
  return code;
}

int run_processes(const char* name, const char* called_as, const std::function<int(const Communicator&)>& body) {
  return run_program(name, called_as, [&] {
    const auto processes = Communicator::launched();
    try {
      return body(processes);
    } catch (const UsageError& error) {
      processes.report(error.what(), 2);
      throw;
    } catch (const std::exception& error) {
      processes.report(message_of(error), 1);
      throw;
    }
  });
}

}  // namespace heed
