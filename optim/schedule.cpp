#include <heed/optim/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heed {

double learning_rate(const Schedule& schedule, std::int64_t step) {
  const auto& [kind, lr, warmup, steps, least] = schedule;
  if (kind != Schedule::Kind::constant && steps < 1) {
    fail("learning_rate: a {} schedule needs steps, the number of steps of the run, got {}", name_of(kind), steps);
  }
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  const int length = std::max(steps - warmup, 1);
  const double u = std::min(static_cast<double>(step - warmup) / static_cast<double>(length), 1.0);
  switch (kind) {
    case Schedule::Kind::constant:
      return lr;
    case Schedule::Kind::linear:
      return least + (lr - least) * (1 - u);
    case Schedule::Kind::cosine:
      return least + (lr - least) * (1 + std::cos(std::numbers::pi * u)) / 2;
  }
  fail("learning_rate: {} is not a schedule kind", static_cast<int>(kind));
}

}  // namespace heed
