#include <heed/autograd/error.h>
#include <heed/autograd/ops.h>
#include <heed/data/splits.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {
namespace {

std::int32_t checked_count(const char* function, std::int64_t count) {
  if (count < 2 || count > std::numeric_limits<std::int32_t>::max()) {
    fail("{}: expected a count of at least 2 examples, below 2^31, got {}", function, count);
  }
  return static_cast<std::int32_t>(count);
}

}  // namespace

PaddedSequences pad_sequences(const std::vector<std::vector<std::int32_t>>& sequences, std::int32_t value,
                              std::int64_t length) {
  if (length < 0) fail("pad_sequences: expected a length of at least 0, got {}", length);
  if (length == 0) {
    for (const auto& sequence : sequences) length = std::max(length, std::ssize(sequence));
  }
  std::vector<std::int32_t> ids;
  std::vector<int> lengths;
  for (const auto& sequence : sequences) {
    const std::int64_t kept = std::min(length, std::ssize(sequence));
    ids.insert(ids.end(), sequence.begin(), sequence.begin() + kept);
    ids.insert(ids.end(), static_cast<std::size_t>(length - kept), value);
    lengths.push_back(static_cast<int>(kept));
  }
  return {Ids({std::ssize(sequences), length}, std::move(ids)), std::move(lengths)};
}

TrainTest train_test_split(std::int64_t count, double test, Random random) {
  const std::int32_t n = checked_count("train_test_split", count);
  const double held_out = std::ceil(test < 1 ? test * n : test);
  if (!(held_out >= 1 && held_out < n)) {
    fail("train_test_split: expected a share between 0 and 1 or a number from 1 to {} for the test set, got {}", n - 1,
         test);
  }
  const Ids order = random_permutation(n, random);
  const std::int64_t m = static_cast<std::int64_t>(held_out);
  return {slice(order, 0, m), slice(order, 0, 0, m)};
}

std::vector<TrainTest> kfold(std::int64_t count, int k, Random random) {
  const std::int32_t n = checked_count("kfold", count);
  if (k < 2 || k > n) fail("kfold: expected 2 to {} parts, got {}", n, k);
  const Ids order = random_permutation(n, random);
  std::vector<TrainTest> folds;
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t begin = n * i / k, end = n * (i + 1) / k;
    folds.push_back({concat({slice(order, 0, 0, begin), slice(order, 0, end)}, 0), slice(order, 0, begin, end)});
  }
  return folds;
}

}  // namespace heed
