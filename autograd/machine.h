#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace heed {

/// @file
/// Describes and controls how heed computes on this machine.

/// Returns the widest vector instructions that this library was compiled for: "AVX-512", "AVX2", "NEON" or "basic"; "AVX-512
/// and AMX" where large products of float use a processor's matrix unit as well.
const char* vector_instructions();

/// Returns the library that computes large matrix products, and its kernels: "OpenBLAS 0.3.21, Haswell kernels", or "own
/// kernels without OpenBLAS" where it is not installed. The first call loads the library. The environment variable HEED_OPENBLAS
/// names its file, or is "none". Throws Error when that file cannot be loaded, and when the system refuses the memory.
const std::string& blas_description();

/// Set and return the number of threads that operations use, from 1 to 1024. The default is OpenMP's choice
/// (OMP_NUM_THREADS); threads() throws Error when that variable holds a larger number. Results do not depend on the
/// number of threads. When several threads of a program compute at the same time, one of them uses the pool and each
/// other thread computes alone.
void set_threads(int threads);
int threads();  ///< the number of threads

/// Calls f(begin, end) on consecutive ranges of `grain` indices that cover [0, count), on these threads, in any order.
/// Use it for loops outside operations. The ranges depend only on `count` and `grain`, so a sum within one range is the
/// same for any number of threads. f must not throw. Throws Error unless count >= 0 and grain >= 1.
void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& f);

}  // namespace heed
