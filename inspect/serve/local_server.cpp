#include "inspect/serve/local_server.h"

#include <heed/autograd/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

class Connection {
 public:
  explicit Connection(int number) : number_(number) {}
  ~Connection() { ::close(number_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Appends arriving bytes, at most `most`. Returns false at the end of the request, after an error and at the deadline.
  bool read(std::string& bytes, std::size_t most, Clock::time_point deadline) {
    if (!is_ready(POLLIN, deadline)) return false;
    char block[16 << 10];
    const ssize_t count = ::recv(number_, block, std::min(most, sizeof block), MSG_DONTWAIT);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    bytes.append(block, static_cast<std::size_t>(count));
    return count > 0;
  }

  void write(std::string_view bytes, Clock::time_point deadline) {
    while (!bytes.empty() && is_ready(POLLOUT, deadline)) {
      const ssize_t count = ::send(number_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && errno != EINTR && errno != EAGAIN) return;
      if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  // Ends the answer, and discards bytes that were sent in excess: closing at once would make the system drop the answer.
  void finish(Clock::time_point deadline) {
    ::shutdown(number_, SHUT_WR);
    std::string rest;
    for (int i = 0; i < 64 && read(rest, 16 << 10, deadline); ++i) rest.clear();
  }

 private:
  bool is_ready(short event, Clock::time_point deadline) const {
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return false;
      pollfd wanted{number_, event, 0};
      const int found = ::poll(&wanted, 1, static_cast<int>(left));
      if (found > 0) return true;
      if (found == 0 || errno != EINTR) return false;
    }
  }

  int number_;
};

[[noreturn]] void refuse(int status, std::string what) { throw HttpError{status, std::move(what)}; }

std::string_view next_line(std::string_view& head) {
  const std::size_t end = head.find("\r\n");
  const std::string_view line = head.substr(0, end);
  head.remove_prefix(end == head.npos ? head.size() : end + 2);
  return line;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

void read_request_line(std::string_view line, HttpRequest& request) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last) refuse(400, "expected METHOD PATH HTTP/1.1");
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") refuse(400, "expected HTTP/1.1");
  request.method = line.substr(0, first);
  request.path = line.substr(first + 1, last - first - 1);
  const bool is_plain = std::ranges::all_of(request.path, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!is_token(request.method) || !request.path.starts_with('/') || !is_plain) refuse(400, "expected METHOD PATH");
}

void read_header(std::string_view line, HttpRequest& request) {
  const std::size_t colon = line.find(':');
  std::string name(line.substr(0, colon));
  if (colon == line.npos || !is_token(name)) refuse(400, "expected NAME: VALUE in each header");
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
  while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
  if (std::ranges::any_of(value, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; })) {
    refuse(400, "a header holds a control character");
  }
  if (!request.headers.emplace(name, value).second && name != "cookie") refuse(400, "a header is given twice");
}

// Returns the number of bytes of the body.
std::size_t body_size(const HttpRequest& request, std::size_t most) {
  if (request.headers.contains("transfer-encoding")) refuse(501, "expected a body with Content-Length");
  const auto given = request.headers.find("content-length");
  if (given == request.headers.end()) {
    if (request.method == "POST") refuse(411, "expected Content-Length");
    return 0;
  }
  const std::string& text = given->second;
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error == std::errc::result_out_of_range || (error == std::errc() && size > most)) {
    refuse(413, fmt::format("expected a body of at most {} bytes", most));
  }
  if (error != std::errc() || end != text.data() + text.size()) refuse(400, "Content-Length is not a number");
  return size;
}

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
  }
  return "Internal Server Error";
}

std::string written(const HttpAnswer& answer) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\r\n{}",
      answer.status, reason_of(answer.status), answer.type, answer.body.size(), answer.body);
}

}  // namespace

