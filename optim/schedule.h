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
///     step        lr gamma^k, k = (t - warmup) / step_size rounded down
///     warmup_stable_decay  lr, then linear to `least` in the last decay_steps steps (Hu et al. 2024, arXiv:2404.06395)
///     one_cycle   rises from lr / 25 to lr in `warmup` steps, by default 3/10 of all, and falls to `least`, by default
///                 lr / 250000, both along a cosine (Smith & Topin 2019, arXiv:1708.07120; as torch's OneCycleLR)
///
/// step() of an optimiser takes the rate as a number, so any other function of the step serves as well.
///
///     const Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 1e-3, .warmup = 100, .steps = 2000};
///     optimizer.step(gradients, learning_rate(schedule, step));
struct Schedule {
  /// The form after the warm-up.
  enum class Kind { constant, linear, cosine, step, warmup_stable_decay, one_cycle } kind = Kind::constant;
  double lr = 1e-3;
  int warmup = 0;
  int steps = 0;        ///< of the run; all kinds but constant need it, step unless step_size is set
  double least = 0;     ///< the rate after the last step, for kinds that fall to one
  int step_size = 0;    ///< step: steps between two changes; 0: a third of `steps`
  double gamma = 0.1;   ///< step: factor of each change
  int decay_steps = 0;  ///< warmup_stable_decay: length of the decay; 0: a tenth of `steps`
};
template <>
inline constexpr EnumName<Schedule::Kind> enum_names<Schedule::Kind>[] = {
    {Schedule::Kind::constant, "constant"},
    {Schedule::Kind::linear, "linear"},
    {Schedule::Kind::cosine, "cosine"},
    {Schedule::Kind::step, "step"},
    {Schedule::Kind::warmup_stable_decay, "warmup_stable_decay"},
    {Schedule::Kind::one_cycle, "one_cycle"}};

/// Returns the learning rate of a step. Steps from `steps` on have the rate of step `steps`. Throws Error for a negative
/// step, and for a kind without its `steps` or `step_size`.
double learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace heed
