// Convolution by matrix products. The numbers of x that a block of output rows reads are copied to a matrix (taps, positions),
// where a row holds what one weight is multiplied with (Chellapilla et al. 2006, "High performance convolutional neural networks for
// document processing"). A block is so small that the matrix stays in the cache. Most convolutions of float32 do without the
// matrix (direct_convolution.cpp).
#include "autograd/cpu/convolution.h"

#include "autograd/cpu/bfloat16_gemm.h"
#include "autograd/cpu/blas.h"
#include "autograd/cpu/convolution_image.h"
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/micro_kernel.h"
#include "autograd/cpu/subnormals.h"

#include <heed/autograd/machine.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

namespace heed::cpu {
namespace {

// Blocks, whose numbers of x are copied unless they are the matrix already.
struct CopiedBlocking : Blocking {
  bool is_copied;

  CopiedBlocking(const Convolution& c, std::int64_t taps)
      : Blocking(c, std::max<std::int64_t>(32, 131072 / taps)),
        is_copied(c.kernel != HeightWidth(1) || c.stride != HeightWidth(1) || c.padding != HeightWidth(0) ||
                  c.size != c.out) {}
};

// A matrix for each thread.
template <class T>
class Scratch {
 public:
  Scratch(const CopiedBlocking& blocking, std::int64_t taps)
      : size_(taps * blocking.size.height * blocking.size.width + vector_bytes),
        tensor_({blocking.is_copied ? threads() : 0, size_}, dtype_of<T>, "conv2d"),
        data_(tensor_.template mutable_data<T>()) {}
  T* of_this_thread() const { return data_ + current_thread() * size_; }

 private:
  std::int64_t size_;
  Tensor tensor_;
  T* data_;
};

// Calls row(row of the matrix, numbers of x for it, or nullptr in the padding, begin and end of those that lie in x) for the taps of
// `channels` channels and each output row of a block.
template <class T, class X, class Row>
[[gnu::always_inline]] inline void for_each_row(const Convolution& convolution, std::int64_t channels,
                                                const Block& positions, X* x, T* matrix, Row row) {
  const Convolution c = convolution;  // copies, which stay in registers while rows are written
  const Block block = positions;
  const std::int64_t row_step = c.stride.height * c.size.width;
  for (std::int64_t channel = 0; channel < channels; ++channel, x += c.plane()) {
    for (std::int64_t p = 0; p < c.kernel.height; ++p) {
      for (std::int64_t q = 0; q < c.kernel.width; ++q) {
        const std::int64_t shift = block.column * c.stride.width + q * c.dilation.width - c.padding.width;
        const std::int64_t rest = c.size.width - shift;
        const std::int64_t begin = std::min(block.columns, shift >= 0 ? 0 : ceil_divide(-shift, c.stride.width));
        const std::int64_t end =
            std::max(begin, std::min(block.columns, rest > 0 ? ceil_divide(rest, c.stride.width) : 0));
        std::int64_t from = block.row * c.stride.height + p * c.dilation.height - c.padding.height;
        X* source = x + (from * c.size.width + shift);
        for (std::int64_t i = 0; i < block.rows; ++i) {
          const bool is_inside = from >= 0 && from < c.size.height;
          row(matrix, is_inside ? source : nullptr, begin, end);
          matrix += block.columns, source += row_step, from += c.stride.height;
        }
      }
    }
  }
}

// Copies elements begin to end of a row of n, and sets the others to 0.
template <class T>
[[gnu::always_inline]] inline void copy_padded(const T* from, T* to, std::int64_t begin, std::int64_t end,
                                               std::int64_t n) {
#if defined(__AVX512F__)
  constexpr std::int64_t width = vector_bytes / static_cast<std::int64_t>(sizeof(T));
  typedef T Vector __attribute__((vector_size(vector_bytes)));
  const auto bits = [=](std::int64_t count) { return (1u << std::clamp<std::int64_t>(count, 0, width)) - 1; };
  for (std::int64_t j = 0; j < n; j += width) {
    Vector values;
    load_masked(from + j, values, bits(end - j) & ~bits(begin - j));
    std::memcpy(to + j, &values, sizeof values);  // what it writes behind the row is written again later
  }
#else
  for (std::int64_t j = 0; j < begin; ++j) to[j] = T{0};
  if (end > begin) std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
  for (std::int64_t j = end; j < n; ++j) to[j] = T{0};
#endif
}

template <class T>
void copy_block(const Convolution& c, const Block& block, const T* x, T* matrix) {
  const std::int64_t step = c.stride.width, n = block.columns;
  if (step == 1) {
    return for_each_row(c, c.channels, block, x, matrix,
                        [n](T* to, const T* from, std::int64_t begin, std::int64_t end) {
                          copy_padded(from ? from : to, to, begin, from ? end : begin, n);
                        });
  }
  for_each_row(c, c.channels, block, x, matrix, [=](T* to, const T* from, std::int64_t begin, std::int64_t end) {
    if (!from) end = begin;
    for (std::int64_t j = 0; j < begin; ++j) to[j] = T{0};
    for (std::int64_t j = begin; j < end; ++j) to[j] = from[j * step];
    for (std::int64_t j = end; j < n; ++j) to[j] = T{0};
  });
}

// Computes to[j * step] += from[j] for j in [0, n).
template <class T, class Step>
[[gnu::always_inline]] inline void add_row(const T* from, T* to, std::int64_t n, Step step) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float> && std::is_same_v<Step, std::integral_constant<std::int64_t, 2>>) {
    for (std::int64_t j = 0; j < n; j += 8) {  // g++ would add them one by one
      const std::int64_t count = std::min<std::int64_t>(n - j, 8);
      const __mmask16 dense = static_cast<__mmask16>((1u << count) - 1);
      const __mmask16 even = static_cast<__mmask16>(((1u << 2 * count) - 1) & 0x5555);
      const __m512 values = _mm512_maskz_expand_ps(even, _mm512_maskz_loadu_ps(dense, from + j));
      const __m512 sums = _mm512_add_ps(_mm512_maskz_loadu_ps(even, to + 2 * j), values);
      _mm512_mask_storeu_ps(to + 2 * j, even, sums);
    }
    return;
  }
#endif
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) to[j * step] += from[j];
}

