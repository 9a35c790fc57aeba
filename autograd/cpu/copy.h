#pragma once
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/transposed.h"

// Copies of tensors with any strides. Internal.
namespace heed::cpu {

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
