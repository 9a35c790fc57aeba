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

// A channel of x with its padding around it.
template <class T>
struct Padded {
  std::int64_t width;
  std::vector<T> numbers;
  explicit Padded(const Convolution& c)
      : width(c.size.width + 2 * c.padding.width),
        numbers(static_cast<std::size_t>(width * (c.size.height + 2 * c.padding.height))) {}
  Padded(const Convolution& c, const T* x) : Padded(c) {
    for_each_row_inside(c, x, [n = c.size.width](T* inside, const T* row) { std::copy_n(row, n, inside); });
  }

  // Calls row(numbers inside the padding, those of x) for each row of the channel.
  void for_each_row_inside(const Convolution& c, auto* x, auto row) {
    T* inside = numbers.data() + c.padding.height * width + c.padding.width;
    for (std::int64_t i = 0; i < c.size.height; ++i) row(inside + i * width, x + i * c.size.width);
  }

  // Calls row(tap, numbers of y, numbers inside, step of these) for each row of y and each tap.
  template <class Y, class Row>
  [[gnu::always_inline]] inline void for_each_tap(const Convolution& convolution, Y* y, Row row) {
    const Convolution c = convolution;
    with_step(c.stride.width, [&](auto step) {
      for (std::int64_t i = 0; i < c.out.height; ++i, y += c.out.width) {
        for (std::int64_t p = 0, tap = 0; p < c.kernel.height; ++p) {
          T* const from = numbers.data() + (i * c.stride.height + p * c.dilation.height) * width;
          for (std::int64_t q = 0; q < c.kernel.width; ++q, ++tap) row(tap, y, from + q * c.dilation.width, step);
        }
      }
    });
  }
};

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
    const std::int64_t length = (block.rows - 1) * layout.columns + block.columns;
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
  for_each_channel(c, x, y, [&](std::int64_t filter, T* to, const T* from) {
    Padded<T> padded(c);
    padded.for_each_tap(c, from,
                        [w = W + filter * c.taps(), n = c.out.width](std::int64_t tap, const T* out, T* in, auto step) {
                          const T weight = w[tap];
#pragma omp simd
                          for (std::int64_t j = 0; j < n; ++j) in[j * step] += weight * out[j];
                        });
    padded.for_each_row_inside(c, to, [n = c.size.width, b = bias ? bias[filter] : T{0}](const T* inside, T* row) {
      for (std::int64_t j = 0; j < n; ++j) row[j] = b + inside[j];
    });
  });
}

template <class T>
void convolve_depthwise_for_weights(const Convolution& c, const T* x, const T* y, T* W) {
  constexpr std::int64_t lanes = 16;  // partial sums of a tap in a channel of an image
  for_rows(c.groups, c.images * c.positions() * c.taps(), [&](std::int64_t group) {
    const DenormalsAreZero all_normal;
    std::vector<double> sums(static_cast<std::size_t>(c.taps()));
    for (std::int64_t item = group; item < c.images * c.groups; item += c.groups) {
      Padded<T> padded(c, x + item * c.plane());
      std::vector<T> partial(static_cast<std::size_t>(c.taps() * lanes));
      const auto add_products = [=, &partial, n = c.out.width](std::int64_t tap, const T* out, const T* in, auto step) {
        T* const sum = partial.data() + tap * lanes;
        std::int64_t j = 0;
        for (; j + lanes <= n; j += lanes) {
#pragma omp simd
          for (std::int64_t l = 0; l < lanes; ++l) sum[l] += out[j + l] * in[(j + l) * step];
        }
#pragma omp simd
        for (std::int64_t l = 0; l < n - j; ++l) sum[l] += out[j + l] * in[(j + l) * step];
      };
      padded.for_each_tap(c, y + item * c.positions(), add_products);
      for (std::size_t tap = 0; tap < sums.size(); ++tap) sums[tap] += sum_row(partial.data() + tap * lanes, lanes);
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
