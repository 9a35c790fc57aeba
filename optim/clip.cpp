#include <heed/autograd/ops.h>
#include <heed/optim/clip.h>

#include <cmath>

namespace heed {

void check_finite(const char* function, const Tensor& variable, const Tensor& gradient) {
  if (is_finite(gradient)) return;
  throw NotFinite(fmt::format(
      "{}: the gradient of {} is not finite; nothing was changed. Open a FiniteCheck before the forward pass "
      "to see the operation",
      function, described(variable)));
}

double global_norm(const Gradients& gradients) {
  double total = 0;
  for (const auto& [variable, gradient] : gradients) {
    const double sum = sum_of_squares(gradient);
    if (std::isfinite(sum)) note_finite(gradient);
    total += sum;
  }
  return std::sqrt(total);
}

double clip_factor(double norm, double max_norm) {
  if (!(max_norm > 0)) fail("clip_factor: max_norm must be positive, got {}", max_norm);
  if (norm < 0) fail("clip_factor: a norm is at least 0, got {}", norm);
  return std::isfinite(norm) && norm > max_norm ? max_norm / (norm + 1e-6) : 1;
}

double clip_by_global_norm(Gradients& gradients, double max_norm) {
  const double norm = global_norm(gradients), factor = clip_factor(norm, max_norm);
  if (!std::isfinite(norm)) {
    for (const auto& [variable, gradient] : gradients) check_finite("clip_by_global_norm", variable, gradient);
    fail("clip_by_global_norm: the squares of the gradients overflow: their norm is {}", norm);
  }
  if (factor == 1) return norm;
  for (auto& [variable, gradient] : gradients) {
    if (Recorder::follows(gradient)) {
      gradient = gradient * factor;
      continue;
    }
    if (gradient.tape_node().recording != 0) gradient = gradient.detach();  // its recording has ended
    scale_in_place(gradient, factor);
  }
  return norm;
}

double clip_by_global_norm(Gradients& gradients, double max_norm, const Parameters& parameters) {
  Gradients own;
  for (const auto& [name, parameter] : parameters) {
    if (const Tensor* const gradient = gradients.find(parameter)) own.set(parameter, *gradient);
  }
  const double norm = clip_by_global_norm(own, max_norm);
  for (const auto& [variable, gradient] : own) gradients.set(variable, gradient);
  return norm;
}

void clip_by_value(Gradients& gradients, double limit) {
  if (!(limit > 0)) fail("clip_by_value: the limit must be positive, got {}", limit);
  for (const auto& [variable, gradient] : gradients) check_finite("clip_by_value", variable, gradient);
  for (auto& [variable, gradient] : gradients) gradient = clamp(gradient, -limit, limit);
}

}  // namespace heed
