#pragma once
#include <cstdint>

namespace heed::cpu {

// Measures this machine's limits now, with the given number of threads, as references for other timings.

// Returns float32 operations per second of multiply-adds in registers, summed over all threads: an upper bound for any
// program.
double fma_rate(int threads);

// Returns the same for (n x n) products, one product at a time per thread.
double gemm_rate(std::int64_t n, int threads);

// Access patterns in float32: y += a x reads x and y and writes y; sum of x; y = x; and y = x past the caches, which
// does not read y's lines first.
enum class Traffic { add, read, copy, copy_past_caches };

// Returns bytes per second read and written with this pattern, for x and y of `bytes` each.
double memory_rate(std::int64_t bytes, int threads, Traffic traffic = Traffic::add);

}  // namespace heed::cpu
