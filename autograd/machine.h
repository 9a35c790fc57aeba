#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace heed {

// What heed computes with on this machine.

// The widest vectors that this library was compiled for: "AVX-512", "AVX2", "NEON" or "basic".
const char* vector_instructions();

// "OpenBLAS 0.3.21, Haswell kernels": which library does the large matrix products, and which of its
// kernels. Loads it at the first call; Error when it cannot be loaded.
const std::string& blas_description();

/// Set and return the number of threads that operations use, from 1 to 1024. The default is OpenMP's choice
/// (OMP_NUM_THREADS); threads() throws Error when that variable holds a larger number. Results do not depend on the number
/// of threads. When several threads of a program compute at the same time, one of them uses the pool and each of the others
/// works alone.
void set_threads(int threads);
int threads();

// Calls f(begin, end) on consecutive ranges of `grain` indices that cover [0, count), on those threads, in any order: for
// loops that are no operation. The ranges depend on nothing else, so what f sums within one is the same for any number
// of threads. f must not throw. Throws Error unless count >= 0 and grain >= 1.
void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& f);

}  // namespace heed
