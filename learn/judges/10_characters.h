#pragma once
#include "given/models.h"
#include "judge.h"
#include "python.h"

#include <heed/optim/optimizer.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace learn {

/// What a model of characters is trained on, and the random numbers by which it writes.
struct CharacterTraining {
  std::size_t T = 32;
  std::vector<std::int32_t> text, held_out;
  std::vector<std::vector<std::size_t>> starts;  ///< of the windows of each step
  std::vector<std::size_t> held_out_starts;
  std::vector<double> uniform;  ///< in [0, 1), for each character to write
  std::int32_t newline = 0;     ///< stands before the first character
};
struct CharacterRun {
  std::vector<double> losses;  ///< of each step
  double held_out = 0;
  std::vector<std::int32_t> written;
};

/// The code that the learner wrote, and what the judge does with it in the learner's language.
struct CharactersSolution {
  using Ids = heed::Ids;
  using Text32 = std::vector<std::int32_t>;
  std::function<std::pair<Ids, Ids>(const Text32& text, const std::vector<std::size_t>& starts, std::size_t T)> windows;
  std::function<heed::Tensor(const CharacterModel& model, const Ids& ids)> logits;
  std::function<std::size_t(const std::vector<double>& logits, double temperature, double uniform)> draw;
  /// Returns the losses of four steps of AdamW with the same windows.
  std::function<std::vector<double>(const CharacterModel& model, const Ids& inputs, const Ids& targets, double lr)>
      four_steps;
  std::function<CharacterRun(const CharacterModel& model, const CharacterTraining& data)> train;
  int steps = 600;  ///< of the training
};

using TrainStep = double (*)(const CharacterModel& model, heed::Optimizer& optimizer, const heed::Ids& inputs,
                             const heed::Ids& targets, double lr);
/// Fills in what trains, by `train_step`.
CharactersSolution with_training(CharactersSolution functions, TrainStep train_step);
#define LEARN_10                                                                                                    \
  with_training({[](const std::vector<std::int32_t>& text, const std::vector<std::size_t>& starts, std::size_t T) { \
                   const Windows w = windows(text, starts, T);                                                      \
                   return std::pair{w.inputs, w.targets};                                                           \
                 },                                                                                                 \
                 logits,                                                                                            \
                 draw,                                                                                              \
                 {},                                                                                                \
                 {}},                                                                                               \
                [](const CharacterModel& model, heed::Optimizer& optimizer, const heed::Ids& inputs,                \
                   const heed::Ids& targets, double lr) {                                                           \
                  return train_step(model, optimizer, {inputs, targets}, lr);                                       \
                })

/// Returns the functions of learn/steps/10_characters.py, which train in Python with the layers of given/models.py.
CharactersSolution python_10();

Step step_10(const CharactersSolution& yours);

}  // namespace learn
