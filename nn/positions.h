#pragma once
#include <heed/nn/layers.h>

namespace heed {

/// Adds a learned vector for each position: x (B, T, d), T <= max_length. The default deviation 1 matches token
/// embeddings scaled by sqrt(d) (Vaswani et al. 2017, section 3.4); with smaller deviations the model learns positions
/// late or never.
struct LearnedPositions {
  std::string name;
  Parameter weight;  ///< (max_length + offset, d)
  int offset = 0;    ///< row of position 0
  /// Normal numbers of this deviation.
  LearnedPositions(Scope scope, int max_length, int d, double deviation = 1.0, int offset = 0);
  /// Adds the rows for positions from `first` on, the position of x's first token.
  Tensor operator()(const Tensor& x, std::int64_t first = 0) const;
  /// Returns the vectors of `count` positions from `first` on, (count, d).
  Tensor rows(std::int64_t first, std::int64_t count) const;
};

/// Returns the sinusoidal position vectors (T, d) of the positions from `first` on: PE(t, 2i) = sin(t / 10000^(2i/d)) and
/// PE(t, 2i + 1) = cos(t / 10000^(2i/d)) (Vaswani et al. 2017, section 3.5).
Tensor sinusoidal_positions(int T, int d, DType dtype = DType::float32, int first = 0);

}  // namespace heed
