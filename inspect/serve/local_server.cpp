#include "inspect/serve/local_server.h"

#include <heed/autograd/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

// A connection, with what its client is doing.
struct Client {
  enum class Does { sends, waits, takes, leaves };
  explicit Client(int its_number) : number(its_number) {}
  ~Client() { ::close(number); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Appends arriving bytes, at most `most`. Returns false at their end and after an error.
  bool read(std::size_t most) {
    char block[16 << 10];
    const ssize_t count = ::recv(number, block, std::min(most, sizeof block), MSG_DONTWAIT);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    bytes.append(block, static_cast<std::size_t>(count));
    return count > 0;
  }

  // Sends more of `bytes`. Returns false after an error.
  bool write() {
    const ssize_t count = ::send(number, bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<std::size_t>(count);
    return count >= 0 || errno == EINTR || errno == EAGAIN;
  }

  short awaited() const { return does == Does::takes ? POLLOUT : does == Does::waits ? POLLRDHUP : POLLIN; }

  int number;
  Does does = Does::sends;
  Clock::time_point deadline{};  // of `does`; a client that waits has none
  std::string bytes{};           // received, or to be sent
  std::size_t missing = 0, sent = 0;
  HttpRequest request{};
  std::atomic<bool> has_left = false;
};
using Clients = std::vector<std::shared_ptr<Client>>;

// Two ends of a pipe: wake() ends a poll() of `number` from another thread.
class Alarm {
 public:
  Alarm() {
    if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) fail("cannot make a pipe: {}", std::strerror(errno));
  }
  ~Alarm() { ::close(ends_[0]), ::close(ends_[1]); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  int number() const { return ends_[0]; }
  void wake() const { [[maybe_unused]] const ssize_t count = ::write(ends_[1], "", 1); }
  void reset() const {
    char block[64];
    while (::read(ends_[0], block, sizeof block) > 0) continue;
  }

 private:
  int ends_[2] = {-1, -1};
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

HttpAnswer LocalServer::checked_answer(const HttpRequest& request, const Answer& answer) const {
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

namespace {

// Computes the answers, one at a time, on a thread of its own.
class Worker {
 public:
  using Answer = std::function<std::string(const HttpRequest&)>;  // returns all bytes of an answer
  explicit Worker(Answer answer)
      : answer_(std::move(answer)), thread_([this](const std::stop_token& stop) { work(stop); }) {}

  void add(std::shared_ptr<Client> client) {
    const std::lock_guard lock(changing_);
    waiting_.push_back(std::move(client));
    changed_.notify_one();
  }
  // Returns the clients whose answers are computed.
  Clients answered() {
    alarm_.reset();
    const std::lock_guard lock(changing_);
    return std::exchange(answered_, {});
  }
  int alarm() const { return alarm_.number(); }

 private:
  void work(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(changing_);
      if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
      const std::shared_ptr<Client> client = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      if (client->has_left) continue;
      client->request.has_left = [&left = client->has_left] { return left.load(); };
      std::string bytes = answer_(client->request);
      lock.lock();
      client->bytes = std::move(bytes);
      answered_.push_back(client);
      lock.unlock();
      alarm_.wake();
    }
  }

  Answer answer_;
  Alarm alarm_;
  std::mutex changing_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Client>> waiting_;
  Clients answered_;
  std::jthread thread_;  // ends before the members above
};

// Closes the connection that has been open longest among those of clients that only send or take: the others have requests.
void close_oldest(Clients& clients) {
  const auto is_idle = [](const auto& client) { return client->does == Client::Does::sends; };
  const auto is_slow = [](const auto& client) { return client->does != Client::Does::waits; };
  auto oldest = std::ranges::find_if(clients, is_idle);
  if (oldest == clients.end()) oldest = std::ranges::find_if(clients, is_slow);
  if (oldest != clients.end()) clients.erase(oldest);
}

}  // namespace

void LocalServer::run(const Answer& answer) {
  Worker worker([&](const HttpRequest& request) {
    try {
      return written(checked_answer(request, answer));
    } catch (const HttpError& error) {
      return written({.status = error.status, .body = error.what + "\n"});
    } catch (const std::exception& error) {
      return written({.status = 500, .body = fmt::format("{}\n", error.what())});
    }
  });
  Clients clients;
  const auto give = [&](Client& client, std::string bytes) {
    client.bytes = std::move(bytes);
    client.does = Client::Does::takes;
    client.deadline = Clock::now() + limits_.write;
  };
  // Goes on with a client that has sent, taken or closed something. Returns false when the connection is to be closed.
  const auto goes_on = [&](const std::shared_ptr<Client>& client, bool is_ready) {
    switch (client->does) {
      case Client::Does::sends:
        if (!is_ready) break;
        if (!client->read(client->missing)) return false;
        try {
          client->request = parse_request(client->bytes, client->missing, limits_);
          if (client->missing > 0) break;
          client->does = Client::Does::waits;
          worker.add(client);
        } catch (const HttpError& error) {
          give(*client, written({.status = error.status, .body = error.what + "\n"}));
        }
        return true;
      case Client::Does::waits:
        client->has_left = is_ready;  // it closed its side
        return !is_ready;
      case Client::Does::takes:
        if (is_ready && !client->write()) return false;
        if (client->sent < client->bytes.size()) break;
        ::shutdown(client->number, SHUT_WR);
        client->does = Client::Does::leaves;
        client->deadline = Clock::now() + std::chrono::seconds(1);
        break;
      case Client::Does::
          leaves:  // bytes sent in excess are discarded: closing at once would make the system drop the answer
        client->bytes.clear();
        if (is_ready && !client->read(16 << 10)) return false;
    }
    return Clock::now() < client->deadline;
  };
  constexpr int pause = 100;  // ms, after which deadlines and stop() are looked at
  while (!stopped_ || !clients.empty()) {
    if (stopped_) std::erase_if(clients, [](const auto& client) { return client->does == Client::Does::sends; });
    const bool has_place =
        std::ssize(clients) < limits_.connections ||
        std::ranges::any_of(clients, [](const auto& one) { return one->does != Client::Does::waits; });
    std::vector<pollfd> wanted{{worker.alarm(), POLLIN, 0}, {!stopped_ && has_place ? listener_ : -1, POLLIN, 0}};
    for (const auto& client : clients) wanted.push_back({client->number, client->awaited(), 0});
    if (::poll(wanted.data(), wanted.size(), pause) < 0 && errno != EINTR) fail("poll: {}", std::strerror(errno));
    for (const auto& client : worker.answered()) give(*client, std::move(client->bytes));
    Clients open;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (goes_on(clients[i], wanted[i + 2].revents != 0)) open.push_back(clients[i]);
    }
    clients = std::move(open);
    if (wanted[1].revents == 0) continue;
    if (std::ssize(clients) >= limits_.connections) close_oldest(clients);
    if (std::ssize(clients) >= limits_.connections) continue;
    const int number = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (number < 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));  // descriptors may be exhausted for a while
      continue;
    }
    clients.push_back(std::make_shared<Client>(number));
    clients.back()->deadline = Clock::now() + limits_.read;
    clients.back()->missing = limits_.head;
  }
}

}  // namespace heed
