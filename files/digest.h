#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

// XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md): tells damaged bytes from whole ones at the speed of memory. No
// protection against those who forge.
std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed = 0);

// 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t value);

}  // namespace heed
