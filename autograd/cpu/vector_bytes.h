#pragma once
#include <cstdint>

namespace heed::cpu {

// Size in bytes of the widest vectors of the target, for vector_size. g++ splits wider ones, at worst into single
// numbers.
#if defined(__AVX512F__)
constexpr std::int64_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr std::int64_t vector_bytes = 32;
#else
constexpr std::int64_t vector_bytes = 16;
#endif
constexpr std::int64_t line_bytes = 64;  // of the caches
// How far ahead of the place that is read dense weights are prefetched.
constexpr std::int64_t bytes_ahead = 2048;

}  // namespace heed::cpu
