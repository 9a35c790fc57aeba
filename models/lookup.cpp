#include <heed/models/lookup.h>

#include <algorithm>

namespace heed {
namespace {

constexpr std::int64_t min_needed = 3, max_needed = 48;

}  // namespace

std::vector<std::int32_t> Lookup::guess(const std::vector<std::int32_t>& tokens, std::int64_t most) const {
  const auto begin = tokens.rbegin(), end = tokens.rend();
  std::int64_t longest = needed_ - 1, back = 0;  // the place lies `back` tokens before the end
  for (std::int64_t i = 1; i < std::ssize(tokens) && longest < max_needed; ++i) {
    const auto limit = begin + std::min(std::ssize(tokens) - i, max_needed);
    const std::int64_t equal = std::mismatch(begin, limit, begin + i, end).first - begin;
    if (equal > longest) longest = equal, back = i;
  }
  if (back == 0) return {};
  std::vector<std::int32_t> guess(tokens.end() - back, tokens.end());  // repeated, where it ends before `most`
  for (std::size_t i = 0; std::ssize(guess) < most; ++i) guess.push_back(guess[i]);
  guess.resize(static_cast<std::size_t>(std::max<std::int64_t>(most, 0)));
  return guess;
}

void Lookup::learn(std::size_t guessed, std::size_t right) {
  if (guessed == 0) return;
  needed_ = right >= 3 ? min_needed : std::min(2 * needed_, max_needed);  // a guess costs about two tokens
}

}  // namespace heed