template <class T>
void add_block(const Convolution& c, std::int64_t channels, const Block& block, T* matrix, T* x) {
  with_step(c.stride.width, [&](auto step) {
    for_each_row(c, channels, block, x, matrix, [&](const T* from, T* to, std::int64_t begin, std::int64_t end) {
      if (to) add_row(from + begin, to + begin * step, end - begin, step);
    });
  });
}

// Returns the convolution, with the kernel read backwards, that is the transpose of one with stride 1.
std::optional<Convolution> as_convolution(const Convolution& c) {
  Convolution d = c;
  std::swap(d.channels, d.filters);
  std::swap(d.size, d.out);
  d.padding = {c.dilation.height * (c.kernel.height - 1) - c.padding.height,
               c.dilation.width * (c.kernel.width - 1) - c.padding.width};
  if (c.stride != HeightWidth(1) || d.padding.height < 0 || d.padding.width < 0) return {};
  return d;
}

}  // namespace

template <class T>
void convolve(const Convolution& c, const T* x, const T* W, const T* bias, T* y) {
  blas_description();  // loads the library before any thread needs it
  const std::int64_t k = c.taps(), all = c.positions();
  if (is_depthwise(c)) return convolve_depthwise(c, x, {W}, bias, y);
  if constexpr (std::is_same_v<T, float>) {
    if (convolves_directly(c)) return convolve_directly(c, x, {W}, bias, y);
  }
  const CopiedBlocking blocking(c, k);
  const std::int64_t blocks = blocking.blocks();
  const Scratch<T> scratch(blocking, k);
  parallel_for(c.images * c.groups * blocks, 1, [&](std::int64_t task, std::int64_t) {
    const DenormalsAreZero all_normal;
    const Block block = blocking.block(c, task % blocks);
    const std::int64_t item = task / blocks, group = item % c.groups, n = block.size();
    const T* from = x + item * c.channels * c.plane();
    T* to = y + item * c.filters * all + block.first(c);
    Matrix<T> B{from + block.first(c), all, 1};
    if (blocking.is_copied) {
      T* const matrix = scratch.of_this_thread();
      copy_block(c, block, from, matrix);
      B = {matrix, n, 1};
    }
    for (std::int64_t o = 0; bias && o < c.filters; ++o) std::fill_n(to + o * all, n, bias[group * c.filters + o]);
    gemm(c.precision, c.filters, n, k, T{1}, {W + group * c.filters * k, k, 1}, B, bias ? T{1} : T{0}, to, all);
  });
}

