#include "optim/clip.h"

#include "autograd/ops.h"
#include "autograd/parallel.h"

#include <cmath>
#include <numeric>

namespace heed {
namespace {

// In double, tile by tile: the same for any number of threads.
double sum_of_squares(const Tensor& gradient) {
  constexpr std::int64_t grain = 16384;
  const Tensor dense = contiguous(gradient);
  std::vector<double> tiles(static_cast<std::size_t>((dense.elements() + grain - 1) / grain));
  dispatch(dense.dtype(), [&]<class T>() {
    const T* g = dense.data<T>();
    parallel_for(dense.elements(), grain, [&](std::int64_t begin, std::int64_t end) {
      double total = 0;
      for (std::int64_t i = begin; i < end; ++i) total += static_cast<double>(g[i]) * static_cast<double>(g[i]);
      tiles[static_cast<std::size_t>(begin / grain)] = total;
    });
  });
  return std::accumulate(tiles.begin(), tiles.end(), 0.0);
}

}  // namespace

double clip_by_global_norm(Gradients& gradients, double max_norm) {
  if (!(max_norm > 0)) fail("clip_by_global_norm: max_norm must be positive, got {}", max_norm);
  double total = 0;
  for (const auto& [number, gradient] : gradients) total += sum_of_squares(gradient);
  const double norm = std::sqrt(total);
  if (!std::isfinite(norm) || norm <= max_norm) return norm;
  // A new tensor each: several variables may share one gradient's storage.
  for (auto& [number, gradient] : gradients) gradient = gradient * (max_norm / (norm + 1e-6));
  return norm;
}

}  // namespace heed
