#pragma once
#include "autograd/cpu/pack.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

// Copies of transposed matrices by tiles. Internal.
namespace heed::cpu {

// Computes to[i * to_step + k] = from[i + k * from_step], i and k < 16, by squares in registers.
template <class T>
void copy_tile(const T* from, std::int64_t from_step, T* to, std::int64_t to_step) {
  for (std::int64_t k = 0; k < 16; k += square<T>) {
    for (std::int64_t i = 0; i < 16; i += square<T>) {
      const T* columns[square<T>];
      for (std::int64_t s = 0; s < square<T>; ++s) columns[s] = from + i + (k + s) * from_step;
      transpose_square(columns, to + i * to_step + k, to_step);
    }
  }
}

// As above for single bytes: four times, the rows of the first half are interleaved with those of the second.
inline void copy_tile(const std::uint8_t* from, std::int64_t from_step, std::uint8_t* to, std::int64_t to_step) {
  typedef std::uint8_t Row __attribute__((vector_size(16)));
  Row x[16], y[16];
  for (int k = 0; k < 16; ++k) std::memcpy(&x[k], from + k * from_step, sizeof x[k]);
  for (int round = 0; round < 4; ++round) {
    for (int k = 0; k < 8; ++k) {
      y[2 * k] = __builtin_shufflevector(x[k], x[k + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      y[2 * k + 1] =
          __builtin_shufflevector(x[k], x[k + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    std::swap(x, y);
  }
  for (int i = 0; i < 16; ++i) std::memcpy(to + i * to_step, &x[i], sizeof x[i]);
}

// Computes to = from for matrices whose rows are from[i + k * from_step], i < rows, k < columns. Reads and writes whole lines
// of the cache.
template <class T>
void copy_transposed(const T* from, std::int64_t from_step, T* to, std::int64_t to_step, std::int64_t rows,
                     std::int64_t columns) {
  constexpr std::int64_t tile = 16;
  T lines[tile][tile];
  for (std::int64_t k = 0; k < columns; k += tile) {
    const std::int64_t width = std::min(tile, columns - k);
    for (std::int64_t i = 0; i < rows; i += tile) {
      const std::int64_t height = std::min(tile, rows - i);
      if constexpr (sizeof(T) >= 4 || std::is_same_v<T, std::uint8_t>) {
        if (width == tile && height == tile) {
          copy_tile(from + i + k * from_step, from_step, to + i * to_step + k, to_step);
          continue;
        }
      }
      for (std::int64_t l = 0; l < width; ++l) std::copy_n(from + i + (k + l) * from_step, height, lines[l]);
      for (std::int64_t r = 0; r < height; ++r) {
        T* const row = to + (i + r) * to_step + k;
        for (std::int64_t l = 0; l < width; ++l) row[l] = lines[l][r];
      }
    }
  }
}

}  // namespace heed::cpu
