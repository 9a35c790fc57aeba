#include <heed/autograd/ops.h>
#include <heed/optim/clip.h>

#include <cmath>

namespace heed {

double global_norm(const Gradients& gradients) {
  double total = 0;
  for (const auto& [variable, gradient] : gradients) total += sum_of_squares(gradient);
  return std::sqrt(total);
}

double clip_factor(double norm, double max_norm) {
  if (!(max_norm > 0)) fail("clip_factor: max_norm must be positive, got {}", max_norm);
  if (norm < 0) fail("clip_factor: a norm is at least 0, got {}", norm);
  return std::isfinite(norm) && norm > max_norm ? max_norm / (norm + 1e-6) : 1;
}

double clip_by_global_norm(Gradients& gradients, double max_norm) {
  const double norm = global_norm(gradients), factor = clip_factor(norm, max_norm);
  if (factor == 1) return norm;
  for (auto& [variable, gradient] : gradients) scale_in_place(gradient, factor);
  return norm;
}

}  // namespace heed
