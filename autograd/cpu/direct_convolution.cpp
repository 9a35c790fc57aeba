// Convolution that multiplies the image where it lies. Neighbours in a row of y read neighbours in a row of x, whatever the tap, so
// the matrix that other convolutions copy (convolution.cpp) is there already: its row for a tap begins at the tap's offset.
// Only the padding is added. With a stride, rows and columns are sorted by their remainders, so that neighbours in y have
// neighbours to read. A micro-tile holds positions of a row of y, for two vectors of filters (Georganas et al. 2018, "Anatomy of
// high-performance deep learning convolutions on SIMD architectures").
#include "autograd/cpu/convolution_image.h"
#include "autograd/cpu/copy.h"
#include "autograd/cpu/micro_kernel.h"
#include "autograd/cpu/subnormals.h"

#include <heed/autograd/machine.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <vector>

namespace heed::cpu {
namespace {

constexpr std::int64_t panel = NR<float>;  // filters side by side
constexpr std::int64_t max_taps = 512;     // that are added at a time

struct Range {
  std::int64_t begin, end;
};

// Returns the rows of the kernel for which a row of y reads rows of x, not of the padding.
Range taps_inside(const Convolution& c, std::int64_t row) {
  const std::int64_t above = c.padding.height - row * c.stride.height;
  const auto first_from = [&](std::int64_t x) {
    return std::min(c.kernel.height, ceil_divide(std::max<std::int64_t>(x, 0), c.dilation.height));
  };
  return {first_from(above), first_from(above + c.size.height)};
}

// Returns the rows of a block of y for which row p of the kernel reads rows of x.
Range rows_inside(const Convolution& c, const Block& block, std::int64_t p) {
  const std::int64_t above = c.padding.height - p * c.dilation.height;
  const auto first_from = [&](std::int64_t x) {
    return std::clamp<std::int64_t>(ceil_divide(std::max<std::int64_t>(x, 0), c.stride.height) - block.row, 0,
                                    block.rows);
  };
  return {first_from(above), first_from(above + c.size.height)};
}

// Adds A B to C for `count` rows, at most MR, and the next `filters` columns, at most a panel.
template <class Columns>
void multiply_panel(std::int64_t count, std::int64_t k, Columns A, EqualRows<float> B, std::int64_t filters, float* C,
                    std::int64_t ldc) {
  if (filters <= panel / 2) return multiply_columns<float, 1>(count, k, A, B, 1.0F, C, ldc);
  multiply_columns<float, 2>(count, k, A, B, 1.0F, C, ldc);
}

// Returns the weights of each group as panels of filters: (groups, panels, kernel height, channels, kernel width, panel).
Tensor panels_of_weights(const Convolution& c, const Weights<float>& weights) {
  const std::int64_t kernel = c.kernel.height * c.kernel.width, panels = ceil_divide(c.filters, panel);
  const auto [W, is_mirrored] = weights;
  const std::int64_t of_filter = is_mirrored ? kernel : c.taps();
  const std::int64_t of_channel = is_mirrored ? c.filters * kernel : kernel;
  Tensor scratch = zeros({threads(), panels * kernel, panel});
  Tensor result({c.groups, panels * c.taps(), panel}, DType::float32, "conv2d");
  float *const all_scratch = scratch.mutable_data<float>(), *const all_panels = result.mutable_data<float>();
  for_rows(c.groups * c.channels, panels * kernel * panel, [=, W = W, is_mirrored = is_mirrored](std::int64_t item) {
    const std::int64_t group = item / c.channels, channel = item % c.channels;
    float* const from = all_scratch + current_thread() * panels * kernel * panel;
    float* const to = all_panels + (group * panels * c.taps() + channel * c.kernel.width) * panel;
    pack<float, panel>(kernel, c.filters, {W + group * c.filters * c.taps() + channel * of_channel, 1, of_filter},
                       from);
    for (std::int64_t row = 0; row < panels * kernel; ++row) {
      const std::int64_t tap = row % kernel, q = tap % c.kernel.width, first = row - tap;
      const std::int64_t place = row / c.kernel.width * c.channels * c.kernel.width + q;
      std::copy_n(from + (is_mirrored ? first + kernel - 1 - tap : row) * panel, panel, to + place * panel);
    }
  });
  return result;
}

}  // namespace

bool convolves_directly(const Convolution& c) {
  constexpr std::int64_t vector = panel / 2;
  if (c.precision != Precision::float32) return false;
  // each number of x is read at most once
  if (c.stride.height >= c.kernel.height && c.stride.width >= c.kernel.width) return false;
  if (ceil_divide(c.filters, vector) * vector * 3 > c.filters * 4) return false;  // lanes that nothing uses
  if (c.images * c.positions() < 8 * panel) return false;  // too few to repay the copy of the weights
  return Image(c).is_compact();
}

void convolve_directly(const Convolution& c, const float* x, const Weights<float>& W, const float* bias, float* y) {
  const Image layout(c);
  const std::vector<std::int64_t> offsets = layout.offsets(c);
  const Tensor weights = panels_of_weights(c, W);
  const float* const all_panels = weights.data<float>();
  const std::int64_t taps = c.taps(), panels = ceil_divide(c.filters, panel), part = equal_parts(taps, max_taps, 1);
  const std::int64_t image_size = c.channels * layout.plane() + 64, lanes = panels * panel;
  const std::int64_t size = image_size + layout.blocking.size.height * layout.blocking.size.width * lanes;
  Tensor scratch({threads(), size}, DType::float32, "conv2d");
  float* const all_scratch = scratch.mutable_data<float>();
  const std::int64_t blocks = layout.blocking.blocks();
  parallel_for(c.images * c.groups * blocks, 1, [&](std::int64_t task, std::int64_t) {
    const DenormalsAreZero all_normal;
    const Block block = layout.blocking.block(c, task % blocks);
    const std::int64_t item = task / blocks, group = item % c.groups;
    float *const image = all_scratch + current_thread() * size, *const sums = image + image_size;  // (positions, lanes)
    layout.copy(c, block, x + item * c.channels * c.plane(), image);
    for (std::int64_t f = 0; f < c.filters; ++f) sums[f] = bias ? bias[group * c.filters + f] : 0;
    for (std::int64_t i = 1; i < block.size(); ++i) std::copy_n(sums, c.filters, sums + i * lanes);
    const std::int64_t height = equal_parts(block.columns, MR, 1);  // of a micro-tile
    const std::int64_t of_row = c.channels * c.kernel.width;
    for (std::int64_t first = 0; first < taps; first += part) {
      for (std::int64_t f = 0; f < lanes; f += panel) {
        const float* const B = all_panels + (group * lanes + f) * taps;
        for (std::int64_t i = 0; i < block.rows; ++i) {
          const Range inside = taps_inside(c, block.row + i);
          const std::int64_t begin = std::max(first, inside.begin * of_row);
          const std::int64_t k = std::min(std::min(taps, first + part), inside.end * of_row) - begin;
          for (std::int64_t j = 0; k > 0 && j < block.columns; j += height) {
            multiply_panel(std::min(height, block.columns - j), k,
                           RowsAt<float>{image + i * layout.columns + j, offsets.data() + begin},
                           EqualRows<float>{B + begin * panel, panel}, c.filters - f,
                           sums + (i * block.columns + j) * lanes + f, lanes);
          }
        }
      }
    }
    copy_transposed(sums, lanes, y + item * c.filters * c.positions() + block.first(c), c.positions(), c.filters,
                    block.size());
  });
}

namespace {

// How the numbers of x that a block of some images reads are stored for the gradient of W: (rows, images, columns, channels). So
// those for one row of the kernel are beside each other.
struct Images {
  std::int64_t count;  // of a block
  Blocking blocking;
  std::int64_t rows, columns;

