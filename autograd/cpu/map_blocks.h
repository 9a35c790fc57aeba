#pragma once
#include "autograd/cpu/thread_pool.h"
#include "autograd/cpu/transposed.h"
#include "autograd/cpu/walk.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

// Elementwise kernels with operands whose rows are columns in memory, as those of transpose(x). A pass along columns reads
// a line of the cache for each element; blocks read whole lines. Internal.
namespace heed::cpu {

// Computes y[r * step + i] = f(x[r * outer + i * inner]...) for `rows` rows of n elements, with the function at `f`.
template <class R, std::size_t N>
using Rows = void (*)(const void* f, std::int64_t rows, std::int64_t n, R* y, std::int64_t step,
                      const std::array<std::int64_t, N>& inner, const std::array<std::int64_t, N>& outer,
                      const std::array<const char*, N>& x);

// Copies rows that begin at from, from + 1, ... to rows of `columns` elements beside each other.
template <class T>
void copy_columns(const char* from, std::int64_t from_step, char* to, std::int64_t rows, std::int64_t columns) {
  copy_transposed(reinterpret_cast<const T*>(from), from_step, reinterpret_cast<T*>(to), columns, rows, columns);
}

// The elements of N operands, their sizes in bytes, and copy_columns() of their types.
template <std::size_t N>
struct Elements {
  std::array<const char*, N> data;
  std::array<std::int64_t, N> size;
  std::array<decltype(&copy_columns<float>), N> copy;

  std::array<const char*, N> at(const std::array<std::int64_t, N>& offset) const {
    std::array<const char*, N> place;
    for (std::size_t i = 0; i < N; ++i) place[i] = data[i] + offset[i] * size[i];
    return place;
  }
};

// The operands that are transposed.
template <std::size_t N>
struct Transposed {
  std::size_t across = 0;           // the axis along which their elements lie beside each other; 0: none is transposed
  std::array<bool, N> is_copied{};  // whether blocks of the operand are transposed before f is called
  bool is_result = true;            // none is: f is called along `across`, and blocks of its results are transposed

  explicit Transposed(const Walk<N>& walk) {
    constexpr std::int64_t least = 8;  // shorter rows and columns are not worth a block
    if (walk.size[0] < least) return;
    const std::size_t rank = static_cast<std::size_t>(walk.rank);
    for (std::size_t i = 0; i < N; ++i) {
      if (walk.stride[i][0] == 0 || walk.stride[i][0] == 1) continue;
      for (std::size_t axis = 1; axis < rank; ++axis) {
        if (walk.stride[i][axis] != 1 || walk.size[axis] < least) continue;
        if (across == 0) across = axis;
        is_copied[i] = is_copied[i] || axis == across;
      }
    }
    for (std::size_t i = 0; i < N; ++i) {
      if (walk.stride[i][0] == 1 && walk.stride[i][across] != 0) is_result = false;
    }
    if (is_result) is_copied.fill(false);
  }
};

constexpr std::int64_t block_bytes = 1 << 16, block_columns = 64;

// Returns this thread's memory for block i.
inline char* block_buffer(std::size_t i) {
  struct alignas(line_bytes) Buffer {
    char bytes[block_bytes];
  };
  static thread_local const auto buffers = std::make_unique<std::array<Buffer, 3>>();
  return (*buffers)[i].bytes;
}

// Loads `bytes` from each of `columns` places into the second cache. The processor does not foresee such short runs.
inline void prefetch_columns(const char* from, std::int64_t step, std::int64_t columns, std::int64_t bytes) {
  for (std::int64_t k = 0; k < columns; ++k) {
    for (std::int64_t b = 0; b < bytes; b += line_bytes) __builtin_prefetch(from + k * step + b, 0, 2);
  }
}

// Calls `rows` with `f` for all blocks of y, which is dense and has `elements` elements.
template <class R, std::size_t N>
void map_blocks(const Walk<N>& walk, const Transposed<N>& transposed, std::int64_t elements, R* y, const void* f,
                Rows<R, N> rows, const Elements<N>& x) {
  static_assert(N <= 3);
  const std::size_t across = transposed.across, rank = static_cast<std::size_t>(walk.rank);
  const std::int64_t largest =
      std::max(*std::max_element(x.size.begin(), x.size.end()), static_cast<std::int64_t>(sizeof(R)));
  const std::int64_t n = walk.size[0], m = walk.size[across], width = std::min(block_columns, n),
                     height = std::min(block_bytes / block_columns / largest, m), across_n = (n + width - 1) / width,
                     across_m = (m + height - 1) / height, blocks = elements / (n * m) * across_n * across_m;
  std::array<std::int64_t, N> along, step;
  for (std::size_t i = 0; i < N; ++i) along[i] = walk.stride[i][0], step[i] = walk.stride[i][across];
  const auto map_block = [&](std::int64_t block) {
    const std::int64_t k = block % across_n * width, first = block / across_n % across_m * height;
    const std::int64_t w = std::min(width, n - k), h = std::min(height, m - first);
    std::int64_t rest = block / (across_n * across_m), place = k, y_step = n, all = n;
    std::array<std::int64_t, N> offset;
    for (std::size_t i = 0; i < N; ++i) offset[i] = k * along[i] + first * step[i];
    for (std::size_t axis = 1; axis < rank; all *= walk.size[axis], ++axis) {
      if (axis == across) {
        y_step = all;
        continue;
      }
      const std::int64_t index = rest % walk.size[axis];
      rest /= walk.size[axis];
      place += index * all;
      for (std::size_t i = 0; i < N; ++i) offset[i] += index * walk.stride[i][axis];
    }
    R* const to = y + place + first * y_step;
    std::array<const char*, N> from = x.at(offset);
    for (std::size_t i = 0; i < N && k + w < n; ++i) {  // of the next block
      const std::int64_t column = along[i] * x.size[i];
      if (step[i] != 1 || column == 0) continue;
      prefetch_columns(from[i] + w * column, column, std::min(width, n - k - w), h * x.size[i]);
    }
    if (transposed.is_result) {
      R* const results = reinterpret_cast<R*>(block_buffer(0));
      rows(f, w, h, results, h, step, along, from);
      return copy_transposed(results, h, to, y_step, h, w);
    }
    std::array<std::int64_t, N> inner = along, outer = step;
    for (std::size_t i = 0; i < N; ++i) {
      if (!transposed.is_copied[i]) continue;
      x.copy[i](from[i], along[i], block_buffer(i), h, w);
      from[i] = block_buffer(i), inner[i] = 1, outer[i] = w;
    }
    rows(f, h, w, to, y_step, inner, outer, from);
  };
  parallel_for(blocks, equal_grain(blocks, std::max<std::int64_t>(1, 8192 / (width * height))),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t block = begin; block < end; ++block) map_block(block);
               });
}

}  // namespace heed::cpu
