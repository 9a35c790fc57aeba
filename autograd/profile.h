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
  Profile& operator=(const Profile&) = delete;

  /// A piece of work: an operation, its backward ("linear backward"), or a name given to note_work().
  struct Work {
    const std::string* name;
    std::int64_t begin, duration;  // nanoseconds, since the profile began
    double flops;                  // of matrix products
    double bytes;                  // of its input and output tensors
  };
  /// The sums over all pieces of one name.
  struct Total {
    std::int64_t calls = 0, duration = 0;
    double flops = 0, bytes = 0;
  };
  /// Returns the first 200,000 pieces.
  const std::vector<Work>& work() const;
  /// Returns the sums over all pieces, by name.
  const std::map<std::string, Total>& totals() const;
};

/// Charges the time since the last piece of work to `name`, if a profile is open on this thread.
void note_work(const std::string& name, double bytes = 0);

/// Returns whether a profile is open on this thread.
bool is_profiling();
/// Adds multiplications and additions to the next piece of work. Any thread that computes for a profiled one may call it.
void count_flops(double count);

}  // namespace heed
