#pragma once
#include <cstdint>

namespace heed::cpu {

// What this machine reaches, measured now with so many threads: the limits that other timings are held against.

// float32 operations a second of multiplying and adding in registers alone, in all threads at once: no program has more.
double fma_rate(int threads);

// The same of (n x n) products, one product at a time in each thread.
double gemm_rate(std::int64_t n, int threads);

// How memory is gone through, in float32: y += a x, which reads x and y and writes y; the sum of x; y = x; and y = x
// past the caches, which does not read y's lines before it writes them.
enum class Traffic { add, read, copy, copy_past_caches };

// Bytes a second that are read and written so, x and y of so many bytes each.
double memory_rate(std::int64_t bytes, int threads, Traffic traffic = Traffic::add);

}  // namespace heed::cpu
