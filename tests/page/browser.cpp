#include "browser.h"

#include <heed/autograd/error.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace heed {
namespace fs = std::filesystem;
namespace {

constexpr int patience_ms = 20'000;

struct Pipe {
  int ends[2];
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("browser: no pipe: {}", std::strerror(errno));
  }
};

std::string from_base64(const std::string& text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned gathered = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) break;
    gathered = gathered << 6 | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(gathered >> bits & 0xff);
  }
  return bytes;
}

}  // namespace

std::string Browser::program() {
  const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const fs::path file = fs::path(path.substr(begin, end - begin)) / name;
      if (::access(file.c_str(), X_OK) == 0) return file.string();
    }
    begin = end + 1;
  }
  return "";
}

Browser::Files::Files() {
  std::string name = (fs::temp_directory_path() / "heed-browser-XXXXXX").string();
  if (!::mkdtemp(name.data())) fail("browser: no temporary directory: {}", std::strerror(errno));
  path = name;
  downloads = path / "downloads";
  fs::create_directory(downloads);
}

// Processes that the browser started may still be writing for a moment.
Browser::Files::~Files() {
  std::error_code error;
  for (int i = 0; i < 100 && fs::exists(path, error); ++i) {
    fs::remove_all(path, error);
    if (error) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Browser::Process::~Process() {
  if (number > 0) {
    ::kill(-number, SIGKILL);
    ::waitpid(number, nullptr, 0);
  }
  ::close(to);
  ::close(from);
}

Browser::Browser() {
  const std::string file = program(), user_data = "--user-data-dir=" + (files_.path / "profile").string();
  const std::vector<const char*> arguments{
      file.c_str(), "--headless",
      // it opens only our own file, and root cannot have a sandbox
      "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-component-update",
      "--disable-background-networking", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
      "--disable-background-timer-throttling", "--remote-debugging-pipe", user_data.c_str(), "about:blank", nullptr};
  Pipe commands, answers;
  process_.number = ::fork();
  if (process_.number < 0) fail("browser: cannot start {}: {}", file, std::strerror(errno));
  ::setpgid(process_.number, process_.number);  // here and in the child, so that it holds before either continues
  if (process_.number == 0) {
    const int quiet = ::open("/dev/null", O_WRONLY);
    // Moves the pipes away from 3 and 4, which chromium uses.
    const int in = ::fcntl(commands.ends[0], F_DUPFD, 20), out = ::fcntl(answers.ends[1], F_DUPFD, 20);
    ::dup2(quiet, STDOUT_FILENO);
    ::dup2(quiet, STDERR_FILENO);
    ::dup2(in, 3);
    ::dup2(out, 4);
    ::execv(file.c_str(), const_cast<char* const*>(arguments.data()));
    ::_exit(127);
  }
  ::close(commands.ends[0]);
  ::close(answers.ends[1]);
  process_.to = commands.ends[1];
  process_.from = answers.ends[0];
  session_ = call("Target.attachToTarget", {{"targetId", first_tab()}, {"flatten", true}}).at("sessionId");
  for (const char* domain : {"Page", "Runtime", "Log", "Network"}) call(std::string(domain) + ".enable");
  call("Emulation.setFocusEmulationEnabled", {{"enabled", true}});  // frames are drawn for the focused page
  call("Browser.setDownloadBehavior", {{"behavior", "allow"}, {"downloadPath", files_.downloads.string()}});
}

std::string Browser::first_tab() {
  for (int i = 0; i < 1000; ++i) {
    const Json targets = call("Target.getTargets").at("targetInfos");
    for (const Json& target : targets) {
      if (target.at("type") == "page") return target.at("targetId");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fail("browser: it opened no tab");
}

Json Browser::receive() {
  while (true) {
    const std::size_t end = received_.find('\0');
    if (end != std::string::npos) {
      const Json message = Json::parse(received_.substr(0, end));
      received_.erase(0, end + 1);
      return message;
    }
    pollfd waiting{process_.from, POLLIN, 0};
    if (::poll(&waiting, 1, patience_ms) <= 0) fail("browser: no answer within {} s", patience_ms / 1000);
    char block[1 << 16];
    const ssize_t count = ::read(process_.from, block, sizeof block);
    if (count <= 0) fail("browser: it ended");
    received_.append(block, static_cast<std::size_t>(count));
  }
}

Json Browser::call(const std::string& method, const Json& parameters) {
  Json message = {{"id", ++calls_}, {"method", method}, {"params", parameters}};
  if (!session_.empty() && !method.starts_with("Browser.")) message["sessionId"] = session_;
  const std::string text = message.dump() + '\0';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::write(process_.to, text.data() + sent, text.size() - sent);
    if (count <= 0) fail("browser: it does not listen: {}", std::strerror(errno));
    sent += static_cast<std::size_t>(count);
  }
  while (true) {
    const Json answer = receive();
    if (!answer.contains("id")) {
      note(answer);
    } else if (answer["id"] == calls_) {
      if (answer.contains("error")) fail("browser: {}: {}", method, answer["error"].dump());
      return answer["result"];
    }
  }
}

void Browser::note(const Json& event) {
  const std::string method = event.at("method");
  const Json& what = event.at("params");
  if (method == "Tracing.dataCollected") trace_.insert(trace_.end(), what.at("value").begin(), what.at("value").end());
  traced_ = traced_ || method == "Tracing.tracingComplete";
  if (method == "Runtime.consoleAPICalled" || method == "Runtime.exceptionThrown" || method == "Log.entryAdded") {
    complaints_.push_back(what.dump());
  } else if (method == "Page.javascriptDialogOpening") {
    complaints_.push_back("dialog: " + what.at("message").get<std::string>());
  } else if (method == "Network.requestWillBeSent") {
    const std::string url = what.at("request").at("url");
    const bool own = url.starts_with("data:") || url.starts_with("blob:") || url == "about:blank";
    if (!own && !url.starts_with(opened_)) complaints_.push_back("request: " + url);
  }
}

void Browser::open(const fs::path& file, int width, bool dark, const std::string& hash) {
  opened_ = (file.string().starts_with("http://") ? "" : "file://") + file.string();
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", 800}, {"deviceScaleFactor", 1}, {"mobile", false}});
  const Json scheme = {{"name", "prefers-color-scheme"}, {"value", dark ? "dark" : "light"}};
  call("Emulation.setEmulatedMedia", {{"features", Json::array({scheme})}});
  complaints_.clear();
  call("Page.navigate", {{"url", "about:blank"}});  // otherwise a changed hash would not reload the page
  call("Page.navigate", {{"url", opened_ + hash}});
  wait_for("location.href !== 'about:blank' && document.readyState === 'complete'");
  settle();
}

Json Browser::run(const std::string& javascript) {
  const Json answer =
      call("Runtime.evaluate", {{"expression", javascript}, {"awaitPromise", true}, {"returnByValue", true}});
  if (answer.contains("exceptionDetails")) {
    const Json& thrown = answer["exceptionDetails"];
    fail("{}: {}", javascript, thrown.value("exception", Json::object()).value("description", thrown.dump()));
  }
  return answer.at("result").value("value", Json());
}

std::string Browser::text(const std::string& javascript) {
  std::string text = run(javascript).get<std::string>();
  for (std::size_t at; (at = text.find("\u00a0")) != std::string::npos;) text.replace(at, 2, " ");
  return text;
}

void Browser::wait_for(const std::string& javascript) {
  for (int i = 0; i < 1000; ++i) {
    if (run(javascript) == true) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fail("browser: never true: {}", javascript);
}

std::string Browser::screenshot() {
  const Json clip =
      run("({x: 0, y: 0, width: document.documentElement.clientWidth, height: document.documentElement.scrollHeight, "
          "scale: 1})");
  return from_base64(
      call("Page.captureScreenshot", {{"format", "png"}, {"captureBeyondViewport", true}, {"clip", clip}}).at("data"));
}

std::vector<Browser::Task> Browser::tasks(const std::function<void()>& during) {
  trace_.clear();
  traced_ = false;
  const Json categories = Json::array({"toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"});
  call("Tracing.start", {{"transferMode", "ReportEvents"}, {"traceConfig", {{"includedCategories", categories}}}});
  call("Network.disable");  // otherwise the page's thread would decode the file twice
  during();
  call("Network.enable");
  call("Tracing.end");
  while (!traced_) note(receive());
  // The page's thread draws the frames.
  const auto frame =
      std::ranges::find_if(trace_, [](const Json& event) { return event.value("name", "") == "FireAnimationFrame"; });
  if (frame == trace_.end()) fail("browser: drew no frame in the meantime");
  std::vector<Task> result;
  for (const Json& event : trace_) {
    const bool is_task = event.value("name", "").ends_with("RunTask") && event.contains("dur") &&
                         event["pid"] == (*frame)["pid"] && event["tid"] == (*frame)["tid"];
    if (is_task) result.push_back({event.value("tdur", 0.0) / 1000, event["dur"].get<double>() / 1000});
  }
  return result;
}

void Browser::settle() { run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"); }

void Browser::mouse(const char* type, double x, double y, int buttons) {
  call("Input.dispatchMouseEvent", {{"type", type},
                                    {"x", x},
                                    {"y", y},
                                    {"button", buttons ? "left" : "none"},
                                    {"buttons", buttons},
                                    {"clickCount", buttons}});
}

// Waits until the place has been the same in three frames: parts above it may still be drawn.
Json Browser::place_of(const std::string& javascript, double across, double down) {
  return run(fmt::format(R"(new Promise((done) => {{
    let before = '', times = 0;
    const look = () => {{
      const at = {};
      at.scrollIntoView({{block: 'center'}});
      const box = at.getBoundingClientRect(), place = [box.x + box.width * {}, box.y + box.height * {}], now = place.join();
      times = now === before ? times + 1 : 1;
      before = now;
      times === 3 ? done(place) : requestAnimationFrame(look);
    }};
    look();
  }}))",
                         javascript, across, down));
}

void Browser::point_at(const std::string& javascript, double across, double down) {
  const Json place = place_of(javascript, across, down);
  mouse("mouseMoved", place[0], place[1], 0);
  settle();
}

void Browser::click(const std::string& javascript, double across, double down) {
  const Json place = place_of(javascript, across, down);
  mouse("mousePressed", place[0], place[1], 1);
  mouse("mouseReleased", place[0], place[1], 1);
  settle();
}

void Browser::press(const std::string& key) {
  static const std::map<std::string, int> codes{{"Enter", 13},      {" ", 32},         {"End", 35},
                                                {"Home", 36},       {"ArrowLeft", 37}, {"ArrowUp", 38},
                                                {"ArrowRight", 39}, {"ArrowDown", 40}};
  for (const char* type : {"keyDown", "keyUp"}) {
    Json event = {{"type", type}, {"key", key}, {"code", key == " " ? "Space" : key}};
    event["windowsVirtualKeyCode"] = codes.at(key);
    if (key == " ") event["text"] = key;
    if (key == "Enter") event["text"] = "\r";
    call("Input.dispatchKeyEvent", event);
  }
  settle();
}

std::vector<std::string> Browser::complaints() {
  run("0");  // earlier messages have arrived by then
  return complaints_;
}

}  // namespace heed
