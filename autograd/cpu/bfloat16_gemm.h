#pragma once
#include "autograd/cpu/blas.h"
#include "autograd/cpu/units.h"
#include "autograd/cpu/widen.h"
#include "autograd/half.h"

#include <heed/autograd/autocast.h>

#include <cstdint>

namespace heed::cpu {

// Returns whether bfloat16_gemm() multiplies matrices of these sizes with a unit. It then uses several threads.
bool uses_bfloat16_unit(std::int64_t m, std::int64_t n, std::int64_t k);

// Computes C = alpha A B + beta C as gemm() does, after rounding the numbers of A and B to bfloat16, to the nearest and ties to
// even. The products are exact and added up in float. S is float or BFloat16. beta is 0 or 1, and alpha is 1 unless beta is 0. The
// processor must have `unit`; with none, it rounds both operands and calls gemm(), which takes longer than gemm() alone.
template <class S>
void bfloat16_gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const Matrix<float>& A,
                   const Matrix<S>& B, float beta, float* C, std::int64_t ldc, BFloat16Unit unit = bfloat16_unit());

// Computes C = alpha A B + beta C as gemm() does, but in bfloat16 with bfloat16_gemm(), which reads a B of bfloat16 as it is stored.
// Every other B is widened to T first.
template <class T, class S>
void gemm(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& A,
          const Matrix<S>& B, T beta, T* C, std::int64_t ldc) {
  constexpr bool is_float = std::is_same_v<T, float>;
  const bool rounds = is_float && precision == Precision::bfloat16;
  if constexpr (is_float && std::is_same_v<S, BFloat16>) {
    if (rounds) return bfloat16_gemm(m, n, k, alpha, A, B, beta, C, ldc);
  }
  const Matrix<T> wide = widened<T>(k, n, B);
  if constexpr (is_float) {
    if (rounds) return bfloat16_gemm(m, n, k, alpha, A, wide, beta, C, ldc);
  }
  gemm(m, n, k, alpha, A, wide, beta, C, ldc);
}

}  // namespace heed::cpu
