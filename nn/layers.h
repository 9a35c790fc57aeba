#pragma once
#include "autograd/array.h"
#include "autograd/ops.h"
#include "nn/parameters.h"

namespace heed {

enum class Bias { no, yes };

// y = x W + b: (..., in) -> (..., out). weight (in, out), bias (out).
struct Linear {
  Tensor weight, bias;
  Linear(Scope scope, int in, int out, Bias bias = Bias::yes);
  Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }
};

// Rows of weight (count, d) by number: ids (...) -> (..., d).
struct Embedding {
  Tensor weight;
  Embedding(Scope scope, int count, int d, double deviation = 1.0);
  Tensor operator()(const Ids& ids) const { return embedding(weight, ids); }
};

struct LayerNorm {
  Tensor gain, bias;  // (d)
  double eps;
  LayerNorm(Scope scope, int d, double eps = 1e-5);
  Tensor operator()(const Tensor& x) const { return layer_norm(x, gain, bias, eps); }
};

// Adds a learned vector for each position: x (B, T, d), T <= max_length. Its entries begin with deviation 1 to weigh as
// much as words that were scaled by sqrt(d) (Vaswani et al. 2017, section 3.4): smaller ones are learned late or never.
struct LearnedPositions {
  Tensor weight;  // (max_length, d)
  LearnedPositions(Scope scope, int max_length, int d, double deviation = 1.0);
  Tensor operator()(const Tensor& x) const;
};

// PE(t, 2i) = sin(t / 10000^(2i/d)), PE(t, 2i + 1) = cos(same) (Vaswani et al. 2017, section 3.5): (T, d).
Tensor sinusoidal_positions(int T, int d, DType dtype = DType::float32);

}  // namespace heed
