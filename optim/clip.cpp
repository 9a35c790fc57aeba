#include "autograd/cpu/kernels.h"
#include "autograd/cpu/sums.h"

#include <heed/autograd/ops.h>
#include <heed/optim/clip.h>

#include <cmath>
#include <numeric>

namespace heed {
namespace {

// In double, tile by tile: the same for any number of threads.
double sum_of_squares(const Tensor& gradient) {
  constexpr std::int64_t grain = 16384;
  const Tensor dense = contiguous(gradient);
  std::vector<double> tiles(static_cast<std::size_t>((dense.numel() + grain - 1) / grain));
  dispatch(dense.dtype(), [&]<class T>() {
    const T* g = dense.data<T>();
    cpu::parallel_for(dense.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      tiles[static_cast<std::size_t>(begin / grain)] = cpu::sum_terms<double>(end - begin, [=](std::int64_t i) {
        const double value = static_cast<double>(g[begin + i]);
        return value * value;
      });
    });
  });
  return std::accumulate(tiles.begin(), tiles.end(), 0.0);
}

void scale(Tensor& gradient, double factor) {
  // several variables may share one
  Tensor scaled = gradient.may_be_overwritten() ? gradient : Tensor(gradient.shape(), gradient.dtype());
  dispatch(scaled.dtype(), [&]<class T>() {
    const cpu::Operand<T> from = cpu::operand<T>(gradient, scaled.shape());
    cpu::map(
        scaled.shape(), scaled.mutable_data<T>(), [s = static_cast<T>(factor)](T value) { return value * s; }, from);
  });
  gradient = scaled;
}

}  // namespace

double clip_by_global_norm(Gradients& gradients, double max_norm) {
  if (!(max_norm > 0)) fail("clip_by_global_norm: max_norm must be positive, got {}", max_norm);
  double total = 0;
  for (const auto& [number, gradient] : gradients) total += sum_of_squares(gradient);
  const double norm = std::sqrt(total);
  if (!std::isfinite(norm) || norm <= max_norm) return norm;
  const double factor = max_norm / (norm + 1e-6);
  for (auto& [number, gradient] : gradients) scale(gradient, factor);
  return norm;
}

}  // namespace heed
