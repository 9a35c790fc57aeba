#pragma once
#include <cstdint>

namespace heed::cpu {

// Bytes of the widest vectors that this is compiled for: for vector_size, of which g++ takes wider ones apart, at worst one
// number at a time.
#if defined(__AVX512F__)
constexpr std::int64_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr std::int64_t vector_bytes = 32;
#else
constexpr std::int64_t vector_bytes = 16;
#endif

}  // namespace heed::cpu
