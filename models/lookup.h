#pragma once
#include <cstdint>
#include <vector>

namespace heed {

/// Guesses the next tokens of a text that repeats itself, without a model: those that followed the last place where the text was
/// as it now ends (Saxena 2023, "prompt lookup decoding").
///
///     Lookup lookup;
///     const std::vector<std::int32_t> guess = lookup.guess(tokens, 15);   // may be empty
///     lookup.learn(guess.size(), 4);                                      // the first 4 were right
///
/// A guess needs an earlier place with as many equal tokens as needed(): 3 at first, more after each wrong guess, so that texts
/// that only seem to repeat themselves are left alone.
class Lookup {
 public:
  /// Returns at most `most` tokens that may follow; none where the text does not repeat itself.
  std::vector<std::int32_t> guess(const std::vector<std::int32_t>& tokens, std::int64_t most) const;
  /// Takes into account that of `guessed` tokens the first `right` were right.
  void learn(std::size_t guessed, std::size_t right);
  /// Returns the number of equal tokens that a guess needs.
  std::int64_t needed() const { return needed_; }

 private:
  std::int64_t needed_ = 3;
};

}  // namespace heed
