#pragma once
#include "autograd/cpu/blas.h"

#include <cstdint>

namespace heed::cpu {

// Returns whether this processor has a unit for products of bfloat16 matrices (AMX), and the system lets this process use
// it.
bool has_matrix_unit();

// Computes C = A B + beta C, as gemm() with alpha 1, on the matrix unit, with the accuracy of float: each number is the
// exact sum of three bfloat16 numbers, and of their nine products those of at least 2^-16 of the largest are added up. Where
// numbers are bfloat16 already, their second and third parts are 0 and left out, with the same result. Numbers below 2^-126
// count as 0. Returns false, without computing, where the unit is missing or does not gain, or beta is neither 0 nor 1.
bool split_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<float>& A, const Matrix<float>& B,
                float beta, float* C, std::int64_t ldc);

}  // namespace heed::cpu
