#pragma once
#include <heed/autograd/tensor.h>

#include <functional>
#include <vector>

namespace heed::tape {

struct ValueAndGradients {
  Tensor value;                   // ()
  std::vector<Tensor> gradients;  // of each input
};

// Returns f(x), a scalar, and its derivatives, as autograd/derivatives.h does for one tensor. Each element of x becomes an input of
// its own: frozen tensors get a gradient, and other uses of a tensor are constants. Throws Error when f(x) depends on no input.
ValueAndGradients value_and_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                      const std::vector<Tensor>& x);

}  // namespace heed::tape
