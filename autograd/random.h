#pragma once
#include <array>
#include <cstdint>
#include <span>
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

  /// Return an independent generator, the same for the same seed and path of names.
  Random stream(std::string_view name) const;
  Random stream(std::uint64_t number) const;  ///< by number

  std::uint32_t bits();                     ///< 32 uniform bits
  double uniform();                         ///< [0, 1), 53 bits
  double uniform(double low, double high);  ///< [low, high); Error when low > high
  double normal();                          ///< mean 0, variance 1
  std::int64_t below(std::int64_t n);       ///< {0, ..., n - 1}, unbiased; Error unless n > 0

  /// Shuffles in place. All orders are equally likely.
  template <class T>
  void shuffle(std::vector<T>& values) {  // Fisher-Yates
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }
  }

  /// Return the 32 bits number `index` of this stream, or those from number `first` on. The stream does not advance.
  std::uint32_t bits_at(std::uint64_t index) const;
  void bits_at(std::uint64_t first, std::span<std::uint32_t> bits) const;  ///< from number `first` on

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t position_ = 0;
  std::uint64_t buffered_ =
      ~std::uint64_t{0};  // index of buffer_[0] in the stream; sequential draws are computed 32 at a time
  std::array<std::uint32_t, 32> buffer_;
};

}  // namespace heed
