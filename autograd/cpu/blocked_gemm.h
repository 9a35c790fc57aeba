#pragma once
#include "autograd/cpu/matrix.h"

#include <cstdint>

namespace heed::cpu {

// gemm() by the algorithm of Goto & van de Geijn (2008, "Anatomy of high-performance matrix multiplication"). Small
// tiles of C stay in registers while it reads a panel of B from the L1 cache and a block of A from L2. It prefetches
// the next operands. A has dense rows or dense columns; B may have any strides. k > 0.
template <class T>
void blocked_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& A, const Matrix<T>& B,
                  T beta, T* C, std::int64_t ldc);

}  // namespace heed::cpu
