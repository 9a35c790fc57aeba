#pragma once
#include <heed/autograd/autocast.h>
#include <heed/autograd/convolution.h>

#include <cstdint>

// Kernels of convolution, for contiguous images (images, groups * channels, height, width). Internal.
namespace heed::cpu {

// The sizes of y = conv2d(x, W): x (images, groups * channels, height, width), W (groups * filters, channels, kernel), y (images,
// groups * filters, out).
struct Convolution {
  std::int64_t images, groups, channels, filters;  // channels and filters of each group
  HeightWidth size, kernel, out, stride, padding, dilation;
  Precision precision;  // of the products

  std::int64_t plane() const { return size.height * size.width; }                // numbers of a channel of x
  std::int64_t positions() const { return out.height * out.width; }              // numbers of a channel of y
  std::int64_t taps() const { return channels * kernel.height * kernel.width; }  // numbers that a number of y reads
};

// Compute y = conv2d(x, W) + bias, where bias may be null; x = its transpose applied to y, plus bias; and W = the sum of the products
// of y and the numbers of x that W is multiplied with. The results are the same for any number of threads.
template <class T>
void convolve(const Convolution& c, const T* x, const T* W, const T* bias, T* y);
template <class T>
void convolve_transposed(const Convolution& c, const T* y, const T* W, const T* bias, T* x);
template <class T>
void convolve_for_weights(const Convolution& c, const T* x, const T* y, T* W);

}  // namespace heed::cpu
