#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

// A small HTTP/1.1 server for one page on this machine. Every request is bounded in time and in bytes, headers included.
namespace heed {

struct HttpRequest {
  std::string method, path;                    // "POST", "/token/read"
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::function<bool()> has_left = [] {
    return false;
  };  // whether the client has closed its side: nobody awaits the answer
};

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
};

/// Why a request is refused.
struct HttpError {
  int status;        // 400, 403, 405, 411, 413, 431 or 501
  std::string what;  // text of the answer
};

struct ServerLimits {
  std::size_t head = 16 << 10, body = 64 << 10;  // bytes of the request line with the headers, and of the body
  int connections = 64;                          // at a time; a further one closes the oldest that has sent no request
  std::chrono::milliseconds read{5'000};         // until the whole request has arrived
  std::chrono::milliseconds write{60'000};       // until the whole answer has been taken
};

/// Returns the request that `bytes` begin with, and in `missing` how many more bytes to read at most; 0: the request is
/// complete. Throws HttpError for bytes that are not a request or exceed the limits.
HttpRequest parse_request(std::string_view bytes, std::size_t& missing, const ServerLimits& limits = {});

/// Answers requests on 127.0.0.1, each on a connection of its own. Idle and slow clients do not delay others, and the requests of
/// clients that have closed their side are dropped.
///
///   LocalServer server(0);   // any free port
///   fmt::print("http://127.0.0.1:{}/\n", server.port());
///   server.run([](const HttpRequest& request) { return HttpAnswer{.body = request.path}; });
class LocalServer {
 public:
  /// Listens on `port`; 0: any free one. Throws Error if it is taken.
  explicit LocalServer(int port, const ServerLimits& limits = {});
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  int port() const { return port_; }

  using Answer = std::function<HttpAnswer(const HttpRequest&)>;
  /// Answers until stop() is called. Calls `answer` for one request at a time, on a thread of its own. It refuses requests whose
  /// Host is not this server, or whose Origin is another one: a page of another site, or a name that resolves to 127.0.0.1,
  /// reaches nothing.
  void run(const Answer& answer);
  /// Ends run() within a fraction of a second, after the requests that are being answered. Any thread may call it.
  void stop() { stopped_ = true; }

 private:
  HttpAnswer checked_answer(const HttpRequest& request, const Answer& answer) const;

  ServerLimits limits_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace heed