template <class T>
void convolve_transposed(const Convolution& c, const T* y, const T* W, const T* bias, T* x) {
  blas_description();
  if (const std::optional<Convolution> forward = as_convolution(c)) {
    if (is_depthwise(*forward)) return convolve_depthwise(*forward, y, {.W = W, .is_mirrored = true}, bias, x);
    if constexpr (std::is_same_v<T, float>) {
      if (convolves_directly(*forward)) return convolve_directly(*forward, y, {.W = W, .is_mirrored = true}, bias, x);
    }
  }
  if (is_depthwise(c)) return convolve_depthwise_transposed(c, y, W, bias, x);
  // Few images are divided by channels, too.
  const std::int64_t items = c.images * c.groups, wanted = items >= 8 ? 1 : ceil_divide(8, items);
  const std::int64_t channels = ceil_divide(c.channels, wanted), parts = ceil_divide(c.channels, channels);
  const std::int64_t k = c.taps(), all = c.positions(), of_channel = c.kernel.height * c.kernel.width;
  const CopiedBlocking blocking(c, channels * of_channel);
  const Scratch<T> scratch(blocking, channels * of_channel);
  parallel_for(items * parts, 1, [&](std::int64_t task, std::int64_t) {
    const DenormalsAreZero all_normal;
    const std::int64_t item = task / parts, group = item % c.groups, channel = task % parts * channels;
    const std::int64_t count = std::min(channels, c.channels - channel), m = count * of_channel;
    const T* from = y + item * c.filters * all;
    const Matrix<T> A{W + group * c.filters * k + channel * of_channel, 1, k};
    T* to = x + (item * c.channels + channel) * c.plane();
    for (std::int64_t i = 0; i < count; ++i) {
      std::fill_n(to + i * c.plane(), c.plane(), bias ? bias[group * c.channels + channel + i] : T{0});
    }
    for (std::int64_t i = 0; i < blocking.blocks(); ++i) {
      const Block block = blocking.block(c, i);
      const Matrix<T> B{from + block.first(c), all, 1};
      if (!blocking.is_copied) {
        gemm(c.precision, m, block.size(), c.filters, T{1}, A, B, T{1}, to + block.first(c), c.plane());
        continue;
      }
      T* const matrix = scratch.of_this_thread();
      gemm(c.precision, m, block.size(), c.filters, T{1}, A, B, T{0}, matrix, block.size());
      add_block(c, count, block, matrix, to);
    }
  });
}

template <class T>
void convolve_for_weights(const Convolution& c, const T* x, const T* y, T* W) {
  blas_description();
  const std::int64_t k = c.taps(), all = c.positions(), of_group = c.filters * k;
  if (is_depthwise(c)) return convolve_depthwise_for_weights(c, x, y, W);
  if constexpr (std::is_same_v<T, float>) {
    if (convolves_directly(c)) return convolve_directly_for_weights(c, x, y, W);
  }
  const CopiedBlocking blocking(c, k);
  const std::int64_t blocks = blocking.blocks();
  const Scratch<T> scratch(blocking, k);
  // Sums a fixed number of parts of the blocks, then the parts in order.
  const std::int64_t items = c.images * blocks;
  const std::int64_t of_part = items_of_part(c, items, of_group), parts = ceil_divide(items, of_part);
  Tensor sums({parts > 1 ? parts : 0, c.groups, of_group}, dtype_of<T>, "conv2d");
  T* const partial = parts > 1 ? sums.mutable_data<T>() : W;
  parallel_for(parts * c.groups, 1, [&](std::int64_t task, std::int64_t) {
    const DenormalsAreZero all_normal;
    const std::int64_t begin = task / c.groups * of_part, group = task % c.groups;
    for (std::int64_t item = begin; item < std::min(items, begin + of_part); ++item) {
      const Block block = blocking.block(c, item % blocks);
      const std::int64_t image = item / blocks * c.groups + group, n = block.size();
      const T* from = x + image * c.channels * c.plane();
      Matrix<T> B{from + block.first(c), 1, all};
      if (blocking.is_copied) {
        T* const matrix = scratch.of_this_thread();
        copy_block(c, block, from, matrix);
        B = {matrix, 1, n};
      }
      const Matrix<T> A{y + image * c.filters * all + block.first(c), all, 1};
      gemm(c.precision, c.filters, k, n, T{1}, A, B, item == begin ? T{0} : T{1}, partial + task * of_group, k);
    }
  });
  if (parts == 1) return;
  const std::int64_t count = c.groups * of_group;
  parallel_for(count, row_grain(count), [&](std::int64_t begin, std::int64_t end) {
    std::copy(partial + begin, partial + end, W + begin);
    for (std::int64_t part = 1; part < parts; ++part) {
      const T* from = partial + part * count;
      for (std::int64_t i = begin; i < end; ++i) W[i] += from[i];
    }
  });
}

template void convolve(const Convolution&, const float*, const float*, const float*, float*);
template void convolve(const Convolution&, const double*, const double*, const double*, double*);
template void convolve_transposed(const Convolution&, const float*, const float*, const float*, float*);
template void convolve_transposed(const Convolution&, const double*, const double*, const double*, double*);
template void convolve_for_weights(const Convolution&, const float*, const float*, float*);
template void convolve_for_weights(const Convolution&, const double*, const double*, double*);

}  // namespace heed::cpu
