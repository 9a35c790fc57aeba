#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/random.h>

#include <cstdint>
#include <vector>

namespace heed {

/// Sequences of different lengths in one array.
struct PaddedSequences {
  Ids ids;                   ///< (B, T)
  std::vector<int> lengths;  ///< (B)
};

/// Pads sequences to the length of the longest, or cuts and pads them to `length` if that is not 0.
///
///     const auto [ids, lengths] = pad_sequences({{5, 1, 2}, {7}});        // (2, 3), {3, 1}
///     const Tensor logits = model.logits({.tokens = ids, .lengths = lengths});
PaddedSequences pad_sequences(const std::vector<std::vector<std::int32_t>>& sequences, std::int32_t value = 0,
                              std::int64_t length = 0);

/// Indices of the examples to train on and of those that are held out.
struct TrainTest {
  Ids train;  ///< (n)
  Ids test;   ///< (m)
};

/// Divides `count` examples at random. `test` is a share below 1, which is rounded up, or a number of examples. Throws Error unless both
/// parts have an example.
///
///     const TrainTest split = train_test_split(150, 0.2, Random(1));
///     const Tensor x_train = index_select(x, split.train), x_test = index_select(x, split.test);
TrainTest train_test_split(std::int64_t count, double test, Random random);

/// Divides `count` examples at random into k parts that differ in size by at most 1, and returns k splits that hold out one of them each.
/// Throws Error unless 2 <= k <= count.
std::vector<TrainTest> kfold(std::int64_t count, int k, Random random);

}  // namespace heed
