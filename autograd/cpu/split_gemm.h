#pragma once
#include "autograd/cpu/matrix.h"

#include <cstdint>

namespace heed::cpu {

// Computes C = A B + beta C on the unit for products of bfloat16 matrices (AMX), as gemm() does with alpha 1, with the accuracy of float. Each number is the
// exact sum of three bfloat16 numbers, its parts. Six of the nine products of parts are added up; the others are less than
// 2^-25 of the whole. Numbers that are bfloat16 already have one part, which gives the same bits in half the time. Numbers
// below 2^-126 count as 0. Returns false, and computes nothing, if the unit is missing, if the product is too small to gain,
// or if beta is a number other than 0 and 1.
bool split_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<float>& A, const Matrix<float>& B,
                float beta, float* C, std::int64_t ldc);

}  // namespace heed::cpu
