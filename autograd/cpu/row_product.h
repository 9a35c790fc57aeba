#pragma once
#include "autograd/cpu/matrix.h"

#include <cstdint>

namespace heed::cpu {

// Returns whether row_product() supports W (k x n): W has dense rows or long dense columns, and is large enough to
// gain.
bool is_row_product(std::int64_t k, std::int64_t n, std::int64_t row_stride, std::int64_t column_stride);

// Computes y (n) = alpha x (k) W (k x n) + bias (n); bias may be null. This is the main cost of generating one token at
// a time. Memory bandwidth limits it, so it reads W once, in memory order. Gives the same bits for any number of
// threads, and for a W of narrower numbers or of blocks (S) those of W converted to T.
template <class T, class S>
void row_product(std::int64_t k, std::int64_t n, T alpha, const T* x, std::int64_t x_stride, Matrix<S> W, const T* bias,
                 T* y);

}  // namespace heed::cpu
