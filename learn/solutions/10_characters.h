// The solution of step 10: a language model of characters. It reads a text and predicts each next character. What you need:
//
//     Ids({2, 3}, numbers)                       an array of integers: its shape, and a std::vector<std::int32_t>, row by row
//     const heed::Recording recording;           opens the tape, until the end of the block
//     cross_entropy(logits, targets)             as in step 5
//     optimizer.step(backward(loss), lr)         as in steps 1 and 9
//     loss.item()                                the number in a tensor
#pragma once
#include "given/array.h"
#include "given/models.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace learn {

using heed::Ids;
using heed::Tensor;

/// What the model reads, and what it is to predict: (B, T) each.
struct Windows {
  Ids inputs, targets;
};

/// Cuts a window of T characters from `text` at each start. The target of each character is the one after it.
///
///     inputs_bt  = text[start_b + t]
///     targets_bt = text[start_b + t + 1]
inline Windows windows(const std::vector<std::int32_t>& text, const std::vector<std::size_t>& starts, std::size_t T) {
  // begin windows
  std::vector<std::int32_t> inputs, targets;
  for (const std::size_t start : starts) {
    for (std::size_t t = 0; t < T; ++t) {
      inputs.push_back(text.at(start + t));
      targets.push_back(text.at(start + t + 1));
    }
  }
  const heed::Shape shape{std::ssize(starts), static_cast<std::int64_t>(T)};
  return {Ids(shape, inputs), Ids(shape, targets)};
  // end windows
}

/// Returns the logits of the next character at each position: ids (B, T) -> (B, T, characters).
///
///     x = positions(embedding(ids))
///     x = block(x, causal).output, for each block in order
///     logits = output(norm(x))
///
/// given/models.h has the layers. The causal mask is heed::Mask::causal().
inline Tensor logits(const CharacterModel& model, const Ids& ids) {
  // begin logits
  Tensor x = model.positions(model.embedding(ids));
  for (const heed::TransformerBlock& block : model.blocks) x = block(x, heed::Mask::causal()).output;
  return model.output(model.norm(x));
  // end logits
}

/// Takes one step of the optimiser, and returns the loss from before it.
///
///     open a Recording
///     loss = cross_entropy(logits(model, inputs), targets)
///     optimizer.step(backward(loss), lr)
inline double train_step(const CharacterModel& model, heed::Optimizer& optimizer, const Windows& windows, double lr) {
  // begin train_step
  const heed::Recording recording;
  const Tensor loss = cross_entropy(logits(model, windows.inputs), windows.targets);
  optimizer.step(backward(loss), lr);
  return loss.item();
  // end train_step
}

/// Draws the next character. A low temperature prefers the likely ones. `uniform` is random in [0, 1).
///
///     p = softmax(logits / temperature)
///     the first k with p_0 + ... + p_k > uniform
inline std::size_t draw(const std::vector<double>& logits, double temperature, double uniform) {
  // begin draw
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  double sum = 0;
  for (const double x : logits) sum += p.emplace_back(std::exp((x - largest) / temperature));
  double total = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    total += p[k] / sum;
    if (total > uniform) return k;
  }
  return p.size() - 1;
  // end draw
}

}  // namespace learn
