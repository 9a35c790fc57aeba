#include "distributed/watch.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <ifaddrs.h>
#include <iterator>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds connecting{30};

// A frame: its kind, an exit code, the length of a text, and the text.
enum class Kind : char { goodbye = 'g', failure = 'f', end = 'e' };
struct Header {
  Kind kind;
  std::uint8_t code;
  std::uint16_t length;
};
constexpr std::size_t longest_text = 16000;

bool write_all(int connection, const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  for (std::size_t sent = 0; sent < size;) {
    const ssize_t more = ::send(connection, bytes + sent, size - sent, MSG_NOSIGNAL);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return false;
    sent += static_cast<std::size_t>(more);
  }
  return true;
}

bool read_all(int connection, void* data, std::size_t size) {
  char* bytes = static_cast<char*>(data);
  for (std::size_t read = 0; read < size;) {
    const ssize_t more = ::recv(connection, bytes + read, size - read, 0);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return false;
    read += static_cast<std::size_t>(more);
  }
  return true;
}

void write_frame(int connection, Kind kind, int code = 0, std::string_view text = {}) {
  text = text.substr(0, longest_text);
  const Header header{kind, static_cast<std::uint8_t>(code), static_cast<std::uint16_t>(text.size())};
  write_all(connection, &header, sizeof header) && write_all(connection, text.data(), text.size());
}

// Makes the kernel close a connection whose other end does not answer for 8 seconds. Reads and writes fail after the
// same time.
void keep_alive(int connection) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(connection, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 3);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 5);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 8000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  const timeval limit{8, 0};
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// Returns the IPv4 addresses of this host, with the loopback address last.
std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {"127.0.0.1"};
  for (const ifaddrs* each = first; each; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text)) addresses.emplace_back(text);
  }
  ::freeifaddrs(first);
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const std::string& each) { return !each.starts_with("127."); });
  return addresses;
}

// Returns a connection; -1 when none was made within two seconds.
int connected_to(const std::string& address, int port) {
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address.c_str(), &there.sin_addr);
  int error = ::connect(connection, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waiting{connection, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (::poll(&waiting, 1, 2000) != 1 || ::getsockopt(connection, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = ETIMEDOUT;
  }
  if (error != 0) {
    ::close(connection);
    return -1;
  }
  ::fcntl(connection, F_SETFL, ::fcntl(connection, F_GETFL) & ~O_NONBLOCK);
  keep_alive(connection);
  return connection;
}

void write_error(const std::string& text) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, visible(text).c_str());
}

}  // namespace

Watch::Watch(int rank, std::vector<std::string> names) : rank_(rank), names_(std::move(names)) {
  if (::pipe2(wake_, O_CLOEXEC) != 0) fail("watch: {}", std::strerror(errno));
  if (rank_ != 0) return;
  std::array<unsigned char, 8> random{};
  if (::getrandom(random.data(), random.size(), 0) != std::ssize(random)) fail("watch: {}", std::strerror(errno));
  for (const unsigned char byte : random) token_ += fmt::format("{:02x}", byte);
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_ANY);
  if (listening_ < 0 || ::bind(listening_, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      ::listen(listening_, 1024) != 0) {
    fail("watch: rank 0 cannot listen for the other processes: {}", std::strerror(errno));
  }
}

Watch::~Watch() {
  is_ending_ = true;
  (void)!::write(wake_[1], "", 1);
  if (thread_.joinable()) thread_.join();
  for (const int each : connections_) {
    if (each >= 0) ::close(each);
  }
  for (const int each : {listening_, wake_[0], wake_[1]}) {
    if (each >= 0) ::close(each);
  }
}

std::string Watch::invitation() const {
  if (rank_ != 0) return "";
  sockaddr_in here{};
  socklen_t size = sizeof here;
  ::getsockname(listening_, reinterpret_cast<sockaddr*>(&here), &size);
  std::string text = fmt::format("{} {}", token_, ntohs(here.sin_port));
  for (const std::string& address : own_addresses()) text += " " + address;
  return text;
}

