#include "autograd/cpu/convolution.h"

#include "autograd/cpu/checks.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <limits>
#include <utility>

// Three maps: y = conv2d(x, W), its transpose x = conv_transpose2d(y, W), and W = the products of x and y. Each is linear in both
// arguments, and the gradients of each are the other two. So they have derivatives of any order.
namespace heed {
namespace {

using cpu::Convolution;

constexpr std::int64_t max_joined = 49, min_joined_channels = 128;  // measured on a Zen 4
constexpr std::int64_t max_size = std::int64_t{1} << 31;            // larger sizes would overflow

// Throws Error unless both numbers lie in [least, 2^31).
void check_option(const char* operation, const char* name, const HeightWidth& x, std::int64_t least) {
  const std::int64_t wrong = x.height < least || x.height >= max_size ? x.height : x.width;
  if (wrong >= max_size) fail("{}: {} must be below 2^31, got {}", operation, name, wrong);
  if (wrong < least) fail("{}: {} must be at least {}, got {}", operation, name, least, wrong);
}

std::string sizes(const HeightWidth& x) { return fmt::format("{} x {}", x.height, x.width); }

HeightWidth last_axes(const Tensor& x) { return {x.size(2), x.size(3)}; }

HeightWidth covered(const Convolution& c) {  // by one output
  return {c.dilation.height * (c.kernel.height - 1) + 1, c.dilation.width * (c.kernel.width - 1) + 1};
}

// Checks what both directions require. `in` and `out` name the axes of W.
void check_operands(const char* operation, const Tensor& x, const Tensor& W, const Tensor& bias, const Convolution& c,
                    bool is_transposed) {
  check_option(operation, "stride", c.stride, 1);
  check_option(operation, "padding", c.padding, 0);
  check_option(operation, "dilation", c.dilation, 1);
  for (const Tensor* t : {&x, &W}) {
    for (const std::int64_t size : t->shape()) {
      if (size >= max_size) fail("{}: sizes must be below 2^31, got {}", operation, to_string(t->shape()));
    }
  }
  if (c.kernel.height < 1 || c.kernel.width < 1) {
    fail("{}: the kernel must have elements, got W {}", operation, to_string(W.shape()));
  }
  const std::int64_t g = c.groups;
  if (g < 1 || x.size(1) % g != 0 || W.size(0) % g != 0) {
    fail("{}: groups must divide the {} channels of x and the {} of axis 0 of W, got {}", operation, x.size(1),
         W.size(0), g);
  }
  const std::int64_t expected = is_transposed ? x.size(1) : x.size(1) / g;
  if (W.size(is_transposed ? 0 : 1) != expected) {
    fail("{}: W {} with groups = {} needs x with {}, got x {}", operation, to_string(W.shape()), g,
         counted(is_transposed ? W.size(0) : W.size(1) * g, "channel"), to_string(x.shape()));
  }
  cpu::check_one_dtype(operation, x, W);
  if (!bias.defined()) return;
  const std::int64_t filters = is_transposed ? W.size(1) * g : W.size(0);
  if (bias.shape() != Shape{filters} || bias.dtype() != x.dtype()) {
    fail("{}: W {} needs a bias of shape ({}) and the dtype of x, got {}", operation, to_string(W.shape()), filters,
         to_string(bias.shape()));
  }
}

void check_ranks(const char* operation, const Tensor& x, const Tensor& W, const char* shapes, int rank) {
  check_defined(operation, {&x, &W});
  if (x.rank() == rank && W.rank() == rank) return;
  fail("{}: expected {}, got {} and {}{}", operation, shapes, to_string(x.shape()), to_string(W.shape()),
       x.rank() == rank - 1 && W.rank() == rank ? ". Did you mean unsqueeze(x, 0)?" : "");
}

std::vector<GradientSample> convolution_samples(
    const std::function<GradientSample(Shape x, Shape W, ConvOptions options, bool has_bias)>& sample) {
  return {sample({2, 2, 4, 3}, {3, 2, 2, 2}, {}, true),
          sample({1, 1, 3, 4}, {2, 1, 3, 3}, {.stride = 1, .padding = 1}, false),
          sample({1, 2, 5, 4}, {1, 2, 2, 3}, {.stride = {2, 1}, .padding = {0, 1}}, false),
          sample({1, 1, 5, 6}, {1, 1, 2, 3}, {.stride = {1, 2}, .padding = {2, 1}, .dilation = {3, 2}}, true),
          sample({1, 4, 3, 3}, {2, 2, 2, 2}, {.stride = 2, .padding = 1, .dilation = 1, .groups = 2}, true),
          sample({2, 3, 2, 2}, {3, 1, 1, 1}, {.stride = 1, .padding = 0, .dilation = 1, .groups = 3}, false),
          sample({2, 2, 1, 3}, {2, 2, 1, 1}, {}, true),
          sample({1, 1, 1, 1}, {1, 1, 1, 1}, {}, false),
          sample({0, 2, 3, 3}, {1, 2, 2, 2}, {}, true)};
}

std::string sample_name(const Shape& x, const Shape& W, const ConvOptions& o, bool has_bias) {
  return fmt::format("{} * {} stride {} padding {} dilation {} groups {}{}", to_string(x), to_string(W),
                     sizes(o.stride), sizes(o.padding), sizes(o.dilation), o.groups, has_bias ? " with bias" : "");
}

// Whether a kernel covers its image, so that y has one position. Then products of matrices (images, numbers of an image) give the results.
bool covers_image(const Convolution& c, DType dtype) {
  return c.groups == 1 && c.kernel == c.size && c.padding == HeightWidth(0) && c.positions() == 1 &&
         c.precision == Autocast::precision(dtype);
}
Tensor rows_of(const Tensor& x) { return reshape(x, {x.size(0), -1}); }
// Adds the bias of each channel, if there is one.
Tensor with_bias(const Tensor& y, const Tensor& bias) { return bias.defined() ? y + reshape(bias, {-1, 1, 1}) : y; }

// Whether a kernel of one element reads images of so few positions that one product for all images takes less time, although the
// images are copied before and after it.
bool joins_images(const Convolution& c, DType dtype) {
  const bool is_pointwise = c.kernel == HeightWidth(1) && c.stride == HeightWidth(1) && c.padding == HeightWidth(0);
  return is_pointwise && c.groups == 1 && c.images > 1 && c.positions() <= max_joined &&
         c.channels >= min_joined_channels && c.precision == Autocast::precision(dtype);
}
// (images, channels, height, width) -> (channels, images * positions)
Tensor joined(const Tensor& x) { return rows_of(transpose(reshape(x, {x.size(0), x.size(1), -1}), 0, 1)); }
// The inverse.
Tensor parted(const Tensor& y, const Shape& shape) {
  return reshape(transpose(reshape(y, {shape[1], shape[0], -1}), 0, 1), shape);
}

Tensor forward(const Tensor& x, const Tensor& W, const Tensor& bias, const Convolution& c, const char* name = "conv2d");
Tensor transposed(const Tensor& y, const Tensor& W, const Tensor& bias, const Convolution& c,
                  const char* name = "conv_transpose2d");
Tensor for_weights(const Tensor& x, const Tensor& y, const Convolution& c);
Tensor constant_of(const Tensor& x) { return x.defined() ? contiguous(x.detach()) : x; }

const Operation forward_operation(
    "conv2d", "y = x * W + b, the sum over channels and kernel of x[i stride + p dilation - padding] W[p]",
    "dx = conv_transpose2d(dy, W), dW = the sum of dy x over images and positions, db = the sum of dy over both", [] {
      return convolution_samples([](const Shape& x, const Shape& W, const ConvOptions& options, bool has_bias) {
        GradientSample sample{sample_name(x, W, options, has_bias), {{x}, {W}}, [=](auto& t) {
                                return conv2d(t[0], t[1], has_bias ? t[2] : Tensor(), options);
                              }};
        if (has_bias) sample.arguments.push_back({{W[0]}});
        return sample;
      });
    });
Tensor forward(const Tensor& x, const Tensor& W, const Tensor& bias, const Convolution& c, const char* name) {
  Tensor y({c.images, c.groups * c.filters, c.out.height, c.out.width}, x.dtype(), name);
  if (y.numel() > 0 && c.taps() > 0) {
    const Tensor from = constant_of(x), weights = constant_of(W), added = constant_of(bias);
    if (covers_image(c, x.dtype())) {
      y = reshape(linear(rows_of(from), transpose(rows_of(weights)), added), y.shape());
    } else if (joins_images(c, x.dtype())) {
      y = with_bias(parted(matmul(rows_of(weights), joined(from)), y.shape()), added);
    } else {
      dispatch(x.dtype(), [&]<class T>() {
        cpu::convolve(c, from.data<T>(), weights.data<T>(), added.defined() ? added.data<T>() : nullptr,
                      y.mutable_data<T>());
      });
    }
  } else if (y.numel() > 0) {
    y = with_bias(zeros(y.shape(), y.dtype()), constant_of(bias));
  }
  return record(forward_operation, {&x, &W, &bias}, y,
                Saved(Recorder::is_constant(W) ? Tensor() : x, Recorder::is_constant(x) ? Tensor() : W),
                Recordable([c](const Tensor& dy, const NeedsInputGrad& needs, const Tensor& X, const Tensor& weights) {
                  return std::vector{needs[0] ? transposed(dy, weights, {}, c) : Tensor(),
                                     needs[1] ? for_weights(X, dy, c) : Tensor(),
                                     needs[2] ? sum(dy, {0, 2, 3}) : Tensor()};
                }));
}

const Operation transposed_operation(
    "conv_transpose2d", "x = the transpose of conv2d(x, W) applied to y, + b",
    "dy = conv2d(dx, W), dW = the sum of dx y over images and positions, db = the sum of dx over both", [] {
      return convolution_samples([](Shape x, const Shape& W, const ConvOptions& o, bool has_bias) {
        x[1] = W[0];
        GradientSample sample{sample_name(x, W, o, has_bias), {{x}, {W}}, [=](auto& t) {
                                return conv_transpose2d(
                                    t[0], t[1], has_bias ? t[2] : Tensor(),
                                    {o.stride, {0, o.padding.width}, {0, o.stride.width - 1}, o.dilation, o.groups});
                              }};
        if (has_bias) sample.arguments.push_back({{W[1] * o.groups}});
        return sample;
      });
    });
Tensor transposed(const Tensor& y, const Tensor& W, const Tensor& bias, const Convolution& c, const char* name) {
  Tensor x({c.images, c.groups * c.channels, c.size.height, c.size.width}, y.dtype(), name);
  if (x.numel() > 0 && y.numel() > 0) {
    const Tensor from = constant_of(y), weights = constant_of(W), added = constant_of(bias);
    if (covers_image(c, y.dtype())) {
      x = with_bias(reshape(matmul(rows_of(from), rows_of(weights)), x.shape()), added);
    } else if (joins_images(c, y.dtype())) {
      x = with_bias(parted(matmul(transpose(rows_of(weights)), joined(from)), x.shape()), added);
    } else {
      dispatch(y.dtype(), [&]<class T>() {
        cpu::convolve_transposed(c, from.data<T>(), weights.data<T>(), added.defined() ? added.data<T>() : nullptr,
                                 x.mutable_data<T>());
      });
    }
  } else if (x.numel() > 0) {
    x = with_bias(zeros(x.shape(), x.dtype()), constant_of(bias));
  }
  return record(transposed_operation, {&y, &W, &bias}, x,
                Saved(Recorder::is_constant(W) ? Tensor() : y, Recorder::is_constant(y) ? Tensor() : W),
                Recordable([c](const Tensor& dx, const NeedsInputGrad& needs, const Tensor& Y, const Tensor& weights) {
                  return std::vector{needs[0] ? forward(dx, weights, {}, c) : Tensor(),
                                     needs[1] ? for_weights(dx, Y, c) : Tensor(),
                                     needs[2] ? sum(dx, {0, 2, 3}) : Tensor()};
                }));
}

Convolution geometry(const Tensor& x, const Tensor& W, const ConvOptions& o);

const Operation weights_operation("conv2d weights", "W = the sum of y x over images and positions",
                                  "dx = conv_transpose2d(y, dW), dy = conv2d(x, dW)", [] {
                                    return convolution_samples(
                                        [](const Shape& x, const Shape& W, const ConvOptions& options, bool) {
                                          const Convolution c = geometry(zeros(x), zeros(W), options);
                                          return GradientSample{sample_name(x, W, options, false),
                                                                {{x}, {{x[0], W[0], c.out.height, c.out.width}}},
                                                                [c](auto& t) { return for_weights(t[0], t[1], c); }};
                                        });
                                  });
Tensor for_weights(const Tensor& x, const Tensor& y, const Convolution& c) {
  Tensor W({c.groups * c.filters, c.channels, c.kernel.height, c.kernel.width}, x.dtype(), "conv2d");
  if (W.numel() > 0 && y.numel() > 0) {
    const Tensor from = constant_of(x), outputs = constant_of(y);
    if (covers_image(c, x.dtype())) {
      W = reshape(matmul(transpose(rows_of(outputs)), rows_of(from)), W.shape());
    } else if (joins_images(c, x.dtype())) {
      W = reshape(matmul(joined(outputs), transpose(joined(from))), W.shape());
    } else {
      dispatch(x.dtype(), [&]<class T>() {
        cpu::convolve_for_weights(c, from.data<T>(), outputs.data<T>(), W.mutable_data<T>());
      });
    }
  } else {
    W = zeros(W.shape(), W.dtype());
  }
  return record(
      weights_operation, {&x, &y}, W,
      Saved(Recorder::is_constant(y) ? Tensor() : x, Recorder::is_constant(x) ? Tensor() : y),
      Recordable([c](const Tensor& dW, const NeedsInputGrad& needs, const Tensor& X, const Tensor& Y) {
        return std::vector{needs[0] ? transposed(Y, dW, {}, c) : Tensor(), needs[1] ? forward(X, dW, {}, c) : Tensor()};
      }));
}

// Returns the sizes of conv2d(x, W, options), with `out` 0.
Convolution sizes_of(const Tensor& x, const Tensor& W, const ConvOptions& o) {
  const std::int64_t groups = std::max<std::int64_t>(1, o.groups);
  return {x.size(0),
          groups,
          W.size(1),
          W.size(0) / groups,
          last_axes(x),
          last_axes(W),
          0,
          o.stride,
          o.padding,
          o.dilation,
          Autocast::precision(x.dtype())};
}

Convolution geometry(const Tensor& x, const Tensor& W, const ConvOptions& o) {
  Convolution c = sizes_of(x, W, o);
  const HeightWidth taken = covered(c);
  c.out = {(c.size.height + 2 * o.padding.height - taken.height) / o.stride.height + 1,
           (c.size.width + 2 * o.padding.width - taken.width) / o.stride.width + 1};
  return c;
}

Tensor checked_conv2d(const char* operation, const Tensor& x, const Tensor& W, const Tensor& bias,
                      const ConvOptions& o) {
  Convolution c = sizes_of(x, W, o);
  c.groups = o.groups;
  check_operands(operation, x, W, bias, c, false);
  const HeightWidth padded{c.size.height + 2 * o.padding.height, c.size.width + 2 * o.padding.width},
      taken = covered(c);
  if (taken.height > padded.height || taken.width > padded.width) {
    fail("{}: the kernel covers {} elements, but x with its padding has {}", operation, sizes(taken), sizes(padded));
  }
  return forward(x, W, bias, geometry(x, W, o), operation);
}

Tensor checked_conv_transpose2d(const char* operation, const Tensor& x, const Tensor& W, const Tensor& bias,
                                const ConvTransposeOptions& o) {
  Convolution c = sizes_of(x, W, {o.stride, o.padding, o.dilation, o.groups});
  c.groups = o.groups;
  c.out = std::exchange(c.size, 0);
  check_operands(operation, x, W, bias, c, true);
  check_option(operation, "output_padding", o.output_padding, 0);
  const auto size = [&](std::int64_t n, std::int64_t stride, std::int64_t padding, std::int64_t taken,
                        std::int64_t added, std::int64_t dilation) {
    if (added >= std::max(stride, dilation)) {
      fail("{}: output_padding must be smaller than the stride or the dilation, got {}", operation, added);
    }
    const std::int64_t result = (n - 1) * stride - 2 * padding + taken + added;
    if (n < 1 || result < 1) {
      fail("{}: x {} and W {} with these options give {} elements along an axis; expected at least 1", operation,
           to_string(x.shape()), to_string(W.shape()), result);
    }
    return result;
  };
  const HeightWidth taken = covered(c);
  c.size = {
      size(c.out.height, o.stride.height, o.padding.height, taken.height, o.output_padding.height, o.dilation.height),
      size(c.out.width, o.stride.width, o.padding.width, taken.width, o.output_padding.width, o.dilation.width)};
  return transposed(x, W, bias, c, operation);
}

// Returns the option of a single axis for two, of which the first has size 1.
HeightWidth of_width(const char* operation, const char* name, const HeightWidth& x, std::int64_t first) {
  if (x.height != x.width) fail("{}: {} must be one number, got {} and {}", operation, name, x.height, x.width);
  return {first, x.width};
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& W, const Tensor& bias, const ConvOptions& options) {
  check_ranks("conv2d", x, W, "x (B, C, H, W) and W (out, C / groups, kernel height, kernel width)", 4);
  return checked_conv2d("conv2d", x, W, bias, options);
}

Tensor conv1d(const Tensor& x, const Tensor& W, const Tensor& bias, const ConvOptions& o) {
  const char* const name = "conv1d";
  check_ranks(name, x, W, "x (B, C, L) and W (out, C / groups, kernel)", 3);
  return squeeze(checked_conv2d(name, unsqueeze(x, 2), unsqueeze(W, 2), bias,
                                {of_width(name, "stride", o.stride, 1), of_width(name, "padding", o.padding, 0),
                                 of_width(name, "dilation", o.dilation, 1), o.groups}),
                 2);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& W, const Tensor& bias, const ConvTransposeOptions& options) {
  check_ranks("conv_transpose2d", x, W, "x (B, C, H, W) and W (C, out / groups, kernel height, kernel width)", 4);
  return checked_conv_transpose2d("conv_transpose2d", x, W, bias, options);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& W, const Tensor& bias, const ConvTransposeOptions& o) {
  const char* const name = "conv_transpose1d";
  check_ranks(name, x, W, "x (B, C, L) and W (C, out / groups, kernel)", 3);
  return squeeze(
      checked_conv_transpose2d(
          name, unsqueeze(x, 2), unsqueeze(W, 2), bias,
          {of_width(name, "stride", o.stride, 1), of_width(name, "padding", o.padding, 0),
           of_width(name, "output_padding", o.output_padding, 0), of_width(name, "dilation", o.dilation, 1), o.groups}),
      2);
}

HeightWidth same_padding(HeightWidth kernel, HeightWidth dilation) {
  const auto along = [](std::int64_t size, std::int64_t step) {
    constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
    if (size < 1 || size > limit || step < 1 || step > limit) {
      fail("same_padding: expected a kernel and a dilation from 1 to {}, got {} and {}", limit, size, step);
    }
    const std::int64_t both = step * (size - 1);
    if (both % 2 == 0) return both / 2;
    fail(
        "same_padding: a kernel of {} with dilation {} needs {} at both ends together, which is odd; take an odd "
        "kernel, or pad() one end of x and give no padding",
        size, step, counted(both, "zero"));
  };
  return {along(kernel.height, dilation.height), along(kernel.width, dilation.width)};
}

}  // namespace heed
