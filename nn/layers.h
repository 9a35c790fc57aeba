#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/ops.h>
#include <heed/nn/hook.h>
#include <heed/nn/parameters.h>

namespace heed {

// Layers show their values to a Hook (nn/hook.h) under their names, which are those of their parameters.

// Whether a layer has one.
enum class Bias { no, yes };

// y = x W + b: (..., in) -> (..., out). weight (in, out), bias (out).
struct Linear {
  std::string name;
  Tensor weight, bias;
  Linear(Scope scope, int in, int out, Bias bias = Bias::yes);
  Tensor operator()(const Tensor& x) const;
};

// Rows of weight (count, d) by number: ids (...) -> (..., d).
struct Embedding {
  std::string name;
  Tensor weight;
  Embedding(Scope scope, int count, int d, double deviation = 1.0);
  Tensor operator()(const Ids& ids) const;
};

// y = (x - mean) / sqrt(variance + eps) * gain + bias over the last axis: (..., d) -> (..., d).
struct LayerNorm {
  std::string name;
  double eps;
  Tensor gain, bias;  // (d)
  LayerNorm(Scope scope, int d, double eps = 1e-5);
  Tensor operator()(const Tensor& x) const;
};

// Adds a learned vector for each position: x (B, T, d), T <= max_length. Its entries begin with deviation 1 to weigh as
// much as words that were scaled by sqrt(d) (Vaswani et al. 2017, section 3.4): smaller ones are learned late or never.
struct LearnedPositions {
  std::string name;
  Tensor weight;  // (max_length, d)
  LearnedPositions(Scope scope, int max_length, int d, double deviation = 1.0);
  Tensor operator()(const Tensor& x, std::int64_t first = 0) const;  // first: position of x's first token
};

// PE(t, 2i) = sin(t / 10000^(2i/d)), PE(t, 2i + 1) = cos(same) (Vaswani et al. 2017, section 3.5), for t from `first`: (T, d).
Tensor sinusoidal_positions(int T, int d, DType dtype = DType::float32, int first = 0);

}  // namespace heed
