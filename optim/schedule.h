#pragma once
#include <heed/autograd/enum_names.h>

#include <cstdint>

namespace heed {

/// The learning rate of step t = 0, 1, ..., steps - 1, with u = (t - warmup) / (steps - warmup):
///
///     t < warmup  lr (t + 1) / (warmup + 1)
///     constant    lr
///     linear      least + (lr - least) (1 - u)
///     cosine      least + (lr - least) (1 + cos(pi u)) / 2      (Loshchilov & Hutter 2017, arXiv:1608.03983, equation 5)
///
///     const Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 1e-3, .warmup = 100, .steps = 2000};
///     optimizer.step(gradients, learning_rate(schedule, step));
struct Schedule {
  /// The form after the warm-up.
  enum class Kind { constant, linear, cosine } kind = Kind::constant;
  double lr = 1e-3;
  int warmup = 0;
  int steps = 0;     ///< of the run; linear and cosine need it
  double least = 0;  ///< the rate that linear and cosine reach after the last step
};
template <>
inline constexpr EnumName<Schedule::Kind> enum_names<Schedule::Kind>[] = {
    {Schedule::Kind::constant, "constant"}, {Schedule::Kind::linear, "linear"}, {Schedule::Kind::cosine, "cosine"}};

/// Returns the learning rate of a step. Steps from `steps` on have u = 1. Throws Error for linear and cosine without `steps`.
double learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace heed
