#include <heed/autograd/ops.h>
#include <heed/optim/clip.h>

#include <cmath>

namespace heed {

double clip_by_global_norm(Gradients& gradients, double max_norm) {
  if (!(max_norm > 0)) fail("clip_by_global_norm: max_norm must be positive, got {}", max_norm);
  double total = 0;
  for (const auto& [number, gradient] : gradients) total += sum_of_squares(gradient);
  const double norm = std::sqrt(total);
  if (!std::isfinite(norm) || norm <= max_norm) return norm;
  const double factor = max_norm / (norm + 1e-6);
  for (auto& [number, gradient] : gradients) scale_in_place(gradient, factor);
  return norm;
}

}  // namespace heed
