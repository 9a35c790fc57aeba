#pragma once
#include "tokenizers/internal/json.h"

#include <filesystem>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace heed {

// Headless Chromium, controlled by the DevTools protocol through two pipes (its option --remote-debugging-pipe: JSON
// messages that end in a zero byte). One tab.
class Browser {
 public:
  // Returns the path of chromium; empty when it is not installed.
  static std::string program();

  Browser();  // throws Error when it does not start

  // Opens a file, or an address that begins with http://, at the position `hash` ("#view=why"), in a window of this
  // size, and waits until it is loaded.
  void open(const std::filesystem::path& file, int width = 1280, bool dark = false, const std::string& hash = "");

  // Returns the value of the expression; waits for promises. Throws Error with the script's message when it throws.
  Json run(const std::string& javascript);
  std::string text(const std::string& javascript);  // with spaces instead of no-break spaces
  // Waits until the expression is true. Throws Error after 10 s.
  void wait_for(const std::string& javascript);
  std::string screenshot();  // of the whole page, as a PNG file
  void settle();             // waits until the page is redrawn

  // Returns the tasks of the page's thread during `during`. While a task runs, the page does not draw or answer. If
  // other programs use the processor, `wall` is longer.
  struct Task {
    double processor, wall;  // ms
  };
  std::vector<Task> tasks(const std::function<void()>& during);

  // Moves the pointer to, or clicks, a point of the element that the expression returns: fractions of its width and
  // height.
  void point_at(const std::string& javascript, double across = 0.5, double down = 0.5);
  void click(const std::string& javascript, double across = 0.5, double down = 0.5);
  void press(const std::string& key);  // an arrow key, Home, End, Enter or " "

  // Returns console messages since the page was opened, script errors, dialogs, and each request except for those
  // of the file or address itself, data: and blob: URLs.
  std::vector<std::string> complaints();

  const std::filesystem::path& downloads() const { return files_.downloads; }

 private:
  Json call(const std::string& method, const Json& parameters = Json::object());
  Json receive();
  std::string first_tab();
  void note(const Json& event);
  Json place_of(const std::string& javascript, double across, double down);
  void mouse(const char* type, double x, double y, int buttons);

  struct Files {  // removed at the end
    std::filesystem::path path, downloads;
    Files();
    ~Files();
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
  };
  struct Process {  // terminated at the end, with its children
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
