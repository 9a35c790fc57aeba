#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace heed {

// Notices when a process of a group dies, and then ends the others. Each process keeps a TCP connection to rank 0; the kernel
// closes it when the process ends, however that happens, and when its host answers no more for 8 seconds.
//
// Thread safety: a thread of its own waits for what arrives. The public functions are called by one other thread.
class Watch {
 public:
  // Calls of `names`, by rank: "rank 2 of 4 on host b". Rank 0 listens from here on.
  Watch(int rank, std::vector<std::string> names);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // How the others connect to this process; of rank 0.
  std::string invitation() const;
  // Connects to rank 0, or, of rank 0, takes the connections of all others; then the watch begins. Error after 30 seconds.
  void begin(std::string_view invitation);

  // After all processes have done their work: none of them is missed from here on.
  void finish();
  // After an error: rank 0 ends the others. Another process tells rank 0 `error`, which writes it, and ends.
  void abandon();
  [[noreturn]] void report(std::string_view error, int exit_code);

 private:
  void connect(std::string_view invitation);
  void accept_all();
  void run();
  // One frame of the process whose connection it is. False when it was the last.
  bool take(int connection);
  void end_others(int exit_code);
  [[noreturn]] void end_all(const std::string& text, int exit_code);

  const int rank_;
  const std::vector<std::string> names_;
  std::string token_;
  int listening_ = -1;
  std::vector<int> connections_;  // of rank 0: by rank, -1 for itself; else that to rank 0; the same from begin() on
  int wake_[2] = {-1, -1};
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace heed
