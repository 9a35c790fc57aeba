#pragma once
#include <heed/autograd/error.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// The command line is not understood.
struct UsageError : Error {
  using Error::Error;
};

/// Returns the error of a command line of `program`, train or inspect: "WHAT (see build/train --help)", as command_of() names
/// it; with a `command` "WHAT (see build/inspect causes --help)".
UsageError misuse(std::string_view program, const std::string& what, std::string_view command = "");

/// Returns what a command line's library says of it; where that names a value alone, with the option that has it:
/// "--tokens: expected a whole number, got '1e3'". `decimals`: the options that take other numbers, too, "--top-p".
std::string command_line_error(int argc, const char* const* argv, std::string_view message,
                               const std::vector<std::string_view>& decimals = {});

// What main() of a program returns: what `body` returns; 2 when it throws a UsageError, 1 for any other exception, with
// "NAME: what went wrong" on standard error; 1, too, where standard output could not be written. `called_as`: argv[0].
int run_program(const char* name, const char* called_as, const std::function<int()>& body);

// How `name`, train or inspect, is called by who called this program: build/train -> build/inspect, heed-train ->
// heed-inspect; relative to the working directory, where it is below that. The name alone where this program was called
// something else, or there is none beside it.
std::string command_of(std::string_view name);

// A path as one writes it in a shell: 'my run' for a name with a space, ./-y for one that begins as an option.
std::string shell_word(const std::filesystem::path& path);

/// Installs `handler` for `signal`, unless the process was started with that signal ignored, as by nohup or as a background
/// job of a script.
void handle_signal(int signal, void (*handler)(int));

}  // namespace heed
