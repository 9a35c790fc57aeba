#pragma once
#include <heed/autograd/error.h>
#include <heed/distributed/communicator.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// Thrown for an invalid command line.
struct UsageError : Error {
  using Error::Error;
};

/// Returns the error for a command line of `program` (train or inspect): "WHAT (see build/train --help)", named by
/// command_of(). With a `command`: "WHAT (see build/inspect causes --help)".
UsageError misuse(std::string_view program, const std::string& what, std::string_view command = "");

/// Returns the message of the command-line library. If that names only a value, adds the option: "--tokens: expected a
/// whole number, got '1e3'". Shows a missing value as the help does: "--out needs a value: --out DIR". Names the nearest option
/// of the text `help` for one that does not exist. `decimals` lists the options that also accept other numbers: "--top-p".
std::string command_line_error(int argc, const char* const* argv, std::string_view message, std::string_view help,
                               const std::vector<std::string_view>& decimals = {});

/// Runs `body` as the main() of a program and returns the exit code: body's result; 2 for a UsageError, 1 for any other
/// exception, with "NAME: message" on standard error; also 1 when standard output could not be written. `called_as` is
/// argv[0].
int run_program(const char* name, const char* called_as, const std::function<int()>& body);

/// Does the same for the processes that mpirun or srun started together. An error that only one of them met ends all of them,
/// and the message names it.
int run_processes(const char* name, const char* called_as, const std::function<int(const Communicator&)>& body);

/// Returns the command for `name` (train or inspect), in the style of the current command: build/train -> build/inspect,
/// heed-train -> heed-inspect; relative to the working directory if below it. Returns the name alone if this program has
/// another name, or its counterpart is missing.
std::string command_of(std::string_view name);

/// Installs `handler` for `signal`, unless the process was started with that signal ignored (nohup, background job of a
/// script).
void handle_signal(int signal, void (*handler)(int));

}  // namespace heed
