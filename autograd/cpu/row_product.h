#pragma once
#include "autograd/cpu/blas.h"

#include <cstdint>

namespace heed::cpu {

// Whether row_product() takes W (k x n): its rows, or long columns, lie one after another, and it is large enough to repay
// that.
bool is_row_product(std::int64_t k, std::int64_t n, std::int64_t row_stride, std::int64_t column_stride);

// y (n) = alpha x (k) W (k x n) + bias (n), which may be null: what a text costs that is written token by token. Reads W
// once, as it lies in memory, which is what limits it. The same bits for any number of threads.
template <class T>
void row_product(std::int64_t k, std::int64_t n, T alpha, const T* x, std::int64_t x_stride, Matrix<T> W, const T* bias,
                 T* y);

}  // namespace heed::cpu
