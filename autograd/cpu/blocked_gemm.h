#pragma once
#include "autograd/cpu/blas.h"

#include <cstdint>

namespace heed::cpu {

// gemm() by Goto & van de Geijn's algorithm (2008, "Anatomy of high-performance matrix multiplication"): small tiles of C
// stay in registers while a panel of B in the first cache and a block of A in the second are read; what is read next is
// prefetched. A's rows or its columns are dense, B may have any strides. k > 0.
template <class T>
void blocked_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& A, const Matrix<T>& B,
                  T beta, T* C, std::int64_t ldc);

}  // namespace heed::cpu
