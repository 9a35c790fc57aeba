// Data-parallel training of one's own loop. One process and `mpirun -n 4 example_data_parallel` end with the same bits.
#include <heed/heed.h>

using namespace heed;

int main() {
  const ParallelReducer reducer(Communicator::launched());  // 1: the processes that mpirun started, or this one alone
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Linear hidden(scope / "hidden", 2, 32), out(scope / "out", 32, 1);
  Optimizer adam(parameters);
  constexpr int examples_per_part = 16;
  const std::vector<double> counts(8, examples_per_part);  // of 8 micro-batches
  for (int step = 0; step <= 200; ++step) {
    const auto loss_of = [&](int part) {
      Random random = Random(7).stream(step).stream(part);  // each micro-batch has its own examples
      const Tensor x = random_normal({examples_per_part, 2}, random);
      return mean(square(out(gelu(hidden(x))) - sum(square(x), {1}, true)));
    };
    const auto [losses, gradients] = mean_gradients(parameters, counts, loss_of, reducer);  // 2: instead of backward()
    adam.step(gradients, 0.01);
    if (reducer.rank() > 0 || step % 100 != 0) continue;  // 3: one process writes
    fmt::print("step {:3}  loss {:.9f}\n", step, mean_over_parts(losses, counts));
  }
}