  explicit Images(const Convolution& c)
      : count(std::clamp<std::int64_t>(max_positions(c) / c.positions(), 1, c.images)),
        blocking(c, max_positions(c)),
        rows((blocking.size.height - 1) * c.stride.height + c.dilation.height * (c.kernel.height - 1) + 1),
        columns((blocking.size.width - 1) * c.stride.width + c.dilation.width * (c.kernel.width - 1) + 1) {}

  static std::int64_t max_positions(const Convolution& c) {
    return std::max<std::int64_t>(64, max_numbers / std::max(c.channels * c.stride.height * c.stride.width, c.filters));
  }
  std::int64_t positions() const { return count * blocking.size.height * blocking.size.width; }

  // Returns where a row of the kernel begins for each position (rows of y, images, columns of y).
  std::vector<std::int64_t> offsets(const Convolution& c, const Block& block, std::int64_t images) const {
    std::vector<std::int64_t> result;
    for (std::int64_t i = 0; i < block.rows; ++i) {
      for (std::int64_t image = 0; image < images; ++image) {
        for (std::int64_t j = 0; j < block.columns; ++j) {
          result.push_back(((i * c.stride.height * count + image) * columns + j * c.stride.width) * c.channels);
        }
      }
    }
    return result;
  }

  // Copies one image; x is its channels.
  void copy(const Convolution& c, const Block& block, std::int64_t image, const float* x, float* to) const {
    const std::int64_t first = block.column * c.stride.width - c.padding.width;
    const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, columns);
    const std::int64_t end = std::clamp<std::int64_t>(c.size.width - first, begin, columns);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t row = block.row * c.stride.height + i - c.padding.height;
      if (row < 0 || row >= c.size.height) continue;  // nothing reads it
      float* const line = to + (i * count + image) * columns * c.channels;
      std::fill_n(line, begin * c.channels, 0.0F);
      copy_transposed(x + row * c.size.width + first + begin, c.plane(), line + begin * c.channels, c.channels,
                      end - begin, c.channels);
      std::fill_n(line + end * c.channels, (columns - end) * c.channels, 0.0F);
    }
  }
};

