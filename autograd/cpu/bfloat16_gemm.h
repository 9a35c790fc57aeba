#pragma once
#include "autograd/cpu/blas.h"
#include "autograd/half.h"

#include <cstdint>

namespace heed::cpu {

// Returns whether bfloat16_gemm() runs on a unit for products of bfloat16 numbers here (AMX). Elsewhere it rounds both operands
// and calls gemm(), which takes longer than gemm() alone.
bool has_bfloat16_unit();

// Computes C = alpha A B + beta C as gemm() does, after rounding the numbers of A and B to bfloat16, to the nearest and ties to
// even. The products are exact and added up in float. S is float or BFloat16. beta is 0 or 1, and alpha is 1 unless beta is 0.
template <class S>
void bfloat16_gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const Matrix<float>& A,
                   const Matrix<S>& B, float beta, float* C, std::int64_t ldc);

}  // namespace heed::cpu
