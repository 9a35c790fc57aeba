// Why three matrices? A token asks with its query x W_Q, is found by its key x W_K and contributes its value x W_V.
// This program learns one task with three matrices and with two of them tied to one, from five seeds each, and counts
// the correct answers.
#include "train/experiment.h"

#include <heed/autograd/record.h>
#include <heed/explain/evaluation.h>
#include <heed/optim/clip.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace {

using namespace heed;

// Two small layers, stopped before all variants have learned the task, to show which one learns fastest.
Config small(Tie tie, std::uint64_t seed) {
  Config config;
  config.seed = seed;
  config.data.kind = TaskKind::chinese;
  config.data.sentences = 3600;
  config.data.held_out = 900;
  config.model.block.attention.d_model = 32;
  config.model.block.attention.tie = tie;
  config.optim.schedule.steps = 400;
  config.train.batch_size = 32;
  return config;
}

double accuracy_after_training(const Config& config) {
  Experiment e = make_experiment(config);
  Optimizer optimizer(e.model.parameters, optimizer_options(e));
  for (int step = 0; step < config.optim.schedule.steps; ++step) {
    const Recording recording;
    Gradients gradients = backward(e.model.loss(training_batch(e, step)));
    clip_by_global_norm(gradients, config.optim.clip);
    optimizer.step(gradients, learning_rate(config.optim.schedule, step));
  }
  return evaluate(e.model, e.held_out).accuracy;
}

}  // namespace

int main() {
  constexpr int seeds = 5;
  std::printf("Held-out accuracy after %d steps, %d seeds\n\n", small(Tie::none, 1).optim.schedule.steps, seeds);
  std::printf("%-28s%8s%10s%8s%8s\n", "matrices", "mean", "deviation", "least", "most");
  for (const auto& [tie, name] : {std::pair(Tie::none, "W_Q, W_K, W_V"), std::pair(Tie::K_is_V, "W_Q, W_K = W_V"),
                                  std::pair(Tie::Q_is_K, "W_Q = W_K, W_V")}) {
    std::vector<double> accuracy;
    for (int seed = 1; seed <= seeds; ++seed) accuracy.push_back(accuracy_after_training(small(tie, seed)));
    const double mean = std::accumulate(accuracy.begin(), accuracy.end(), 0.0) / seeds;
    double squares = 0;
    for (const double a : accuracy) squares += (a - mean) * (a - mean);
    const auto [least, most] = std::minmax_element(accuracy.begin(), accuracy.end());
    std::printf("%-28s%8.3f%10.3f%8.3f%8.3f\n", name, mean, std::sqrt(squares / (seeds - 1)), *least, *most);
  }
}
