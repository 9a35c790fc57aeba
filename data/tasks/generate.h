#pragma once
#include <heed/autograd/random.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// @file
/// Building blocks of the generated tasks.

/// For each set, the adjectives (by number) that go with each noun. One of five pairs (noun, adjective) is held out.
/// With at least five nouns and adjectives, each of them occurs in both sets.
struct PairSplit {
  std::vector<std::vector<int>> train, held_out;  ///< by noun; adjectives in random order
};
/// Holds out the pair (0, 0), as the first of held_out[0].
PairSplit split_pairs(int nouns, int adjectives, Random random);

/// Returns `count` distinct numbers below `space` in random order; the first `keep` of them are 0, 1, ..., keep - 1.
/// Throws Error with `what` when there are not enough.
std::vector<int> draw(const std::string& what, int count, std::int64_t space, int keep, Random random);

/// Returns the words of `shape`, with each placeholder such as "{animal}" replaced by a word.
std::vector<std::string> fill(std::string_view shape, const std::map<std::string_view, std::string_view>& words);

/// Splits a number into digits of mixed radix: digit(n) returns the remainder by n.
struct Digits {
  int number;
  /// Removes and returns the last digit.
  int operator()(std::size_t base) {
    const int digit = number % static_cast<int>(base);
    number /= static_cast<int>(base);
    return digit;
  }
};

}  // namespace heed
