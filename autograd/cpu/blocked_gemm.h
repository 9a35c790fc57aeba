#pragma once
#include "autograd/cpu/blas.h"

#include <cstdint>

namespace heed::cpu {

// gemm() in blocks of C that stay in registers, of strips of B that stay in the first cache and rows of A in the second
// (Goto & van de Geijn 2008, "Anatomy of high-performance matrix multiplication"); memory is asked early for what comes
// next. A and B may have any strides. k > 0.
template <class T>
void blocked_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<T> A, Matrix<T> B, T beta, T* C,
                  std::int64_t ldc);

}  // namespace heed::cpu
