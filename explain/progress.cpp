#include <heed/explain/progress.h>

#include <utility>

namespace heed {

Passes::Passes(std::string what, double all, const OnProgress& progress)
    : what_(std::move(what)), all_(all), progress_(progress), start_(std::chrono::steady_clock::now()) {}

void Passes::next() {
  if (!progress_) return;
  const auto now = std::chrono::steady_clock::now();
  if (begun_ <= 1) start_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (seconds_ == 0 && seconds > 0.3) seconds_ = all_ * seconds / (begun_ - 1);
  progress_(what_, begun_++ / all_, seconds_);
}

}  // namespace heed
