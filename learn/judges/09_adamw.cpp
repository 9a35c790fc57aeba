#include "09_adamw.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/optim/optimizer.h>

#include <fmt/format.h>

#include <cmath>

namespace learn {
namespace {

using Values = std::vector<double>;

struct AdamFaults {
  bool m_uncorrected = false, v_uncorrected = false, from_zero = false, decay_in_gradient = false,
       decay_without_lr = false, decay_missing = false;
  bool eps_inside = false, not_squared = false, betas_swapped = false, ascent = false, root_missing = false,
       forgotten = false, v_of_gradient = false;
};

std::vector<Values> faulty(Values p, const std::vector<Values>& gradients, const Values& options,
                           const AdamFaults& fault = {}) {
  const double lr = options[0], beta1 = options[fault.betas_swapped ? 2 : 1],
               beta2 = options[fault.betas_swapped ? 1 : 2], eps = options[3];
  const double decay = fault.decay_missing ? 0 : options[4];
  Values m(p.size()), v(p.size());
  std::vector<Values> result;
  int t = fault.from_zero ? -1 : 0;
  for (const Values& all : gradients) {
    ++t;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double g = all[i] + (fault.decay_in_gradient ? decay * p[i] : 0);
      if (!fault.decay_in_gradient) p[i] -= (fault.decay_without_lr ? 1 : lr) * decay * p[i];
      if (fault.forgotten) m[i] = v[i] = 0;
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * (fault.not_squared ? std::abs(g) : fault.v_of_gradient ? g : g * g);
      const double m_hat = fault.m_uncorrected ? m[i] : m[i] / (1 - std::pow(beta1, t)),
                   v_hat = fault.v_uncorrected ? v[i] : v[i] / (1 - std::pow(beta2, t));
      const double divisor = fault.eps_inside     ? std::sqrt(v_hat + eps)
                             : fault.root_missing ? v_hat + eps
                                                  : std::sqrt(v_hat) + eps;
      p[i] += (fault.ascent ? lr : -lr) * m_hat / divisor;
    }
    result.push_back(p);
  }
  if (fault.forgotten) m = v = Values(p.size());
  result.push_back(m);
  result.push_back(v);
  return result;
}

Results results(const std::vector<Values>& steps) {
  Results r;
  for (std::size_t i = 0; i + 2 < steps.size(); ++i)
    r.push_back({{fmt::format("p after step {} ", i + 1), fmt::format("第 {} 步之后的 p", i + 1)}, steps[i]});
  r.push_back({{"moments.m", "moments.m"}, steps[steps.size() - 2]});
  r.push_back({{"moments.v", "moments.v"}, steps.back()});
  return r;
}

}  // namespace