HttpRequest parse_request(std::string_view bytes, std::size_t& missing, const ServerLimits& limits) {
  const std::size_t end = bytes.substr(0, limits.head).find("\r\n\r\n");
  if (end == bytes.npos) {
    if (bytes.size() >= limits.head) refuse(431, fmt::format("expected at most {} bytes of headers", limits.head));
    missing = limits.head - bytes.size();
    return {};
  }
  HttpRequest request;
  std::string_view head = bytes.substr(0, end);
  read_request_line(next_line(head), request);
  while (!head.empty()) read_header(next_line(head), request);
  const std::size_t size = body_size(request, limits.body), got = bytes.size() - (end + 4);
  missing = size > got ? size - got : 0;
  request.body = bytes.substr(end + 4, size);
  return request;
}

LocalServer::LocalServer(int port, const ServerLimits& limits) : limits_(limits) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener_ < 0) fail("cannot make a socket: {}", std::strerror(errno));
  const int yes = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const int reason = errno;
    ::close(listener_);
    fail("cannot listen on 127.0.0.1:{}: {}{}", port, std::strerror(reason),
         reason == EADDRINUSE ? "; choose another --port" : "");
  }
  port_ = ntohs(address.sin_port);
}

LocalServer::~LocalServer() { ::close(listener_); }

HttpAnswer LocalServer::checked_answer(const HttpRequest& request,
                                       const std::function<HttpAnswer(const HttpRequest&)>& answer) const {
  const auto header = [&](const char* name) -> std::optional<std::string> {
    const auto found = request.headers.find(name);
    return found == request.headers.end() ? std::nullopt : std::optional(found->second);
  };
  const std::string here = fmt::format("127.0.0.1:{}", port_), named = fmt::format("localhost:{}", port_);
  const auto host = header("host"), origin = header("origin"), site = header("sec-fetch-site");
  if (host != here && host != named) refuse(403, fmt::format("expected the Host {}", here));
  if (origin && *origin != "http://" + here && *origin != "http://" + named) refuse(403, "another origin");
  if (site && *site != "same-origin" && *site != "none") refuse(403, "another site");
  if (request.method != "GET" && request.method != "POST") refuse(405, "expected GET or POST");
  return answer(request);
}

void LocalServer::run(const std::function<HttpAnswer(const HttpRequest&)>& answer) {
  struct Shared {  // with the threads, which may end after run()
    std::mutex counting;
    std::condition_variable ended;
    int open = 0;
  };
  const auto shared = std::make_shared<Shared>();
  std::mutex one_answer;
  const auto serve = [&](int number) {
    Connection connection(number);
    HttpAnswer given;
    try {
      const auto deadline = Clock::now() + limits_.read;
      std::string bytes;
      HttpRequest request;
      for (std::size_t missing = limits_.head; missing > 0;) {
        if (!connection.read(bytes, missing, deadline)) return;
        request = parse_request(bytes, missing, limits_);
      }
      const std::lock_guard lock(one_answer);
      given = checked_answer(request, answer);
    } catch (const HttpError& error) {
      given = {.status = error.status, .body = error.what + "\n"};
    } catch (const std::exception& error) {
      given = {.status = 500, .body = fmt::format("{}\n", error.what())};
    }
    const auto deadline = Clock::now() + limits_.write;
    connection.write(written(given), deadline);
    connection.finish(std::min(deadline, Clock::now() + std::chrono::seconds(1)));
  };
  constexpr std::chrono::milliseconds pause(100);
  while (!stopped_) {
    std::unique_lock lock(shared->counting);
    if (!shared->ended.wait_for(lock, pause, [&] { return shared->open < limits_.connections; })) continue;
    lock.unlock();
    pollfd wanted{listener_, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(pause.count())) <= 0) continue;
    const int number = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (number < 0) {
      std::this_thread::sleep_for(pause);  // descriptors may be exhausted for a while
      continue;
    }
    lock.lock();
    ++shared->open;
    try {
      std::thread([&serve, shared, number] {
        serve(number);
        const std::lock_guard end(shared->counting);
        --shared->open;
        shared->ended.notify_all();
      }).detach();
    } catch (const std::system_error&) {
      --shared->open;
      ::close(number);
    }
  }
  std::unique_lock lock(shared->counting);
  shared->ended.wait(lock, [&] { return shared->open == 0; });
}

}  // namespace heed
