#include <heed/optim/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heed {

namespace {

// Returns the value between `from` (u = 0) and `to` (u = 1) on half a period of a cosine.
double between(double from, double to, double u) { return to + (from - to) * (1 + std::cos(std::numbers::pi * u)) / 2; }

double one_cycle(const Schedule& schedule, double step) {
  const double start = schedule.lr / 25, end = schedule.least > 0 ? schedule.least : start / 1e4;
  const double last = schedule.steps - 1, peak = schedule.warmup > 0 ? schedule.warmup : 0.3 * schedule.steps - 1;
  if (step <= peak && peak > 0) return between(start, schedule.lr, step / peak);
  return between(schedule.lr, end, last > peak ? std::min((step - peak) / (last - peak), 1.0) : 1);
}

}  // namespace

double learning_rate(const Schedule& schedule, std::int64_t step) {
  using Kind = Schedule::Kind;
  const auto& [kind, lr, warmup, steps, least, step_size, gamma, decay_steps] = schedule;
  if (kind != Kind::constant && steps < 1 && !(kind == Kind::step && step_size > 0)) {
    fail("learning_rate: a {} schedule needs steps, the number of steps of the run, got {}", name_of(kind), steps);
  }
  if (step < 0) fail("learning_rate: expected a step of at least 0, got {}", step);
  if (kind == Kind::one_cycle) return one_cycle(schedule, static_cast<double>(step));
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  const int length = std::max(steps - warmup, 1);
  const double u = std::min(static_cast<double>(step - warmup) / static_cast<double>(length), 1.0);
  switch (kind) {
    case Kind::constant:
      return lr;
    case Kind::linear:
      return least + (lr - least) * (1 - u);
    case Kind::cosine:
      return between(lr, least, u);
    case Kind::step:
      return lr * std::pow(gamma, static_cast<double>((step - warmup) / (step_size > 0 ? step_size : (steps + 2) / 3)));
    case Kind::warmup_stable_decay: {
      const double decay = decay_steps > 0 ? decay_steps : std::max(steps / 10, 1);
      const double left = std::max(static_cast<double>(steps - step), 0.0);
      return least + (lr - least) * std::min(left / decay, 1.0);
    }
    case Kind::one_cycle:
      break;  // above
  }
  fail("learning_rate: {} is not a schedule kind", static_cast<int>(kind));
}

}  // namespace heed