void Watch::begin(std::string_view invitation) {
  rank_ == 0 ? accept_all() : connect(invitation);
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);  // other threads handle signals
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Watch::connect(std::string_view invitation) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= invitation.size();) {
    const std::size_t space = std::min(invitation.find(' ', begin), invitation.size());
    words.emplace_back(invitation.substr(begin, space - begin));
    begin = space + 1;
  }
  const std::string greeting = fmt::format("{}{:8}", words.at(0), rank_);
  const Clock::time_point deadline = Clock::now() + connecting;
  do {
    for (std::size_t i = 2; i < words.size(); ++i) {
      const int connection = connected_to(words[i], std::atoi(words[1].c_str()));
      if (connection < 0) continue;
      char answer = 0;  // another program may listen at this address here
      if (write_all(connection, greeting.data(), greeting.size()) && read_all(connection, &answer, 1) &&
          answer == 'h') {
        connections_ = {connection};
        return;
      }
      ::close(connection);
    }
  } while (Clock::now() < deadline);
  fail("{} cannot connect to {}, at port {} of {}; processes need TCP between their hosts",
       names_[static_cast<std::size_t>(rank_)], names_[0], words[1],
       invitation.substr(words[0].size() + words[1].size() + 2));
}

void Watch::accept_all() {
  connections_.assign(names_.size(), -1);
  const Clock::time_point deadline = Clock::now() + connecting;
  for (std::size_t missing = names_.size() - 1; missing > 0;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{listening_, POLLIN, 0};
    if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left)) == 0) {
      const auto first = std::find(connections_.begin() + 1, connections_.end(), -1) - connections_.begin();
      fail("{} does not connect to rank 0 within 30 seconds; processes need TCP between their hosts",
           names_[static_cast<std::size_t>(first)]);
    }
    const int connection = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    keep_alive(connection);
    std::string greeting(token_.size() + 8, '\0');
    const bool is_ours = read_all(connection, greeting.data(), greeting.size()) && greeting.starts_with(token_);
    const int rank = is_ours ? std::atoi(greeting.c_str() + token_.size()) : 0;
    if (rank < 1 || rank >= std::ssize(names_) || connections_[static_cast<std::size_t>(rank)] >= 0 ||
        !write_all(connection, "h", 1)) {
      ::close(connection);
      continue;
    }
    connections_[static_cast<std::size_t>(rank)] = connection;
    --missing;
  }
}

void Watch::run() {
  std::vector<int> open;  // connections of processes that have not ended
  std::ranges::copy_if(connections_, std::back_inserter(open), [](int each) { return each >= 0; });
  std::vector<pollfd> waiting;
  while (!open.empty()) {
    waiting.assign(1, {wake_[0], POLLIN, 0});
    for (const int each : open) waiting.push_back({each, POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[0].revents != 0) return;
    std::erase_if(open, [&](int each) {
      const auto entry = std::ranges::find(waiting, each, &pollfd::fd);
      return entry->revents != 0 && !take(each);
    });
  }
}

bool Watch::take(int connection) {
  const auto number = rank_ == 0 ? std::ranges::find(connections_, connection) - connections_.begin() : 0;
  const std::string& name = names_[static_cast<std::size_t>(number)];
  Header header{};
  std::string text;
  const auto read_text = [&] {
    text.resize(header.length);
    return read_all(connection, text.data(), text.size());
  };
  if (!read_all(connection, &header, sizeof header) || !read_text()) {
    if (is_ending_.exchange(true)) return false;
    if (rank_ > 1) {  // one of those that are left tells it
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      std::_Exit(1);
    }
    end_all(fmt::format("{} died. The other processes end. Resume from the last checkpoint", name), 1);
  }
  if (header.kind == Kind::goodbye) return false;
  if (header.kind == Kind::end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the exit code of rank 0 comes first
    std::_Exit(header.code);
  }
  for (int turn = 0; turn < 100 && !is_ending_; ++turn) {  // rank 0 may be about to meet the same error
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!is_ending_.exchange(true)) end_all(fmt::format("{}: {}", name, text), header.code);
  return true;
}

void Watch::end_others(int exit_code) {
  if (rank_ != 0) return;
  for (const int each : connections_) {
    if (each >= 0) write_frame(each, Kind::end, exit_code);
  }
}

void Watch::end_all(const std::string& text, int exit_code) {
  write_error(text);
  end_others(exit_code);
  std::_Exit(exit_code);
}

void Watch::finish() {
  is_ending_ = true;
  for (const int each : connections_) {
    if (each >= 0) write_frame(each, Kind::goodbye);
  }
}

void Watch::abandon() {
  if (rank_ != 0) report("ended by an error", 1);
  if (is_ending_.exchange(true)) std::this_thread::sleep_for(connecting);  // the watch's thread ends the process
  end_others(1);
}

void Watch::report(std::string_view error, int exit_code) {
  write_frame(connections_.at(0), Kind::failure, exit_code, error);
  std::this_thread::sleep_for(std::chrono::seconds(5));  // until rank 0 has written it, and ends this process
  write_error(fmt::format("{}: {}", names_[static_cast<std::size_t>(rank_)], error));
  std::_Exit(exit_code);
}

}  // namespace heed
