#include "inspect/serve/local_server.h"

#include "tests/catch.h"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace heed;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t long_answer = 32 << 20;  // more than the system buffers for a connection

// A server that answers with the method, the path and the body, to /long with many bytes, and to /slow after two seconds or when
// the client has left, while this object lives.
class Echo {
 public:
  explicit Echo(const ServerLimits& limits = {})
      : server_(0, limits), thread_([this] {
          server_.run([](const HttpRequest& request) {
            if (request.path == "/long") return HttpAnswer{.body = std::string(long_answer, 'x')};
            if (request.path == "/slow") {
              for (int i = 0; i < 100 && !request.has_left(); ++i) std::this_thread::sleep_for(20ms);
            }
            return HttpAnswer{.body = request.method + " " + request.path + " " + request.body};
          });
        }) {}
  ~Echo() {
    server_.stop();
    thread_.join();
  }
  int port() const { return server_.port(); }

  int connected() const {
    const int number = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port()));
    REQUIRE(::connect(number, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return number;
  }

  // Sends bytes and returns all that comes back, within ten seconds. "PORT" in the bytes becomes the port. Without a whole
  // request, `ends` closes this side.
  std::string says(std::string bytes, bool ends = false) const {
    for (std::size_t at = 0; (at = bytes.find("PORT")) != bytes.npos;) bytes.replace(at, 4, std::to_string(port()));
    const int number = connected();
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(number, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<std::size_t>(count);
    }
    if (ends) ::shutdown(number, SHUT_WR);
    const std::string answer = all_from(number);
    ::close(number);
    return answer;
  }

  static std::string all_from(int number) {
    std::string answer;
    char block[4096];
    for (pollfd wanted{number, POLLIN, 0}; ::poll(&wanted, 1, 10'000) > 0;) {
      const ssize_t count = ::recv(number, block, sizeof block, 0);
      if (count <= 0) break;
      answer.append(block, static_cast<std::size_t>(count));
    }
    return answer;
  }

 private:
  LocalServer server_;
  std::thread thread_;
};

std::string status_of(const std::string& answer) { return answer.substr(0, 12); }
std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

const std::string host = "Host: 127.0.0.1:PORT\r\n";

}  // namespace

TEST_CASE("LocalServer answers requests of its own origin and refuses other origins") {
  const Echo echo;
  CHECK(body_of(echo.says("GET /a HTTP/1.1\r\n" + host + "\r\n")) == "GET /a ");
  CHECK(body_of(echo.says("POST /b HTTP/1.1\r\nhost: localhost:PORT\r\nContent-Length: 3\r\n\r\nxyzmore")) ==
        "POST /b xyz");
  CHECK(status_of(echo.says("GET / HTTP/1.1\r\n" + host + "Origin: http://127.0.0.1:PORT\r\n\r\n")) == "HTTP/1.1 200");
  for (const std::string& headers :
       {std::string("Host: evil.example\r\n"), std::string("Host: 127.0.0.1\r\n"),
        std::string("Host: 127.0.0.1:PORT.evil.example\r\n"), std::string(), host + "Origin: http://evil.example\r\n",
        host + "Origin: null\r\n", host + "Origin: http://127.0.0.1:1\r\n", host + "Sec-Fetch-Site: cross-site\r\n",
        host + "Sec-Fetch-Site: same-site\r\n"}) {
    CAPTURE(headers);
    CHECK(status_of(echo.says("GET /a HTTP/1.1\r\n" + headers + "\r\n")) == "HTTP/1.1 403");
  }
  const std::string answer = echo.says("GET /a HTTP/1.1\r\n" + host + "\r\n");
  for (const char* header : {"Cache-Control: no-store", "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY"}) {
    CHECK(answer.find(header) != std::string::npos);
  }
  CHECK(answer.find("Access-Control") == std::string::npos);
}

