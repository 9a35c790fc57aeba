#include "autograd/cpu/kernels.h"
#include "autograd/cpu/vector_math.h"
#include "autograd/internal/reduced.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace heed {
namespace {

// Losses compare elementwise, without broadcasting.
void check_target(const char* operation, const Tensor& x, const Tensor& target) {
  cpu::check_one_dtype(operation, x, target);
  if (x.shape() == target.shape()) return;
  fail("{}: x and target must have equal shapes, got {} and {}{}", operation, to_string(x.shape()),
       to_string(target.shape()), x.numel() == target.numel() ? ". Did you mean to reshape the target?" : "");
}

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  check_target("mse_loss", x, target);
  return reduced(square(x - target), reduction);
}

static const Operation huber_operation(
    "huber_loss", "y = c (|d| - c / 2), d = x - target, c = min(|d|, delta)",
    "dx = dy min(max(d, -delta), delta), dtarget = -dx", [] {
      std::vector<GradientSample> samples;
      for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
        for (const double delta : {0.01, 100.0}) {  // all differences beyond it, or within it
          samples.push_back({fmt::format("(2, 3) {} {}", static_cast<int>(reduction), delta),
                             {{{2, 3}, Argument::Values::distinct}, {{2, 3}, Argument::Values::distinct}},
                             [=](auto& x) {
                               const Tensor target = delta < 1 ? x[1] + 0.05 : x[1];  // not equal to x
                               return huber_loss(x[0], target, reduction, delta);
                             }});
        }
      }
      return samples;
    });
Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction, double delta) {
  check_target("huber_loss", x, target);
  if (!(delta > 0)) fail("huber_loss: delta must be greater than 0, got {}", delta);
  const Tensor each = cpu::map("huber_loss", x, target, [delta](auto v, auto t) {
    const auto limit = static_cast<decltype(v)>(delta), d = std::abs(v - t), c = d < limit ? d : limit;
    return c * (d - c / 2);
  });
  return reduced(record(
                     huber_operation, {&x, &target}, each, Saved(x, target),
                     [delta](const Tensor& dy, const NeedsInputGrad& needs, auto& X, auto& T) {
                       const Tensor dx = cpu::map("huber_loss", dy, X, T, [delta](auto g, auto v, auto t) {
                         const auto limit = static_cast<decltype(v)>(delta), d = v - t, e = d < -limit ? -limit : d;
                         return g * (e > limit ? limit : e);
                       });
                       return std::vector{dx, needs[1] ? -dx : Tensor()};
                     },
                     Recordable([delta](const Tensor& dy, auto& X, auto& T) {
                       const Tensor dx = dy * clamp(X - T, -delta, delta);
                       return std::vector{dx, -dx};
                     })),
                 reduction);
}

static const Operation bce_operation(
    "bce_with_logits", "y = max(x, 0) - t x + ln(1 + e^-|x|)", "dx = dy (sigmoid(x) - t), dt = -dy x", [] {
      std::vector<GradientSample> samples;
      for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
        samples.push_back({fmt::format("(2, 3) {}", static_cast<int>(reduction)),
                           {{{2, 3}}, {{2, 3}}},
                           [reduction](auto& x) { return bce_with_logits(x[0], x[1], reduction); }});
      }
      return samples;
    });
Tensor bce_with_logits(const Tensor& x, const Tensor& target, Reduction reduction, const Tensor& positive_weight) {
  check_target("bce_with_logits", x, target);
  if (positive_weight.defined()) {
    if (broadcast_shapes("bce_with_logits: positive_weight", x.shape(), positive_weight.shape()) != x.shape()) {
      fail("bce_with_logits: positive_weight {} must broadcast to x, {}", to_string(positive_weight.shape()),
           to_string(x.shape()));
    }
    const Tensor& w = positive_weight;
    return reduced((1 - target) * x + ((w - 1) * target + 1) * softplus(-x), reduction);
  }
  const Tensor each = cpu::map("bce_with_logits", x, target, cpu::on_lanes([](auto v, auto t) {
                                 const decltype(v) zero{};
                                 const auto rest = cpu::log1p(cpu::exp(v > zero ? -v : v));
                                 return (v > zero ? (1 - t) * v : -t * v) + rest;
                               }));
  return reduced(record(
                     bce_operation, {&x, &target}, each, Saved(x, target),
                     [](const Tensor& dy, const NeedsInputGrad& needs, auto& X, auto& T) {
                       Tensor dx, dt;
                       if (needs[0]) {
                         dx = cpu::map("bce_with_logits", dy, X, T, cpu::on_lanes<double>([](auto g, auto v, auto t) {
                                         return g * (cpu::sigmoid(v) - t);
                                       }));
                       }
                       if (needs[1]) dt = -(dy * X);
                       return std::vector{dx, dt};
                     },
                     Recordable([](const Tensor& dy, auto& X, auto& T) {
                       return std::vector{dy * (sigmoid(X) - T), -(dy * X)};
                     })),
                 reduction);
}

double accuracy(const Tensor& logits, const Ids& labels, std::int32_t ignored_label, int axis) {
  check_defined("accuracy", {&logits});
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const int classes = logits.rank() < 1 ? 0 : checked_axis("accuracy", axis, logits.rank());
  if (logits.rank() < 1 || logits.size(classes) < 1 || logits.size(classes) > most) {
    fail("accuracy: expected logits (..., C), C from 1 to 2^31 - 1, got {}", to_string(logits.shape()));
  }
  const Ids best = argmax(logits, classes);
  if (best.shape() != labels.shape()) {
    fail("accuracy: logits {} need labels {}, got {}", to_string(logits.shape()), to_string(best.shape()),
         to_string(labels.shape()));
  }
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    check_label("accuracy", labels[i], i, logits.size(classes), ignored_label);
  }
  const std::int64_t ignored = std::count(labels.data(), labels.data() + labels.numel(), ignored_label);
  const std::int64_t rows = best.numel() - ignored;
  if (rows == 0) {
    fail("accuracy: expected at least one row, got logits {} with {} ignored labels", to_string(logits.shape()),
         ignored);
  }
  const Tensor greatest = contiguous(gather(logits.detach(), unsqueeze(best, classes), classes));
  dispatch(greatest.dtype(), [&, values = labels.data()]<class T>() {
    for (std::int64_t i = 0; i < labels.numel(); ++i) {
      if (values[i] == ignored_label || !std::isnan(greatest.data<T>()[i])) continue;
      fail("accuracy: expected logits that are numbers, got NaN in row {} of logits {}", i, to_string(logits.shape()));
    }
  });
  const std::int64_t right = std::inner_product(
      best.data(), best.data() + best.numel(), labels.data(), std::int64_t{0}, std::plus<>(),
      [&](std::int32_t found, std::int32_t label) { return found == label && label != ignored_label; });
  return static_cast<double>(right) / static_cast<double>(rows);
}

}  // namespace heed
