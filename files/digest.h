#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

/// Computes the XXH64 hash (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) of bytes that come in pieces. It detects damaged
/// bytes at memory speed, but does not protect against forgery.
///
///     Xxh64 hash;
///     hash.add("first");
///     hash.add("second");
///     const std::uint64_t value = hash.value();   // of "firstsecond"
class Xxh64 {
 public:
  explicit Xxh64(std::uint64_t seed = 0);  ///< begins without bytes
  void add(std::string_view bytes);        ///< appends bytes to those before
  std::uint64_t value() const;             ///< of all bytes so far

 private:
  std::uint64_t seed_, length_ = 0;
  std::array<std::uint64_t, 4> lanes_;
  std::string rest_;  // fewer than 32 bytes, which the lanes have not read
};

/// Returns the hash of `bytes`.
std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed = 0);

/// Returns the hash as 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t value);

}  // namespace heed
