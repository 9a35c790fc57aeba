#pragma once
#include <cstdint>

namespace heed::cpu {

// What this machine reaches, measured now with so many threads: the limits that other timings are held against.

// float32 operations a second of (n x n) products, one product at a time in each thread.
double gemm_rate(std::int64_t n, int threads);

// Bytes a second of y += a x in float32, which reads x and y and writes y: each of so many bytes.
double memory_rate(std::int64_t bytes, int threads);

}  // namespace heed::cpu
