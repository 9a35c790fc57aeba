#pragma once
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/pack.h"

#include <type_traits>

// Copies of tensors with any strides. Internal.
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
      if constexpr (std::is_floating_point_v<T>) {
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

// Returns the axis of a transposed tensor along which its elements lie beside each other, if copying by tiles pays off, or 0.
inline std::size_t transposed_axis(const Walk<1>& walk) {
  constexpr std::int64_t least = 8;
  std::size_t across = 1;
  const std::size_t rank = static_cast<std::size_t>(walk.rank);
  while (across < rank && walk.stride[0][across] != 1) ++across;
  const bool pays_off = across < rank && walk.stride[0][0] != 1 && walk.size[0] >= least && walk.size[across] >= least;
  return pays_off ? across : 0;
}

// Computes y = from over `shape`, row-major into y.
template <class T>
void copy(const Shape& shape, T* y, const Operand<T>& from) {
  if (shape.numel() == 0) return;  // the products of other sizes may overflow
  const Walk<1> walk(shape, {&from.strides});
  const std::size_t across = transposed_axis(walk), rank = static_cast<std::size_t>(walk.rank);
  if (across == 0) {
    return map(
        shape, y, [](T v) { return v; }, from);
  }
  std::int64_t others = 1;
  for (std::size_t axis = 1; axis < rank; ++axis) others *= axis == across ? 1 : walk.size[axis];
  constexpr std::int64_t rows_a_task = 64;
  const std::int64_t rows = walk.size[across], tasks = (rows + rows_a_task - 1) / rows_a_task;
  parallel_for(others * tasks, 1, [&](std::int64_t task, std::int64_t) {
    std::int64_t rest = task / tasks, offset = 0, place = 0, step = walk.size[0], to_step = 0;
    for (std::size_t axis = 1; axis < rank; step *= walk.size[axis], ++axis) {
      if (axis == across) {
        to_step = step;
        continue;
      }
      offset += rest % walk.size[axis] * walk.stride[0][axis];
      place += rest % walk.size[axis] * step;
      rest /= walk.size[axis];
    }
    const std::int64_t first = task % tasks * rows_a_task;
    copy_transposed(from.data + offset + first, walk.stride[0][0], y + place + first * to_step, to_step,
                    std::min(rows_a_task, rows - first), walk.size[0]);
  });
}

}  // namespace heed::cpu
