#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

/// Returns the XXH64 hash (github.com/Cyan4973/xxHash, doc/xxhash_spec.md). It detects damaged bytes at memory speed,
/// but does not protect against forgery.
std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed = 0);

/// Returns the hash as 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t value);

}  // namespace heed
