#pragma once
#include "autograd/cpu/convolution.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

// How convolutions divide their work, and those that do without a matrix of copies. Internal.
namespace heed::cpu {

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Consecutive output positions: whole rows, or a part of a row.
struct Block {
  std::int64_t row, column, rows, columns;
  std::int64_t first(const Convolution& c) const { return row * c.out.width + column; }
  std::int64_t size() const { return rows * columns; }
};

// The output positions of an image in blocks of at most `positions`. They depend only on the sizes.
struct Blocking {
  HeightWidth size, count;  // of a block, and number of blocks along each axis

  Blocking(const Convolution& c, std::int64_t positions) : size(1), count(1) {
    size.width = part(c.out.width, positions);
    size.height =
        size.width == c.out.width ? part(c.out.height, std::max<std::int64_t>(1, positions / c.out.width)) : 1;
    count = {ceil_divide(c.out.height, size.height), ceil_divide(c.out.width, size.width)};
  }
  std::int64_t blocks() const { return count.height * count.width; }
  Block block(const Convolution& c, std::int64_t i) const {
    const std::int64_t row = i / count.width * size.height, column = i % count.width * size.width;
    return {row, column, std::min(size.height, c.out.height - row), std::min(size.width, c.out.width - column)};
  }

 private:
  // Returns the size, at most `most`, of equal parts of `all`.
  static std::int64_t part(std::int64_t all, std::int64_t most) { return ceil_divide(all, ceil_divide(all, most)); }
};

// Returns how many of the items (blocks of images) each part of the gradient of W adds up, which has `numbers` for a group. The
// number of parts depends only on the sizes, and the parts are added in order.
inline std::int64_t items_of_part(const Convolution& c, std::int64_t items, std::int64_t numbers) {
  const std::int64_t parts = c.groups >= 8 ? 1 : std::clamp<std::int64_t>((std::int64_t{1} << 22) / numbers, 2, 8);
  return ceil_divide(items, parts);
}

// Calls f with a step, which is a constant if it is 1 or 2.
void with_step(std::int64_t step, auto f) {
  if (step == 1) return f(std::integral_constant<std::int64_t, 1>{});
  if (step == 2) return f(std::integral_constant<std::int64_t, 2>{});
  f(step);
}

constexpr std::int64_t max_numbers = std::int64_t{1} << 16;  // of x, and of y, that a thread holds in its second cache

// How an axis of x is stored.
struct Axis {
  std::int64_t stride, padding, dilation;
  std::int64_t reach;   // distance of the last tap from the first, in elements of y
  std::int64_t phases;  // remainders of the stride that taps have; 1024 of them stand for more

  Axis(std::int64_t kernel, std::int64_t s, std::int64_t p, std::int64_t d)
      : stride(s),
        padding(p),
        dilation(d),
        reach(d * (kernel - 1) / s),
        phases(d % s == 0 ? 1 : std::min({s, d * (kernel - 1) + 1, std::int64_t{1024}})) {}
};

// How the numbers of x that a block of y reads are stored: (channels, phases, rows, columns).
struct Image {
  Axis vertical, horizontal;
  Blocking blocking;
  std::int64_t rows, columns;  // for the largest block

  explicit Image(const Convolution& c)
      : vertical(c.kernel.height, c.stride.height, c.padding.height, c.dilation.height),
        horizontal(c.kernel.width, c.stride.width, c.padding.width, c.dilation.width),
        blocking(c, max_positions(c)),
        rows(blocking.size.height + vertical.reach),
        columns(blocking.size.width + horizontal.reach) {}

  // Returns whether the padding and the numbers that two blocks read are not much more than those that one reads.
  bool is_compact() const {
    return phases() <= 64 && rows <= max_numbers && columns <= max_numbers &&
           rows * columns <= 4 * blocking.size.height * blocking.size.width;
  }
  std::int64_t phases() const { return vertical.phases * horizontal.phases; }
  std::int64_t plane() const { return phases() * rows * columns; }

