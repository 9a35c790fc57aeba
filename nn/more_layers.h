#pragma once
#include <heed/autograd/more_ops.h>
#include <heed/nn/layers.h>

#include <vector>

namespace heed {

// Layers of today's language models.

// y = x / sqrt(mean(x^2) + eps) * gain over the last axis (Zhang & Sennrich 2019, arXiv:1910.07467): (..., d) -> (..., d).
struct RMSNorm {
  std::string name;
  double eps;
  Tensor gain;  // (d)
  RMSNorm(Scope scope, int d, double eps = 1e-6);
  Tensor operator()(const Tensor& x) const;
};

// y = (silu(x gate) * (x up)) down (Shazeer 2020, arXiv:2002.05202): (..., d_model) -> (..., d_model), `width` between.
struct SwiGLU {
  std::string name;
  Linear gate, up, down;
  SwiGLU(Scope scope, int d_model, int width, Bias bias = Bias::no);
  Tensor operator()(const Tensor& x) const;
};

// Rotary positions (Su et al. 2021, arXiv:2104.09864): pair i of the token at position t is turned by t frequencies[i].
// No parameters. A shorter list turns the first features alone.
struct RotaryPositions {
  Tensor cosine, sine;  // (max_length, pairs)
  RotaryPairs pairs;
  RotaryPositions(int max_length, const std::vector<double>& frequencies, RotaryPairs pairs = RotaryPairs::halves,
                  DType dtype = DType::float32);
  // x (..., T, d), whose first token is at position `first`. Error beyond max_length.
  Tensor operator()(const Tensor& x, std::int64_t first = 0) const;
};
std::vector<double> rotary_frequencies(int d, double base = 10000);  // base^(-2i/d), i from 0 to d/2 - 1; d even

}  // namespace heed
