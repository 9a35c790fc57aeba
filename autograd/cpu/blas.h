#pragma once
#include <cstdint>
#include <string>

namespace heed::cpu {

// "OpenBLAS 0.3.21, Haswell kernels": which library does the large matrix products, and which of its
// kernels. Loads it at the first call; Error when it cannot be loaded.
const std::string& blas_description();

// A function of that library by its name in the object file, of LAPACK too: "dgesvd_". Error when it has none.
void* blas_function(const char* name);

// A matrix in memory: element (i, j) at data[i * row_stride + j * column_stride].
template <class T>
struct Matrix {
  const T* data;
  std::int64_t row_stride, column_stride;
};

// Whether BLAS takes a (rows x columns) matrix with these strides as it is, plain or transposed. Error when
// it is too large for BLAS to count, under the name of `operation`.
bool is_blas_layout(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride,
                    const char* operation = "matmul");

// C = alpha A B + beta C on the calling thread, by OpenBLAS or, where that is faster, by blocked_gemm(): A (m x k),
// B (k x n), C (m x n) row-major with row stride ldc. Does not throw once blas_description() has returned.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& A, const Matrix<T>& B, T beta, T* C,
          std::int64_t ldc);

}  // namespace heed::cpu
