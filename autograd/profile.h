#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heed {

/// Times this thread's operations, recorded or not, while it is open. The time between the end of one piece of work and the end
/// of the next counts for the latter. The constructor throws Error when the thread already has a profile.
///
///     const Profile profile;
///     train_step();
///     for (const auto& [name, total] : profile.totals()) fmt::print("{} {} ns\n", name, total.duration);
class Profile {
 public:
  [[nodiscard]] Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// A piece of work: an operation, its backward ("linear backward"), or a name given to note_work().
  struct Work {
    const std::string* name;
    std::int64_t begin, duration;  ///< in nanoseconds; begin counts from the start of the profile
    double flops;                  ///< in matrix products
    double bytes;                  ///< size of its input and output tensors
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

/// Adds the time since the last piece of work to `name`, if a profile is open on this thread.
void note_work(const std::string& name, double bytes = 0);

/// Returns whether a profile is open on this thread.
bool is_profiling();
/// Adds `count` floating-point operations to the next piece of work. Any thread that computes for a profiled thread may call it.
void count_flops(double count);

}  // namespace heed
