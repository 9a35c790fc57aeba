#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/ops.h>
#include <heed/nn/hook.h>
#include <heed/nn/linearised.h>
#include <heed/nn/parameters.h>

namespace heed {

/// @file
/// Layers show their values to a Hook (nn/hook.h) under the names of their parameters.

/// Options of Linear.
struct LinearOptions {
  bool bias = true;
  Init init = Init::xavier_uniform();  ///< of the weight
  Init bias_init = Init::zeros();
};

/// Returns y = x W + b: (..., in) -> (..., out). torch.nn.Linear stores its weight as (out, in): transpose it before
/// Parameters::load(), which cannot detect the difference when in == out.
///
///     const Linear layer(scope / "out", 64, 10);
///     const Tensor logits = layer(x);   // (B, 64) -> (B, 10)
struct Linear {
  std::string name;
  Parameter weight;                                                  ///< (in, out)
  Parameter bias;                                                    ///< (out); undefined without a bias
  Linear(Scope scope, int in, int out, LinearOptions options = {});  ///< makes its parameters in `scope`
  Tensor operator()(const Tensor& x) const;                          ///< x W + b
  /// Returns the map of the columns [begin, end), all by default. It is the same at every point.
  Linearised linearised(std::int64_t begin = 0, std::int64_t end = -1) const;
};

/// Returns rows of weight (count, d) by index: ids (...) -> (..., d).
struct Embedding {
  std::string name;
  Parameter weight;
  DType dtype;                                                       ///< of the rows
  Embedding(Scope scope, int count, int d, double deviation = 1.0);  ///< normal numbers of this deviation
  Tensor operator()(const Ids& ids) const;                           ///< the rows
};

}  // namespace heed
