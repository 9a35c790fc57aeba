#pragma once
#include "files/json.h"

#include <filesystem>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace heed {

// Chromium without a window, spoken to by the DevTools protocol through two pipes (its option --remote-debugging-pipe:
// JSON messages that end in a zero byte). One tab.
class Browser {
 public:
  // Where chromium is; empty when it is not installed.
  static std::string program();

  Browser();  // Error when it does not start

  // Opens a file, at the place that `hash` names ("#view=why"), in a window of this size; waits until it is read whole.
  void open(const std::filesystem::path& file, int width = 1280, bool dark = false, const std::string& hash = "");

  // What the expression gives; a promise is waited for. Error with the script's own message when it throws.
  Json run(const std::string& javascript);
  std::string text(const std::string& javascript) { return run(javascript).get<std::string>(); }
  // Waits until the expression is true: Error after 10 s.
  void wait_for(const std::string& javascript);
  std::string screenshot();  // of the whole page, as a PNG file
  void settle();             // until the page has drawn what it was told

  // The tasks of the page's thread while `during` happens; nothing else is drawn or answered as long as one of them lasts.
  // Where other programs take the processor, `wall` is longer.
  struct Task {
    double processor, wall;  // ms
  };
  std::vector<Task> tasks(const std::function<void()>& during);

  // Moves the pointer to, or clicks, a place of the element that the expression gives: fractions of its width and height.
  void point_at(const std::string& javascript, double across = 0.5, double down = 0.5);
  void click(const std::string& javascript, double across = 0.5, double down = 0.5);
  void press(const std::string& key);  // an arrow key, Home, End, Enter or " "

  // What was written to the console since the page was opened, scripts' errors, dialogs, and each request but for the file
  // itself and for what the page made of its own (data: and blob:).
  std::vector<std::string> complaints();

  const std::filesystem::path& downloads() const { return files_.downloads; }

 private:
  Json call(const std::string& method, const Json& parameters = Json::object());
  Json receive();
  std::string first_tab();
  void note(const Json& event);
  Json place_of(const std::string& javascript, double across, double down);
  void mouse(const char* type, double x, double y, int buttons);

  struct Files {  // gone at the end
    std::filesystem::path path, downloads;
    Files();
    ~Files();
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
  };
  struct Process {  // ended at the end, with what it started
    pid_t number = -1;
    int to = -1, from = -1;
    Process() = default;
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
  };

  Files files_;
  Process process_;
  std::string received_, session_, opened_;
  int calls_ = 0;
  std::vector<std::string> complaints_;
  std::vector<Json> trace_;
  bool traced_ = false;
};

}  // namespace heed
