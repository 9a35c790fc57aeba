#pragma once
#include <chrono>
#include <functional>
#include <string>

namespace heed {

/// Receives from time to time the name of a long computation, the share of it that is done, and about how many seconds all of
/// it takes (0: unknown).
///
///     const OnProgress progress = [](const std::string& what, double share, double) { fmt::print("{}: {}\n", what, share); };
using OnProgress = std::function<void(const std::string& what, double share, double seconds)>;

/// Tells OnProgress of a computation in `all` passes of about equal length. The estimate comes after the first few tenths of a
/// second; the first pass, which warms up, is not part of it. A pass may count as several.
///
///     Passes passes("causes", 20, progress);
///     for (int i = 0; i < 20; ++i) passes.next(), compute(i);
class Passes {
 public:
  Passes(std::string what, double all, const OnProgress& progress);  ///< of `all` passes
  void next(double length = 1);                                      ///< a pass begins that counts as `length`

 private:
  std::string what_;
  double all_, begun_ = 0, first_ = 0, seconds_ = 0;
  const OnProgress& progress_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace heed