// Adds the products of a block to `total` (kernel height, kernel width, channels, lanes). `images` holds the block's numbers of x,
// `gradients` those of y: (positions, lanes).
void add_products(const Convolution& c, const Images& layout, const Block& block, std::int64_t count,
                  const float* images, const float* gradients, std::int64_t lanes, float* total) {
  const std::vector<std::int64_t> offsets = layout.offsets(c, block, count);
  const std::int64_t run = c.dilation.width == 1 ? c.kernel.width * c.channels : c.channels;  // taps beside each other
  const std::int64_t height = equal_parts(run, MR, 1), of_row = count * block.columns;
  for (std::int64_t tap = 0; tap < c.taps(); tap += run) {
    const std::int64_t p = tap / (c.kernel.width * c.channels), q = tap / c.channels % c.kernel.width;
    const Range rows = rows_inside(c, block, p);
    const std::int64_t first = rows.begin * of_row, k = rows.end * of_row - first;
    const float* const from =
        images + (p * c.dilation.height * layout.count * layout.columns + q * c.dilation.width) * c.channels;
    for (std::int64_t f = 0; f < lanes; f += panel) {
      for (std::int64_t i = 0; i < run; i += height) {
        multiply_panel(std::min(height, run - i), k, RowsAt<float>{from + i, offsets.data() + first},
                       {gradients + first * lanes + f, lanes}, c.filters - f, total + (tap + i) * lanes + f, lanes);
      }
    }
  }
}

// Adds parts of sums (parts, groups, kernel, channels, lanes) to the first, and copies them to W (groups, filters, channels, kernel).
void add_parts(const Convolution& c, float* sums, std::int64_t parts, std::int64_t lanes, float* W) {
  const std::int64_t taps = c.taps(), kernel = taps / c.channels;
  for_rows(c.groups * c.channels, kernel * lanes * parts, [=](std::int64_t row) {
    const std::int64_t group = row / c.channels, channel = row % c.channels;
    float* const of_channel = sums + (group * taps + channel) * lanes;  // (kernel, lanes)
    for (std::int64_t tap = 0; tap < kernel; ++tap) {
      float* const to = of_channel + tap * c.channels * lanes;
      for (std::int64_t part = 1; part < parts; ++part) {
        const float* const from = to + part * c.groups * taps * lanes;
        for (std::int64_t f = 0; f < c.filters; ++f) to[f] += from[f];
      }
    }
    copy_transposed(of_channel, c.channels * lanes, W + (group * c.filters * c.channels + channel) * kernel, taps,
                    c.filters, kernel);
  });
}

}  // namespace

void convolve_directly_for_weights(const Convolution& c, const float* x, const float* y, float* W) {
  const Images layout(c);
  const std::int64_t lanes = ceil_divide(c.filters, panel) * panel, of_group = c.taps() * lanes;
  const std::int64_t blocks = layout.blocking.blocks(), items = ceil_divide(c.images, layout.count) * blocks;
  const std::int64_t of_part = items_of_part(c, items, of_group), parts = ceil_divide(items, of_part);
  const std::int64_t images_size = layout.rows * layout.count * layout.columns * c.channels + 64;
  const std::int64_t size = images_size + layout.positions() * lanes;
  Tensor scratch({threads(), size}, DType::float32, "conv2d"), sums = zeros({parts * c.groups, of_group});
  float *const all_scratch = scratch.mutable_data<float>(), *const all_sums = sums.mutable_data<float>();
  parallel_for(parts * c.groups, 1, [&](std::int64_t task, std::int64_t) {
    const DenormalsAreZero all_normal;
    const std::int64_t group = task % c.groups, begin = task / c.groups * of_part;
    float *const images = all_scratch + current_thread() * size, *const gradients = images + images_size;
    float* const total = all_sums + task * of_group;  // (kernel height, kernel width, channels, lanes)
    for (std::int64_t item = begin; item < std::min(items, begin + of_part); ++item) {
      const Block block = layout.blocking.block(c, item % blocks);
      const std::int64_t first = item / blocks * layout.count, count = std::min(layout.count, c.images - first);
      for (std::int64_t image = 0; image < count; ++image) {
        const std::int64_t index = (first + image) * c.groups + group;
        layout.copy(c, block, image, x + index * c.channels * c.plane(), images);
        for (std::int64_t i = 0; i < block.rows; ++i) {
          copy_transposed(y + index * c.filters * c.positions() + block.first(c) + i * c.out.width, c.positions(),
                          gradients + (i * count + image) * block.columns * lanes, lanes, block.columns, c.filters);
        }
      }
      add_products(c, layout, block, count, images, gradients, lanes, total);
    }
  });
  add_parts(c, all_sums, parts, lanes, W);
}

}  // namespace heed::cpu
