#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

// FNV-1a (Fowler, Noll, Vo) of the bytes of `text`, going on from `hash`.
std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325U);

// Philox4x32-10, a counter-based generator (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): the n-th
// number of a stream is a function of (seed, stream, n), so that any thread can draw it and a saved position resumes bit
// for bit.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  // An independent generator, the same for the same seed and path of names.
  Random stream(std::string_view name) const;
  Random stream(std::uint64_t number) const;

  std::uint32_t bits();                     // 32 uniform bits
  double uniform();                         // [0, 1), 53 bits
  double uniform(double low, double high);  // [low, high); Error when low > high
  double normal();                          // mean 0, variance 1
  std::int64_t below(std::int64_t n);       // {0, ..., n - 1}, unbiased; Error unless n > 0

  // In place; each order is as likely as any other.
  template <class T>
  void shuffle(std::vector<T>& values) {  // Fisher-Yates
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }
  }

  // The 32 uniform bits number `index` of this stream, or those from number `first` on; does not advance it.
  std::uint32_t bits_at(std::uint64_t index) const;
  void bits_at(std::uint64_t first, std::span<std::uint32_t> bits) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t position_ = 0;
  std::uint64_t buffered_ =
      ~std::uint64_t{0};  // number of buffer_[0] in the stream: sequential draws come 32 at a time
  std::array<std::uint32_t, 32> buffer_;
};

}  // namespace heed
