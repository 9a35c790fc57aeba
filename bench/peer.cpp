#include "bench/peer.h"

#include <heed/autograd/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heed::bench {

Peer::Peer(const std::vector<std::string>& command) : command_(fmt::format("{}", fmt::join(command, " "))) {
  std::signal(SIGPIPE, SIG_IGN);  // writing to a peer that has ended is then an ordinary error
  std::array<int, 2> requests{}, answers{};
  // closed in other peers; otherwise they would keep this one waiting for requests
  if (pipe2(requests.data(), O_CLOEXEC) != 0 || pipe2(answers.data(), O_CLOEXEC) != 0)
    fail("{}: cannot open a pipe to it", command_);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) {
    dup2(requests[0], STDIN_FILENO);
    dup2(answers[1], STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  ::close(requests[0]);
  ::close(answers[1]);
  to_ = requests[1];
  from_ = answers[0];
  try {
    if (process_ < 0) fail("{}: cannot be started", command_);
    greeting_ = read_line();
  } catch (...) {
    ::close(to_);
    ::close(from_);
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
    throw;
  }
}

Peer::~Peer() {
  ::close(to_);  // tells the peer to end
  ::close(from_);
  ::waitpid(process_, nullptr, 0);
}

Json Peer::ask(const Json& request) {
  const std::string line = format_json(request) + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count = ::write(to_, line.data() + sent, line.size() - sent);
    if (count <= 0) fail("{}: it stopped accepting requests", command_);
    sent += static_cast<std::size_t>(count);
  }
  return read_line();
}

Json Peer::read_line() {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    std::array<char, 4096> bytes;
    const ssize_t count = ::read(from_, bytes.data(), bytes.size());
    if (count <= 0) fail("{}: it ended without an answer", command_);
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  }
  const Json line = parse_json(buffer_.substr(0, end));
  buffer_.erase(0, end + 1);
  return line;
}

}  // namespace heed::bench