TEST_CASE("LocalServer refuses malformed and oversized requests") {
  const Echo echo;
  const auto status = [&](const std::string& bytes) { return status_of(echo.says(bytes)).substr(9); };
  for (const char* line :
       {"GET", "GET /a", "GET a HTTP/1.1", "GET /a HTTP/2.0", "G\x01T /a HTTP/1.1", "GET /\xff HTTP/1.1", ""}) {
    CAPTURE(line);
    CHECK(status(std::string(line) + "\r\n" + host + "\r\n") == "400");
  }
  CHECK(status("DELETE /a HTTP/1.1\r\n" + host + "\r\n") == "405");
  CHECK(status("POST /a HTTP/1.1\r\n" + host + "\r\n") == "411");
  CHECK(status("POST /a HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n") == "400");
  CHECK(status("POST /a HTTP/1.1\r\n" + host + "Content-Length: 65537\r\n\r\n") == "413");
  CHECK(status("POST /a HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999999\r\n\r\n") == "413");
  CHECK(status("POST /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == "501");
  CHECK(status("GET /a HTTP/1.1\r\n" + host + host + "\r\n") == "400");
  CHECK(status("GET /a HTTP/1.1\r\n" + host + " folded: x\r\n\r\n") == "400");
  CHECK(status("GET /a HTTP/1.1\r\n" + host + "A: x\ny\r\n\r\n") == "400");
  CHECK(status("GET /a HTTP/1.1\r\n" + host + "Long: " + std::string(17'000, 'x') + "\r\n\r\n") == "431");
  CHECK(status("GET /a HTTP/1.1\r\n" + host + "\r\n") == "200");
}

TEST_CASE("parse_request refuses malformed requests, and LocalServer answers after 200 of them") {
  std::mt19937 random(1);
  const std::string good = "POST /a HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 3\r\n\r\nabc";
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes = good;
    for (unsigned changes = random() % 4 + 1; changes > 0; --changes) {
      const std::size_t at = random() % bytes.size();
      if (random() % 3 == 0) {
        bytes.erase(at, random() % 9);
      } else {
        bytes[at] = static_cast<char>(random() % 256);
      }
      if (bytes.empty()) bytes = "x";
    }
    try {
      std::size_t missing = 0;
      const HttpRequest request = parse_request(bytes, missing);
      CHECK(request.body.size() <= bytes.size());
      CHECK(missing <= ServerLimits{}.body + ServerLimits{}.head);
    } catch (const HttpError& error) {
      ++refused;
      CHECK((error.status >= 400 && error.status <= 501));
    }
  }
  CHECK(refused > 2000);
  const Echo echo;
  for (int i = 0; i < 200; ++i) {
    std::string bytes(random() % 300, ' ');
    for (char& c : bytes) c = static_cast<char>(random() % 256);
    const std::string answer = echo.says(bytes, true);
    CHECK((answer.empty() || status_of(answer) == "HTTP/1.1 400"));
  }
  CHECK(status_of(echo.says("GET / HTTP/1.1\r\n" + host + "\r\n")) == "HTTP/1.1 200");
}

TEST_CASE("LocalServer closes slow and silent connections and serves others meanwhile") {
  const Echo echo({.connections = 3, .read = 400ms, .write = 400ms});
  const auto begin = std::chrono::steady_clock::now();
  const int slow = echo.connected(), silent = echo.connected();
  std::jthread trickle([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && ::send(slow, "G", 1, MSG_NOSIGNAL) == 1) std::this_thread::sleep_for(50ms);
  });
  CHECK(status_of(echo.says("GET / HTTP/1.1\r\n" + host + "\r\n")) == "HTTP/1.1 200");
  CHECK(Echo::all_from(silent).empty());
  CHECK(Echo::all_from(slow).empty());
  CHECK(std::chrono::steady_clock::now() - begin < 8s);  // 0.4 s on an idle machine
  trickle.request_stop();
  trickle.join();
  ::close(slow);
  ::close(silent);
}

TEST_CASE("LocalServer closes the connection of a reader that is too slow and serves others meanwhile") {
  CHECK(body_of(Echo().says("GET /long HTTP/1.1\r\n" + host + "\r\n")).size() == long_answer);
  const Echo echo({.write = 400ms});
  const int slow = echo.connected();
  const std::string request = fmt::format("GET /long HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", echo.port());
  REQUIRE(::send(slow, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
  CHECK(status_of(echo.says("GET / HTTP/1.1\r\n" + host + "\r\n")) == "HTTP/1.1 200");
  std::this_thread::sleep_for(1s);
  const std::string received = Echo::all_from(slow);
  CHECK(status_of(received) == "HTTP/1.1 200");
  CHECK(received.size() < long_answer);
  ::close(slow);
}

TEST_CASE("LocalServer drops the requests of clients that have left") {
  const Echo echo;
  const std::string request = fmt::format("GET /slow HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", echo.port());
  for (int i = 0; i < 30; ++i) {
    const int number = echo.connected();
    REQUIRE(::send(number, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
    ::close(number);
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(body_of(echo.says("GET /next HTTP/1.1\r\n" + host + "\r\n")) == "GET /next ");
  CHECK(std::chrono::steady_clock::now() - begin < 8s);  // 0.02 s on an idle machine; 60 s if all were answered
}

TEST_CASE("LocalServer answers beside 200 idle connections and readers that take nothing") {
  const Echo echo;
  std::vector<int> idle;
  const std::string request = fmt::format("GET /long HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", echo.port());
  for (int i = 0; i < 200; ++i) {
    idle.push_back(echo.connected());
    if (i % 80 == 0) ::send(idle.back(), request.data(), request.size(), MSG_NOSIGNAL);
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(body_of(echo.says("GET /next HTTP/1.1\r\n" + host + "\r\n")) == "GET /next ");
  CHECK(std::chrono::steady_clock::now() - begin <
        8s);  // 0.1 s on an idle machine; 60 s if each idle one held a place for 5 s
  for (const int number : idle) ::close(number);
}
