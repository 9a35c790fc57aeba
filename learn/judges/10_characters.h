#pragma once
#include "given/models.h"
#include "judge.h"

#include <heed/optim/optimizer.h>

namespace learn {

/// The code that the learner wrote.
struct CharactersSolution {
  using Ids = heed::Ids;
  using Text32 = std::vector<std::int32_t>;
  std::pair<Ids, Ids> (*windows)(const Text32& text, const std::vector<std::size_t>& starts, std::size_t T);
  heed::Tensor (*logits)(const CharacterModel& model, const Ids& ids);
  double (*train_step)(const CharacterModel& model, heed::Optimizer& optimizer, const Ids& inputs, const Ids& targets,
                       double lr);
  std::size_t (*draw)(const std::vector<double>& logits, double temperature, double uniform);
};
#define LEARN_10                                                                                           \
  CharactersSolution {                                                                                     \
    [](const std::vector<std::int32_t>& text, const std::vector<std::size_t>& starts, std::size_t T) {     \
      const Windows w = windows(text, starts, T);                                                          \
      return std::pair{w.inputs, w.targets};                                                               \
    },                                                                                                     \
        logits,                                                                                            \
        [](const CharacterModel& model, heed::Optimizer& optimizer, const Ids& inputs, const Ids& targets, \
           double lr) {                                                                                    \
          return train_step(model, optimizer, {inputs, targets}, lr);                                      \
        },                                                                                                 \
        draw                                                                                               \
  }

Step step_10(const CharactersSolution& yours);

}  // namespace learn
