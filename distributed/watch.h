#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace heed {

/// Notices when a process of a group dies, and then ends the others. Each process keeps a TCP connection to rank 0. The
/// kernel closes it when the process ends for any reason, and when its host does not answer for 8 seconds.
///
/// Thread safety: an internal thread waits for messages. One other thread calls the public functions.
class Watch {
 public:
  /// Takes the names of all processes, by rank: "rank 2 of 4 on host b". Rank 0 listens from here on.
  Watch(int rank, std::vector<std::string> names);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Returns the address at which the others connect to rank 0, which calls it.
  std::string invitation() const;
  /// Connects to rank 0; rank 0 takes the connections of all others. Then the watch begins. Throws Error after 30
  /// seconds.
  void begin(std::string_view invitation);

  /// Ends the watch after all processes have done their work.
  void finish();
  /// Ends all processes after an error. Another process than rank 0 sends `error` to rank 0, which writes it, and ends.
  void abandon();
  [[noreturn]] void report(std::string_view error, int exit_code);

 private:
  void connect(std::string_view invitation);
  void accept_all();
  void run();
  // Handles one frame from the process at the other end. Returns false after the last frame.
  bool take(int connection);
  void end_others(int exit_code);
  [[noreturn]] void end_all(const std::string& text, int exit_code);

  const int rank_;
  const std::vector<std::string> names_;
  std::string token_;
  int listening_ = -1;
  // on rank 0: by rank, -1 for itself; elsewhere the one to rank 0; constant after begin()
  std::vector<int> connections_;
  int wake_[2] = {-1, -1};
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace heed
