#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heed {

/// Measures where the time goes. While one is open, it times this thread's operations, recorded or not: the time between the
/// end of one piece of work and the end of the next counts for the latter. Throws Error when the thread has one already.
class Profile {
 public:
  [[nodiscard]] Profile();
  ~Profile();
  Profile(const Profile&) = delete;

  // A piece of work: an operation, its backward ("linear backward"), or what note_work() named.
  struct Work {
    const std::string* name;
    std::int64_t begin, duration;  // nanoseconds, since the profile began
    double flops;                  // of matrix products
    double bytes;                  // of the tensors that it was given and gave
  };
  struct Total {
    std::int64_t calls = 0, duration = 0;
    double flops = 0, bytes = 0;
  };
  const std::vector<Work>& work() const;               // the first 200,000 pieces
  const std::map<std::string, Total>& totals() const;  // of all
};

// Charges the time since the last piece of work to `name`, when a profile is open on this thread.
void note_work(const std::string& name, double bytes = 0);

bool is_profiling();             // on this thread
void count_flops(double count);  // called by any thread that multiplies for a profiled one

}  // namespace heed
