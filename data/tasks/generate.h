#pragma once
#include <heed/autograd/random.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

// The parts from which generated tasks are made: no task here needs more than these.

// Which adjectives (by number) each noun meets in a set. Of every five pairs (noun, adjective), one is held
// out; every noun and every adjective stays in both sets when there are at least five of each.
struct PairSplit {
  std::vector<std::vector<int>> train, held_out;  // by noun; adjectives in random order
};
// The pair (0, 0) is held out, and first in held_out[0].
PairSplit split_pairs(int nouns, int adjectives, Random random);

// `count` different numbers below `space` in random order; the first `keep` of them are 0, 1, ..., keep - 1.
// Error naming `what` when there are not so many.
std::vector<int> draw(const std::string& what, int count, std::int64_t space, int keep, Random random);

// The words of `shape` with each placeholder, as "{animal}", replaced by a word.
std::vector<std::string> fill(std::string_view shape, const std::map<std::string_view, std::string_view>& words);

// Takes a number apart: digit(n) is the remainder by n.
struct Digits {
  int number;
  int operator()(std::size_t base) {
    const int digit = number % static_cast<int>(base);
    number /= static_cast<int>(base);
    return digit;
  }
};

}  // namespace heed
