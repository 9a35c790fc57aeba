#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

/// Returns the FNV-1a hash (Fowler, Noll, Vo) of the bytes of `text`, continued from `hash`.
std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325U);

/// Philox4x32-10, a counter-based generator (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). Number
/// n of a stream is a function of (seed, stream, n), so any thread can draw it.
///
///     Random random(1);
///     const Tensor x = random_normal({2, 3}, random);
///     Random dropout = random.stream("dropout");   // independent of `random`
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}  ///< starts a stream

  /// Returns the place in the stream, "seed:stream:position", to save in a file.
  std::string state() const;
  /// Returns the generator whose state() it was: `random = Random::restored(text)` continues with the same numbers. Throws `Error`
  /// for any other text.
  static Random restored(std::string_view state);

  /// Return an independent generator, the same for the same seed and path of names.
  Random stream(std::string_view name) const;
  Random stream(std::uint64_t number) const;  ///< by number

  /// Returns 32 uniform bits.
  std::uint32_t bits() {
    if (position_ - buffered_ >= buffer_.size()) refill();
    return buffer_[position_++ - buffered_];
  }
  double uniform();                         ///< [0, 1), 53 bits
  double uniform(double low, double high);  ///< [low, high); Error when low > high
  double normal();                          ///< mean 0, variance 1

  /// Returns one of {0, ..., n - 1}, unbiased. Throws `Error` unless n > 0.
  std::int64_t below(std::int64_t n) {
    if (n < 1) [[unlikely]]
      fail_below(n);
    const std::uint64_t range = static_cast<std::uint64_t>(n);
    for (;;) {
      const std::uint64_t high = bits(), draw = high << 32 | bits();
      if (is_unbiased(draw, range)) return static_cast<std::int64_t>(draw % range);
    }
  }

  /// Fill `numbers` with what as many calls would return, in less time.
  void bits(std::span<std::uint32_t> numbers);
  void uniform(std::span<double> numbers);                      ///< [0, 1), 53 bits
  void below(std::int32_t n, std::span<std::int32_t> numbers);  ///< {0, ..., n - 1}

  /// Shuffles in place. All orders are equally likely.
  template <class T>
  void shuffle(std::vector<T>& values) {  // Fisher-Yates
    std::array<std::uint32_t, 128> drawn;
    for (std::size_t left = values.size(); left > 1;) {
      const std::size_t count = std::min(left - 1, drawn.size() / 2);
      bits(std::span(drawn).first(2 * count));
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t draw = std::uint64_t{drawn[2 * i]} << 32 | drawn[2 * i + 1];
        if (!is_unbiased(draw, left)) continue;
        std::swap(values[left - 1], values[draw % left]);
        --left;
      }
    }
  }

  /// Return the 32 bits number `index` of this stream, or those from number `first` on. The stream does not advance.
  std::uint32_t bits_at(std::uint64_t index) const;
  void bits_at(std::uint64_t first, std::span<std::uint32_t> bits) const;  ///< from number `first` on

 private:
  [[noreturn, gnu::cold]] static void fail_below(std::int64_t n);
  void refill();
  // Returns whether the rest of `draw` is as likely as any other: it lies below the largest multiple of `range`.
  static bool is_unbiased(std::uint64_t draw, std::uint64_t range) {
    constexpr std::uint64_t most = ~std::uint64_t{0};
    return draw < most - range || draw < most - most % range;  // the first condition saves a division
  }

  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t position_ = 0;
  // index of buffer_[0] in the stream, at first one that no stream reaches; sequential draws are computed together
  std::uint64_t buffered_ = std::uint64_t{1} << 63;
  std::array<std::uint32_t, 64> buffer_;
};

}  // namespace heed
