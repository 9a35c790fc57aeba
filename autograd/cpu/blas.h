#pragma once
#include "autograd/cpu/matrix.h"

#include <cstdint>

namespace heed::cpu {

// Returns a function of OpenBLAS (BLAS or LAPACK) by its symbol name: "dgesvd_". Throws Error when it is missing.
void* blas_function(const char* name);

// Returns whether BLAS accepts a (rows x columns) matrix with these strides without a copy, plain or transposed. Throws
// Error, prefixed by `operation`, when it is too large for BLAS's indices.
bool is_blas_layout(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride,
                    const char* operation = "matmul");

// Computes C = alpha A B + beta C on the calling thread, with OpenBLAS or, where that is faster, blocked_gemm(): A (m x
// k), B (k x n), C (m x n) row-major with row stride ldc. Does not throw once blas_description() has returned.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& A, const Matrix<T>& B, T beta, T* C,
          std::int64_t ldc);

}  // namespace heed::cpu
