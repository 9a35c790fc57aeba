// The solution of step 11: find the heads by which a model copies. Sequences repeat random symbols,
//
//     position  0 1 2 3 4 5 6 7 8 ...        period 4
//     symbol    x K f R x K f R x ...
//
// so after the second K comes what came after the first. A model of two layers learns it with two kinds of heads: a previous-token head
// attends from each symbol to the one before; an induction head attends from the second K to the symbol after the first K.
#pragma once
#include "given/array.h"

#include <heed/autograd/ops.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace learn {

using heed::Tensor;

/// Returns what the model is to predict at each position: the next symbol where it follows from what was seen, else -1, which the loss
/// ignores. Position t can know its next symbol when the symbol at t has occurred before:
///
///     target_t = symbols[t + 1]   if t >= period and t + 1 < T
///     target_t = -1             otherwise
inline std::vector<std::int32_t> targets(const std::vector<std::int32_t>& symbols, std::size_t period) {
  // begin targets
  std::vector<std::int32_t> result(symbols.size(), -1);
  for (std::size_t t = period; t + 1 < symbols.size(); ++t) result[t] = symbols[t + 1];
  return result;
  // end targets
}

/// Returns for each head how strongly it is a previous-token head. weights (heads, T, T): row = query, column = key.
///
///     score_h = mean over t from 1 to T - 1 of weights[h][t][t - 1]
inline std::vector<double> previous_token_score(const Tensor& weights) {
  // begin previous_token_score
  std::vector<double> scores;
  const std::int64_t T = weights.size(1);
  for (std::int64_t h = 0; h < weights.size(0); ++h) {
    double sum = 0;
    for (std::int64_t t = 1; t < T; ++t) sum += weights.at({h, t, t - 1});
    scores.push_back(sum / static_cast<double>(T - 1));
  }
  return scores;
  // end previous_token_score
}

/// Returns for each head how strongly it is an induction head: the weight on the symbol after the last occurrence of the current one.
/// The symbol at t occurred last at t - period.
///
///     score_h = mean over t from period to T - 1 of weights[h][t][t - period + 1]
inline std::vector<double> induction_score(const Tensor& weights, std::int64_t period) {
  // begin induction_score
  std::vector<double> scores;
  const std::int64_t T = weights.size(1);
  for (std::int64_t h = 0; h < weights.size(0); ++h) {
    double sum = 0;
    for (std::int64_t t = period; t < T; ++t) sum += weights.at({h, t, t - period + 1});
    scores.push_back(sum / static_cast<double>(T - period));
  }
  return scores;
  // end induction_score
}

}  // namespace learn
