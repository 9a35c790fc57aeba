#include <heed/explain/progress.h>

#include <algorithm>
#include <utility>

namespace heed {

Passes::Passes(std::string what, double all, const OnProgress& progress)
    : what_(std::move(what)), all_(all), progress_(progress), start_(std::chrono::steady_clock::now()) {}

void Passes::next(double length) {
  if (!progress_) return;
  const auto now = std::chrono::steady_clock::now();
  if (begun_ <= first_) start_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (seconds_ == 0 && seconds > 0.3) seconds_ = all_ * seconds / (begun_ - first_);
  progress_(what_, std::min(begun_ / all_, 1.0), seconds_);
  if (begun_ == 0) first_ = length;
  begun_ += length;
}

}  // namespace heed
