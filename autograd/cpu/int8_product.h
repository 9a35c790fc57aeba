#pragma once
#include "autograd/cpu/widen.h"

#include <cstdint>

// Products with weights in blocks of few bits that are not widened: sums of products of 8-bit integers. Internal.
namespace heed::cpu {

// Returns whether int8_product() reads W (k x n): there are at least 16 columns, each of whole blocks.
bool is_int8_product(std::int64_t k, std::int64_t n, const Matrix<Blocks>& W);

// Computes y (m x n) = x W + bias, for x (m x k), W (k x n) and bias (n), which may be null. y is dense. The numbers of x are rounded as
// Q8_0 rounds them: each 32 of a row become integers from -127 to 127 times 1/127 of the largest. Then
//   y[j] = bias[j] + sum over blocks b of (x's scale[b] * W's scale[b, j]) * (sum of products of integers)
// and, where W's blocks have least numbers, these times the sums of x's numbers. The integer sums are exact, and the terms are added
// in the order of the blocks, each by one fused multiply-add. Each row of y therefore has the same bits with any instructions, for
// any number of rows and threads. An infinity or NaN in a block of x makes its row NaN.
void int8_product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<float>& x, const Matrix<Blocks>& W,
                  const float* bias, float* y);

}  // namespace heed::cpu
