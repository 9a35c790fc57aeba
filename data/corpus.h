#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/random.h>
#include <heed/data/batch.h>

#include <cstdint>
#include <variant>
#include <vector>

namespace heed {

/// The token that hides another token in masked text, and that asks for a prediction in a sentence.
inline constexpr const char* mask_token = "<mask>";

/// A list of token numbers, stored in 1, 2 or 4 bytes each, as the largest one requires.
class TokenNumbers {
 public:
  /// Reserves memory for that many tokens of one byte.
  explicit TokenNumbers(std::size_t expected = 0);
  void add(std::int32_t number);                  ///< at least 0
  std::int64_t size() const;                      ///< the number of tokens
  std::int32_t operator[](std::int64_t i) const;  ///< token i
  std::int64_t bytes() const;                     ///< memory use

 private:
  template <class T>
  void widen();
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::int32_t>> numbers_;
};

/// Text that a language model is trained and tested on: one long text each, or many sequences of equal length.
struct Corpus {
  TokenNumbers train, held_out;
  int context = 0;                  ///< T, the number of tokens in a window
  bool is_sequences = false;        ///< sequences of T + 1 tokens; no window crosses from one to the next
  std::int64_t held_out_bytes = 0;  ///< length of held_out as text in bytes; 0 if it is not text
  std::int32_t mask = -1;           ///< token that hides the tokens to predict; -1: predict the next tokens
  std::int32_t replacements = 0;    ///< with a mask: tokens below this number replace some of the hidden ones
  /// Tokens at the beginning and at the end of every window, which are not predicted: [CLS] and [SEP]
  std::vector<std::int32_t> before{}, behind{};

  /// Returns the number of tokens of the text in a window.
  std::int64_t text_context() const { return context - std::ssize(before) - std::ssize(behind); }
};

/// Share of tokens to predict in masked text. 80 % of them become the mask, 10 % a random token, and 10 % stay
/// unchanged (Devlin et al. 2018, arXiv:1810.04805, section 3.1).
inline constexpr double masked_share = 0.15;

/// Returns the B windows of training step `step`. Their positions depend only on (random, step). With a mask, at least one
/// token is hidden. Throws Error when `train` has no more tokens than a window takes of it.
Batch training_windows(const Corpus& corpus, int B, std::int64_t step, const Random& random);

/// Return the number of windows of `held_out`, and the windows [first, end). Together they predict each token except the
/// first once. The last window may be padded. With a mask, they hide at least one token in all.
std::int64_t held_out_windows(const Corpus& corpus);
Batch held_out_windows(const Corpus& corpus, std::int64_t first, std::int64_t end);  ///< the windows [first, end)

}  // namespace heed