Step step_09(const AdamWSolution& yours) {
  const Values start{1, -2, 0.5}, no_decay{0.1, 0.9, 0.99, 1e-3, 0}, with_decay{0.1, 0.9, 0.99, 1e-3, 0.2};
  const std::vector<Values> gradients{{0.3, -0.1, 2}, {0.2, 0.4, -1}, {-0.5, 0.01, 0.7}}, first{gradients[0]};
  const auto mistakes = [=](const std::vector<Values>& g, const Values& options) {
    const auto entry = [&](const char* name, const Text& what, const std::string& formula, const AdamFaults& fault) {
      return Mistake{name, what, formula, [=] { return results(faulty(start, g, options, fault)); }};
    };
    std::vector<Mistake> all{
        entry("ascent",
              {"The step goes up the gradient: the loss grows. Subtract.", "沿梯度方向走了：损失会变大。应该减。"},
              "p = p [[-]] lr m_hat / (sqrt(v_hat) + eps)", {.ascent = true}),
        entry("uncorrected",
              {"The bias correction is left out: m and v start at 0, so the first steps have the wrong size.",
               "没有偏差修正：m 和 v 从 0 开始，最初几步的大小不对。"},
              "m_hat = m [[/ (1 - beta1^t)]]        v_hat = v [[/ (1 - beta2^t)]]",
              {.m_uncorrected = true, .v_uncorrected = true}),
        entry("v_uncorrected", {"v is without its bias correction.", "v 没有做偏差修正。"},
              "v_hat = v [[/ (1 - beta2^t)]]", {.v_uncorrected = true}),
        entry("m_uncorrected", {"m is without its bias correction.", "m 没有做偏差修正。"},
              "m_hat = m [[/ (1 - beta1^t)]]", {.m_uncorrected = true}),
        entry("from_zero",
              {"The first step has t = 0: the correction divides by 0. Increase t before you use it.",
               "第一步用了 t = 0：偏差修正除以了 0。要先加 1 再用。"},
              "[[t = t + 1]]", {.from_zero = true}),
        entry("eps_inside",
              {"eps is added inside the root. It belongs outside, to sqrt(v_hat).",
               "eps 加在了根号里面。应该加在外面：sqrt(v_hat) + eps。"},
              "p = p - lr m_hat / (sqrt(v_hat) [[+ eps]])", {.eps_inside = true}),
        entry("not_squared",
              {"v averages the size of the gradient, not its square.", "v 平均的是梯度的绝对值，而不是它的平方。"},
              "v = beta2 v + (1 - beta2) [[g^2]]", {.not_squared = true}),
        entry("root_missing",
              {"The step is divided by v_hat itself. Divide by its square root.",
               "除以了 v_hat 本身，应该除以它的平方根。"},
              "p = p - lr m_hat / ([[sqrt]](v_hat) + eps)", {.root_missing = true})};
    all.push_back(
        entry("v_of_gradient",
              {"v averages the gradient, not its square. Its root is then nan where the gradient is negative.",
               "v 平均的是梯度，而不是它的平方。梯度是负数时，它的平方根是 nan。"},
              "v = beta2 v + (1 - beta2) [[g^2]]", {.v_of_gradient = true}));
    all.push_back(entry("forgotten",
                        {"The moments are forgotten between steps: write to moments.m and moments.v, not to copies.",
                         "两步之间忘掉了矩：要写入 moments.m 和 moments.v，而不是它们的副本。"},
                        "m = [[beta1 m]] + (1 - beta1) g", {.forgotten = true}));
    all.push_back(entry("betas_swapped", {"beta1 and beta2 are swapped.", "beta1 和 beta2 用反了。"},
                        "m = [[beta1]] m + (1 - [[beta1]]) g", {.betas_swapped = true}));
    if (options[4] > 0) {
      all.push_back(entry("decay_in_gradient",
                          {"The decay is added to the gradient, as in Adam. AdamW decays the parameter itself, so that "
                           "the division by sqrt(v_hat) does not reach the decay.",
                           "衰减加进了梯度，那是 Adam 的做法。AdamW 直接让参数衰减，衰减不受除以 sqrt(v_hat) 的影响。"},
                          "p = p - [[lr weight_decay p]]", {.decay_in_gradient = true}));
      all.push_back(entry("decay_without_lr", {"The decay is without the factor lr.", "衰减漏乘了 lr。"},
                          "p = p - [[lr]] weight_decay p", {.decay_without_lr = true}));
      all.push_back(entry("decay_missing", {"The weight decay is missing.", "缺了权重衰减。"},
                          "[[p = p - lr weight_decay p]]", {.decay_missing = true}));
    }
    return all;
  };
  const auto check = [=](const Text& what, const Text& input, const std::vector<Values>& g, const Values& options) {
    return Check{what,
                 "adamw_step",
                 input,
                 [=] { return results(yours.steps(start, g, options)); },
                 [=] { return results(faulty(start, g, options)); },
                 mistakes(g, options)};
  };
  Step step{9, "09_adamw", {"AdamW", "AdamW"}, {}};
  step.checks = {
      check({"one step, without decay", "一步，没有衰减"}, "p = [1, -2, 0.5], g = [0.3, -0.1, 2], lr 0.1, eps 0.001",
            first, no_decay),
      check(
          {"three steps, without decay", "三步，没有衰减"},
          {"the same, then g = [0.2, 0.4, -1], [-0.5, 0.01, 0.7]", "同上，然后 g = [0.2, 0.4, -1]、[-0.5, 0.01, 0.7]"},
          gradients, no_decay),
      check({"three steps with weight decay", "三步，带权重衰减"},
            {"the same, with weight_decay 0.2", "同上，weight_decay 0.2"}, gradients, with_decay),
      {{"heed's optimiser takes the same steps", "heed 的优化器走的步子相同"},
       "adamw_step",
       {"the same", "同上"},
       [=] {
         Results steps = results(yours.steps(start, gradients, with_decay));
         steps.resize(gradients.size(), {"", 0.0});  // without the moments
         return steps;
       },
       [=] {
         heed::Parameters parameters;
         const heed::Tensor p = variable(heed::tensor({3}, start, heed::DType::float64));
         parameters.add("p", p);
         heed::Optimizer adam(
             parameters,
             {.method = heed::OptimizerOptions::Method::adamw, .beta2 = 0.99, .eps = 1e-3, .weight_decay = 0.2});
         std::vector<Values> steps;
         for (const Values& g : gradients) {
           heed::Gradients all = [&] {
             const heed::Recording recording;
             return backward(sum(p * heed::tensor({3}, g, heed::DType::float64)));
           }();
           adam.step(all, 0.1);
           steps.push_back(p.to_vector());
         }
         steps.resize(steps.size() + 2);
         Results expected = results(steps);
         expected.resize(gradients.size(), {"", 0.0});
         return expected;
       }}};
  return step;
}

}  // namespace learn
