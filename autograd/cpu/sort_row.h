#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

// Sorts a row by integers that have the order of its numbers. Internal.
namespace heed::cpu {

// NaN counts as the greatest; of equal numbers the first comes first.
template <class T>
class RowSorter {
 public:
  // Writes the positions of the first k of the n numbers in order, the largest first or the smallest.
  void first(const T* row, std::int64_t n, std::int64_t k, bool largest, std::int32_t* positions) {
    entries_.resize(static_cast<std::size_t>(n));
    const Key flip = largest ? ~Key{0} : Key{0};
    for (std::int64_t i = 0; i < n; ++i) {
      entries_[static_cast<std::size_t>(i)] = Entry(key_of(row[i]) ^ flip, static_cast<std::int32_t>(i));
    }
    if (k > n / 4 && n >= 256) {
      sort_by_digits();
    } else if (k > n / 4) {
      std::sort(entries_.begin(), entries_.end());
    } else {
      std::partial_sort(entries_.begin(), entries_.begin() + k, entries_.end());
    }
    for (std::int64_t i = 0; i < k; ++i) positions[i] = entries_[static_cast<std::size_t>(i)].position();
  }

 private:
  using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

  // A number's key and position, which make all entries different.
  struct Narrow {
    std::uint64_t bits = 0;
    Narrow() = default;
    Narrow(std::uint32_t key, std::int32_t at) : bits(std::uint64_t{key} << 32 | static_cast<std::uint32_t>(at)) {}
    std::uint32_t key() const { return static_cast<std::uint32_t>(bits >> 32); }
    std::int32_t position() const { return static_cast<std::int32_t>(bits); }
    auto operator<=>(const Narrow&) const = default;
  };
  struct Wide {
    std::uint64_t bits = 0;
    std::int32_t at = 0;
    Wide() = default;
    Wide(std::uint64_t key, std::int32_t position) : bits(key), at(position) {}
    std::uint64_t key() const { return bits; }
    std::int32_t position() const { return at; }
    auto operator<=>(const Wide&) const = default;
  };
  using Entry = std::conditional_t<sizeof(T) == 4, Narrow, Wide>;

  static Key key_of(T v) {
    constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
    const Key bits = std::bit_cast<Key>(v == 0 ? T{0} : v);  // -0 equals 0
    return v != v ? ~Key{0} : (bits & sign) ? ~bits : bits | sign;
  }

  // Sorts by digits of 8 bits, the lowest first, each time keeping the order of equal digits.
  void sort_by_digits() {
    std::array<std::array<std::uint32_t, 256>, sizeof(Key)> counts{};
    for (const Entry& entry : entries_) {
      for (std::size_t d = 0; d < sizeof(Key); ++d) ++counts[d][entry.key() >> (8 * d) & 255];
    }
    sorted_.resize(entries_.size());
    for (std::size_t d = 0; d < sizeof(Key); ++d) {
      if (counts[d][entries_[0].key() >> (8 * d) & 255] == entries_.size()) continue;  // one digit for all
      std::uint32_t before = 0;
      for (std::uint32_t& count : counts[d]) before += std::exchange(count, before);
      for (const Entry& entry : entries_) sorted_[counts[d][entry.key() >> (8 * d) & 255]++] = entry;
      std::swap(entries_, sorted_);
    }
  }

  std::vector<Entry> entries_, sorted_;
};

}  // namespace heed::cpu