  // Returns where the numbers for each tap begin: (kernel height, channels, kernel width).
  std::vector<std::int64_t> offsets(const Convolution& c) const {
    std::vector<std::int64_t> result;
    for (std::int64_t p = 0; p < c.kernel.height; ++p) {
      const std::int64_t row = p * vertical.dilation;
      for (std::int64_t channel = 0; channel < c.channels; ++channel) {
        for (std::int64_t q = 0; q < c.kernel.width; ++q) {
          const std::int64_t column = q * horizontal.dilation;
          const std::int64_t phase = row % vertical.stride * horizontal.phases + column % horizontal.stride;
          result.push_back(channel * plane() + (phase * rows + row / vertical.stride) * columns +
                           column / horizontal.stride);
        }
      }
    }
    return result;
  }

  // Copies the channels of an image.
  template <class T>
  void copy(const Convolution& c, const Block& block, const T* x, T* to) const {
    for_each_row(c, block, x, to, [this](const T* from, T* row, std::int64_t begin, std::int64_t end, auto step) {
      std::fill(row, row + begin, T{0});
#pragma omp simd
      for (std::int64_t j = begin; j < end; ++j) row[j] = from[j * step];
      std::fill(row + end, row + columns, T{0});
    });
  }

  // Adds the numbers to the channels of an image, without those of the padding.
  template <class T>
  void add(const Convolution& c, const Block& block, const T* numbers, T* x) const {
    for_each_row(c, block, x, numbers, [](T* to, const T* row, std::int64_t begin, std::int64_t end, auto step) {
#pragma omp simd
      for (std::int64_t j = begin; j < end; ++j) to[j * step] += row[j];
    });
  }

 private:
  // Calls visit(numbers of x, row, begin, end, step) for each row: its column j is the number j * step of x for j from begin to end,
  // and padding elsewhere. A row of padding has begin = end = 0.
  template <class X, class Number, class Visit>
  void for_each_row(const Convolution& c, const Block& block, X* x, Number* row, Visit visit) const {
    with_step(horizontal.stride, [&](auto step) {
      for (std::int64_t channel = 0; channel < c.channels; ++channel, x += c.plane()) {
        for (std::int64_t phase = 0; phase < phases(); ++phase) {
          const std::int64_t first = block.column * step + phase % horizontal.phases - horizontal.padding;
          const std::int64_t begin =
              std::clamp<std::int64_t>(ceil_divide(-std::min<std::int64_t>(first, 0), step), 0, columns);
          const std::int64_t end = std::clamp<std::int64_t>(ceil_divide(c.size.width - first, step), begin, columns);
          for (std::int64_t i = 0; i < rows; ++i, row += columns) {
            const std::int64_t at = (block.row + i) * vertical.stride + phase / horizontal.phases - vertical.padding;
            if (at < 0 || at >= c.size.height) {
              visit(x, row, std::int64_t{0}, std::int64_t{0}, step);
            } else {
              visit(x + at * c.size.width + first, row, begin, end, step);
            }
          }
        }
      }
    });
  }

  std::int64_t max_positions(const Convolution& c) const {
    const std::int64_t cached = max_numbers / std::max(c.channels * phases(), c.filters);
    // few images are divided evenly among threads
    const std::int64_t blocks = c.images * c.groups >= 8
                                    ? 1
                                    : ceil_divide(ceil_divide(c.positions(), std::max<std::int64_t>(1, cached)), 8) * 8;
    return std::max<std::int64_t>(64, std::min(cached, ceil_divide(c.positions(), blocks)));
  }
};

// The weights of a convolution. A mirrored W is (groups * channels, filters, kernel), and its kernel is read backwards: the
// transpose of a convolution with stride 1 is one with its mirrored weights.
template <class T>
struct Weights {
  const T* W;
  bool is_mirrored = false;
};

// Compute y = conv2d(x, W) + bias, and the gradient of W, without a matrix of copies. The first returns whether that is faster.
bool convolves_directly(const Convolution& c);
void convolve_directly(const Convolution& c, const float* x, const Weights<float>& W, const float* bias, float* y);
void convolve_directly_for_weights(const Convolution& c, const float* x, const float* y, float* W);

// The same for groups of one channel and one filter, and the transpose for any stride.
bool is_depthwise(const Convolution& c);
template <class T>
void convolve_depthwise(const Convolution& c, const T* x, const Weights<T>& W, const T* bias, T* y);
template <class T>
void convolve_depthwise_transposed(const Convolution& c, const T* y, const T* W, const T* bias, T* x);
template <class T>
void convolve_depthwise_for_weights(const Convolution& c, const T* x, const T* y, T* W);

}  // namespace heed::cpu
