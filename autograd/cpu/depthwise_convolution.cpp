// Depthwise convolution: each group has one channel and one filter. A product of matrices would have one row.
#include "autograd/cpu/convolution_image.h"
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/micro_kernel.h"
#include "autograd/cpu/subnormals.h"
#include "autograd/cpu/sums.h"

#include <heed/autograd/machine.h>

#include <algorithm>
#include <type_traits>
#include <vector>

namespace heed::cpu {
namespace {

// Copies a block of y. Its rows have the width of the image's and end with zeros, so that the numbers that a tap reads for all of
// them lie a fixed distance away.
template <class T>
void copy_rows(const Convolution& c, const Image& layout, const Block& block, const T* y, T* to) {
  for (std::int64_t i = 0; i < block.rows; ++i, to += layout.columns) {
    std::copy_n(y + block.first(c) + i * c.out.width, block.columns, to);
    std::fill(to + block.columns, to + layout.columns, T{0});
  }
}

std::int64_t length_of(const Image& layout, const Block& block) {
  return (block.rows - 1) * layout.columns + block.columns;
}

// Calls channel(index of its filter, its x, its y) for each channel of each image.
void for_each_channel(const Convolution& c, auto* x, auto* y, auto channel) {
  for_rows(c.images * c.groups, c.positions() * c.taps(), [&](std::int64_t item) {
    const DenormalsAreZero all_normal;
    channel(item % c.groups, x + item * c.plane(), y + item * c.positions());
  });
}

}  // namespace

bool is_depthwise(const Convolution& c) {
  constexpr std::int64_t usual = 64;  // the gradient of W stores all of the padding
  return c.channels == 1 && c.filters == 1 && c.groups > 1 && c.precision == Precision::float32 &&
         c.padding.height <= c.size.height + usual && c.padding.width <= c.size.width + usual && Image(c).is_compact();
}

// Reads an image with its padding as one row of numbers: those for a tap lie a fixed distance from those for another. Results
// between the end of a row of y and the next are dropped.
template <class T>
void convolve_depthwise(const Convolution& c, const T* x, const Weights<T>& W, const T* bias, T* y) {
  constexpr std::int64_t vector = NR<T> / 2, together = 4 * vector;
  const Image layout(c);
  const std::vector<std::int64_t> offsets = layout.offsets(c);
  const std::int64_t taps = c.taps(), blocks = layout.blocking.blocks();
  const std::int64_t image_size = layout.plane() + together,
                     size = image_size + layout.rows * layout.columns + together;
  Tensor scratch({threads(), size}, dtype_of<T>, "conv2d");
  T* const all_scratch = scratch.mutable_data<T>();
  for_rows(c.images * c.groups * blocks, layout.blocking.size.height * layout.columns * taps, [&](std::int64_t task) {
    const DenormalsAreZero all_normal;
    const Block block = layout.blocking.block(c, task % blocks);
    const std::int64_t item = task / blocks, group = item % c.groups;
    T *const image = all_scratch + current_thread() * size, *const sums = image + image_size;
    layout.copy(c, block, x + item * c.plane(), image);
    const T* const weights = W.W + group * taps;
    const EqualRows<T> A = W.is_mirrored ? EqualRows<T>{weights + taps - 1, -1} : EqualRows<T>{weights, 1};
    const std::int64_t length = length_of(layout, block);
    const auto multiply = [&](std::int64_t j, auto vectors) {
      micro_kernel<T, 1, vectors, false>(taps, A, nullptr, RowsAt<T>{image + j, offsets.data()}, T{1}, T{0}, sums + j,
                                         0, vectors * vector);
      return j + vectors * vector;
    };
    for (std::int64_t j = 0; j < length;) {
      j = length - j > 2 * vector ? multiply(j, std::integral_constant<int, 4>{})
                                  : multiply(j, std::integral_constant<int, 1>{});
    }
    T* to = y + item * c.positions() + block.first(c);
    const T added = bias ? bias[group] : T{0};
    for (std::int64_t i = 0; i < block.rows; ++i, to += c.out.width) {
      for (std::int64_t j = 0; j < block.columns; ++j) to[j] = sums[i * layout.columns + j] + added;
    }
  });
}

template <class T>
void convolve_depthwise_transposed(const Convolution& c, const T* y, const T* W, const T* bias, T* x) {
  const Image layout(c);
  const std::vector<std::int64_t> offsets = layout.offsets(c);
  for_each_channel(c, x, y, [&](std::int64_t filter, T* to, const T* from) {
    std::vector<T> image(static_cast<std::size_t>(layout.plane())),
        rows(static_cast<std::size_t>(layout.rows * layout.columns));
    std::fill_n(to, c.plane(), bias ? bias[filter] : T{0});
    for (std::int64_t i = 0; i < layout.blocking.blocks(); ++i) {
      const Block block = layout.blocking.block(c, i);
      copy_rows(c, layout, block, from, rows.data());
      std::ranges::fill(image, T{0});
      for (std::int64_t tap = 0; tap < c.taps(); ++tap) {
        T* const sums = image.data() + offsets[static_cast<std::size_t>(tap)];
        const T* const factors = rows.data();
        const T weight = W[filter * c.taps() + tap];
        const std::int64_t n = length_of(layout, block);
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) sums[j] += weight * factors[j];
      }
      layout.add(c, block, image.data(), to);
    }
  });
}

template <class T>
void convolve_depthwise_for_weights(const Convolution& c, const T* x, const T* y, T* W) {
  const Image layout(c);
  const std::vector<std::int64_t> offsets = layout.offsets(c);
  for_rows(c.groups, c.images * c.positions() * c.taps(), [&](std::int64_t group) {
    const DenormalsAreZero all_normal;
    std::vector<T> image(static_cast<std::size_t>(layout.plane())),
        rows(static_cast<std::size_t>(layout.rows * layout.columns));
    std::vector<double> sums(static_cast<std::size_t>(c.taps()));
    for (std::int64_t item = group; item < c.images * c.groups; item += c.groups) {
      for (std::int64_t i = 0; i < layout.blocking.blocks(); ++i) {
        const Block block = layout.blocking.block(c, i);
        copy_rows(c, layout, block, y + item * c.positions(), rows.data());
        layout.copy(c, block, x + item * c.plane(), image.data());
        for (std::size_t tap = 0; tap < sums.size(); ++tap) {
          sums[tap] += dot_row(image.data() + offsets[tap], rows.data(), length_of(layout, block));
        }
      }
    }
    std::ranges::transform(sums, W + group * c.taps(), [](double sum) { return static_cast<T>(sum); });
  });
}

template void convolve_depthwise(const Convolution&, const float*, const Weights<float>&, const float*, float*);
template void convolve_depthwise(const Convolution&, const double*, const Weights<double>&, const double*, double*);
template void convolve_depthwise_transposed(const Convolution&, const float*, const float*, const float*, float*);
template void convolve_depthwise_transposed(const Convolution&, const double*, const double*, const double*, double*);
template void convolve_depthwise_for_weights(const Convolution&, const float*, const float*, float*);
template void convolve_depthwise_for_weights(const Convolution&, const double*, const double*, double*);

}  // namespace heed::cpu
