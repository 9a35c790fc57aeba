#pragma once
#include <heed/autograd/random.h>
#include <heed/nn/parameters.h>
#include <heed/optim/lbfgs.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/weight_average.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace heed {

/// All that a training loop of your own needs to continue with the same bits, in one safetensors file: parameters, the optimiser's
/// moments, an average of weights, generators and the number of the step. It refers to them.
///
///     const TrainingState state{.parameters = parameters, .optimizer = &adam, .randoms = {{"data", &random}}};
///     for (auto step = state.load("runs/mine.safetensors"); step < 1000; ++step) {   // from 0 without the file
///       ...
///       if (step % 100 == 99) state.save("runs/mine.safetensors", step + 1);
///     }
struct TrainingState {
  /// A further network of the loop, such as the judge of a GAN or the target network of a DQN.
  struct Network {
    Parameters parameters;
    Optimizer* optimizer = nullptr;    ///< or none
    WeightAverage* average = nullptr;  ///< or none
  };

  Parameters parameters;
  Optimizer* optimizer = nullptr;            ///< or none
  Lbfgs* lbfgs = nullptr;                    ///< or none
  WeightAverage* average = nullptr;          ///< or none
  std::map<std::string, Random*> randoms{};  ///< by a name of your choice
  /// Further networks by a name of your choice, without dots: `{{"judge", {.parameters = of_judge, .optimizer = &judge_adam}}}`.
  std::map<std::string, Network> networks{};

  /// Writes the file, which appears whole or not at all. `step` is the first that is not done. Throws Error for a network whose name
  /// is empty or has a dot.
  void save(const std::filesystem::path& path, std::int64_t step) const;
  /// Reads the file and returns its step; 0 without the file. Throws Error for a missing, extra or misshapen
  /// tensor, generator or network; discard the objects then.
  std::int64_t load(const std::filesystem::path& path) const;
};

}  // namespace heed
