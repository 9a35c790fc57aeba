#pragma once
#include <cstdint>

namespace heed::cpu {

// A matrix: element (i, j) is at data[i * row_stride + j * column_stride].
template <class T>
struct Matrix {
  const T* data;
  std::int64_t row_stride, column_stride;
};

}  // namespace heed::cpu
