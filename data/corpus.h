#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/random.h>

#include <cstdint>
#include <variant>
#include <vector>

namespace heed {

// The numbers of many tokens, in as few bytes each (1, 2 or 4) as the largest needs.
class TokenNumbers {
 public:
  // To reserve memory for so many, of one byte.
  explicit TokenNumbers(std::size_t expected = 0);
  void add(std::int32_t number);  // from 0
  std::int64_t size() const;
  std::int32_t operator[](std::int64_t i) const;
  std::int64_t bytes() const;  // of memory

 private:
  template <class T>
  void widen();
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::int32_t>> numbers_;
};

/// Text that a language model learns from and is tested on: one long text each, or many sequences of equal length.
struct Corpus {
  TokenNumbers train, held_out;
  int context = 0;                  // T, the tokens that a model sees at once
  bool is_sequences = false;        // of T + 1 tokens each, one after another: no window reaches over two of them
  std::int64_t held_out_bytes = 0;  // that held_out is written with; 0 where it is no text
  std::int32_t mask = -1;           // token that hides others, which are then to be predicted; -1: the next ones are
};

/// Windows of T tokens, and the token to predict at each place: the next one or, with a mask, the one that was hidden.
struct Windows {
  Ids tokens;  // (B, T)
  Ids next;    // (B T), row after row; -1 where no prediction counts
};

/// Share of tokens that are to be predicted in masked text. Of these 80 % become the mask, 10 % a random token, and 10 % stay
/// (Devlin et al. 2018, arXiv:1810.04805, section 3.1).
inline constexpr double masked_share = 0.15;

// B of those of training step `step`: their positions are a function of (random, step) alone. Error where `train` has no
// more tokens than a window.
Windows training_windows(const Corpus& corpus, int B, std::int64_t step, const Random& random);

// All of `held_out`, so that each token but the first is predicted once: how many windows, and those in [first, end). The last
// may be filled up.
std::int64_t held_out_windows(const Corpus& corpus);
Windows held_out_windows(const Corpus& corpus, std::int64_t first, std::int64_t end);

}  // namespace heed
