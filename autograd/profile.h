#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heed {

// One piece of work: an operation, its backward, or what note_work() named.
struct Work {
  const char* name;
  bool backward = false;
  std::int64_t begin = 0, duration = 0;  // nanoseconds since the profile began
  double flops = 0;                      // of matrix products
  double bytes = 0;                      // of tensors that it was given and gave
};

// Where the time goes. While one stands, this thread's operations are timed, recorded or not: what passes between the end
// of one piece of work and the end of the next is the latter's. One at a time.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;

  const std::vector<Work>& work() const;
};

// Charges the time since the last piece of work to `name`, of static lifetime, when a profile stands.
void note_work(const char* name, double bytes = 0, bool backward = false);

bool is_profiling();             // on this thread
void count_flops(double count);  // called by any thread that multiplies for a profiled one

}  // namespace heed
