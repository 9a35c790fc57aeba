#pragma once
#include <heed/autograd/tensor.h>

#include <cstdint>

/// @file
/// Convolution and pooling over the last axis of (B, C, L), or the last two of (B, C, H, W). Shapes and options are those of PyTorch.
/// Each operation has derivatives of any order. (convolution.cpp, pooling.cpp)
///
///     const Tensor h = relu(conv2d(x, W, b, {.stride = 2, .padding = 1}));   // (B, C, H, W) -> (B, out, H / 2, W / 2)
///     const Tensor pooled = max_pool2d(h, 2);                               // (B, out, H / 4, W / 4)
///     const Tensor features = mean(pooled, {2, 3});                         // (B, out)
namespace heed {

/// A number per axis. One number stands for both: {.padding = 1}, {.padding = {1, 2}}.
struct HeightWidth {
  std::int64_t height, width;                                                     ///< along the axes -2 and -1
  constexpr HeightWidth(std::int64_t both) : height(both), width(both) {}         ///< the same number for both axes
  constexpr HeightWidth(std::int64_t h, std::int64_t w) : height(h), width(w) {}  ///< a number for each axis
  bool operator==(const HeightWidth&) const = default;                            ///< compares both numbers
};

/// Options of a convolution. conv1d() takes one number for each.
struct ConvOptions {
  HeightWidth stride = 1;    ///< distance between the first elements that neighbouring outputs read
  HeightWidth padding = 0;   ///< zeros at both ends of the axis
  HeightWidth dilation = 1;  ///< distance between neighbouring elements that one output reads
  std::int64_t groups =
      1;  ///< divides input and output channels into groups; group g of the output reads group g of the input
};

/// Returns y[b, o, i, j] = bias[o] + sum of W[o, c, p, q] x[b, c, i stride + p dilation - padding, ...]: x (B, C, H, W),
/// W (out, C / groups, kernel height, kernel width), bias (out) or undefined -> (B, out, H', W') with
/// H' = (H + 2 padding - dilation (kernel height - 1) - 1) / stride + 1, rounded down. Throws `Error` for a kernel that is
/// larger than the padded x.
Tensor conv2d(const Tensor& x, const Tensor& W, const Tensor& bias = {}, const ConvOptions& options = {});
/// Does the same along one axis: x (B, C, L), W (out, C / groups, kernel) -> (B, out, L').
Tensor conv1d(const Tensor& x, const Tensor& W, const Tensor& bias = {}, const ConvOptions& options = {});

/// Returns the padding with which a convolution of stride 1 keeps height and width: dilation (kernel - 1) / 2. Throws `Error` where
/// dilation (kernel - 1) is odd: pad() then adds a zero at one end.
///
///     const Tensor h = conv2d(x, W, b, {.padding = same_padding(5)});   // (B, C, H, W) -> (B, out, H, W)
HeightWidth same_padding(HeightWidth kernel, HeightWidth dilation = 1);

/// Options of a transposed convolution.
struct ConvTransposeOptions {
  HeightWidth stride = 1;          ///< distance between the elements to which neighbouring inputs are added
  HeightWidth padding = 0;         ///< elements removed at both ends of the axis
  HeightWidth output_padding = 0;  ///< elements added at the end of the axis; smaller than stride or dilation
  HeightWidth dilation = 1;        ///< distance between neighbouring elements to which one input is added
  std::int64_t groups = 1;         ///< as in ConvOptions
};

/// Returns the transpose of the linear map x -> conv2d(x, W), plus bias: x (B, C, H, W), W (C, out / groups, kernel height,
/// kernel width), bias (out) or undefined -> (B, out, H', W') with H' = (H - 1) stride - 2 padding + dilation (kernel height - 1) +
/// output_padding + 1.
///
///     const Tensor twice = conv_transpose2d(x, W, b, {.stride = 2});   // W (C, out, 2, 2): (B, C, H, W) -> (B, out, 2 H, 2 W)
Tensor conv_transpose2d(const Tensor& x, const Tensor& W, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
/// Does the same along one axis: x (B, C, L), W (C, out / groups, kernel) -> (B, out, L').
Tensor conv_transpose1d(const Tensor& x, const Tensor& W, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});

/// Options of pooling.
struct PoolOptions {
  HeightWidth stride = 0;   ///< distance between neighbouring windows; 0: the size of the kernel
  HeightWidth padding = 0;  ///< elements added at both ends of the axis, at most half of the kernel
};

/// Returns the maximum of each window: x (B, C, H, W) -> (B, C, H', W') with H' = (H + 2 padding - kernel) / stride + 1, rounded down;
/// rounded up (PyTorch's ceil_mode) after pad() at the end. Padding counts as -infinity. The first of several equal maxima in row-major order gets the gradient. A window that holds NaN
/// gives NaN.
Tensor max_pool2d(const Tensor& x, HeightWidth kernel, const PoolOptions& options = {});
/// Does the same along one axis: (B, C, L) -> (B, C, L').
Tensor max_pool1d(const Tensor& x, std::int64_t kernel, const PoolOptions& options = {});
/// Returns the mean of each window, of the shape of max_pool2d(). Padding counts as zeros. mean(x, {2, 3}) pools a whole image.
Tensor avg_pool2d(const Tensor& x, HeightWidth kernel, const PoolOptions& options = {});
/// Does the same along one axis: (B, C, L) -> (B, C, L').
Tensor avg_pool1d(const Tensor& x, std::int64_t kernel, const PoolOptions& options = {});

/// Result of batch_norm().
struct BatchNormResult {
  Tensor output;          ///< of the shape of x
  Tensor mean, variance;  ///< (C), constants; the variance divides by n
};
/// Returns (x - mean) / sqrt(variance + eps) * gain + bias with the mean and the variance of each channel over all other axes (Ioffe &
/// Szegedy 2015, arXiv:1502.03167): x (B, C, ...), gain and bias (C). The layer BatchNorm calls it. (channel_norm.cpp)
BatchNormResult batch_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps = 1e-5);
/// Does the same with the mean and the variance of each of `groups` groups of neighbouring channels of each example (Wu & He 2018,
/// arXiv:1803.08494).
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& gain, const Tensor& bias, double eps = 1e-5);

}  // namespace heed
