#include <heed/heed.h>

// Learns y = 2 x - 1 with one layer.
int main() {
  heed::Parameters parameters;
  const heed::Linear layer(heed::Scope(parameters, 1), 1, 1);
  heed::Optimizer adam(parameters, {});
  const heed::Tensor x = heed::tensor({4, 1}, {-1, 0, 1, 2}), y = 2 * x - 1;
  double loss = 1;
  for (int step = 0; step < 500; ++step) {
    const heed::Recording recording;
    const heed::Tensor squared_error = mean(square(layer(x) - y));
    adam.step(backward(squared_error), 0.05);
    loss = squared_error.item();
  }
  fmt::print("loss {:.2g} with {}\n", loss, heed::blas_description());
  return loss < 1e-6 ? 0 : 1;
}
