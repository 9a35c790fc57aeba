#include <heed/heed.h>

using namespace heed;

// Learns y = 2 x - 1 in `steps` steps, and returns the last loss.
extern "C" double learn(int steps) {
  Parameters parameters;
  const Linear layer(Scope(parameters, 1), 1, 1);
  Optimizer adam(parameters);
  const Tensor x = tensor({4, 1}, {-1, 0, 1, 2}), y = 2 * x - 1;
  double loss = 0;
  for (int step = 0; step < steps; ++step) {
    const Recording recording;
    const Tensor squared_error = mean(square(layer(x) - y));
    adam.step(backward(squared_error), 0.05);
    loss = squared_error.item();
  }
  return loss;
}
