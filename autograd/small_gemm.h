#pragma once
#include "autograd/blas.h"

#include <cstdint>

namespace heed {

// gemm() for products that fit in a processor's own cache, where a call of BLAS spends much of its time outside the
// arithmetic: blocks of C stay in registers, B is packed into columns of their width (Goto & van de Geijn 2008,
// "Anatomy of high-performance matrix multiplication"). A and B may have any strides. k > 0.
template <class T>
void small_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<T> A, Matrix<T> B, T beta, T* C,
                std::int64_t ldc);

}  // namespace heed
