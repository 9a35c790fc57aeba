#pragma once
#include <string>

namespace heed {

// What heed computes with on this machine.

// The widest vectors that this library was compiled for: "AVX-512", "AVX2", or "basic".
const char* vector_instructions();

// "OpenBLAS 0.3.21, Haswell kernels": which library does the large matrix products, and which of its
// kernels. Loads it at the first call; Error when it cannot be loaded.
const std::string& blas_description();

// Threads that operations use; by default OpenMP's choice (OMP_NUM_THREADS). Results do not depend on it. Where several
// threads of a program compute at once, one has the others' help.
void set_threads(int threads);
int threads();

}  // namespace heed
