#pragma once
#include <heed/autograd/convolution.h>
#include <heed/nn/parameters.h>

#include <optional>
#include <string>

namespace heed {

/// Options of Conv1d and Conv2d.
struct ConvLayerOptions {
  HeightWidth stride = 1;               ///< as in ConvOptions
  HeightWidth padding = 0;              ///< as in ConvOptions
  HeightWidth dilation = 1;             ///< as in ConvOptions
  int groups = 1;                       ///< as in ConvOptions
  bool bias = true;                     ///< whether to add a number to each channel
  Init init = Init::kaiming_uniform();  ///< of the weight
  Init bias_init = Init::zeros();       ///< of the bias
};

/// Returns conv2d(x, weight, bias): (B, in, H, W) -> (B, out, H', W'). By default the weight is uniform with
/// bound sqrt(6 / (in / groups * kernel elements)) (He et al. 2015, arXiv:1502.01852, equation 10), and the bias 0. Weights
/// have PyTorch's shapes.
///
///     const Conv2d layer(scope / "conv", 3, 16, 3, {.stride = 2, .padding = 1});
///     const Tensor h = relu(layer(images));   // (B, 3, 32, 32) -> (B, 16, 16, 16)
struct Conv2d {
  std::string name;
  ConvOptions options;
  Parameter weight;  ///< (out, in / groups, kernel height, kernel width)
  Parameter bias;    ///< (out); undefined without a bias
  /// Makes its parameters in `scope`. Throws `Error` for groups that do not divide both numbers of channels.
  Conv2d(Scope scope, int in, int out, HeightWidth kernel, const ConvLayerOptions& options = {});
  Tensor operator()(const Tensor& x) const;  ///< the convolution
};

/// Returns conv1d(x, weight, bias): (B, in, L) -> (B, out, L'). It begins as Conv2d does.
///
///     const Conv1d layer(scope / "conv", 64, 128, 3, {.padding = 1});
struct Conv1d {
  std::string name;
  ConvOptions options;
  Parameter weight;  ///< (out, in / groups, kernel)
  Parameter bias;    ///< (out); undefined without a bias
  /// Makes its parameters in `scope`. Throws `Error` for groups that do not divide both numbers of channels.
  Conv1d(Scope scope, int in, int out, int kernel, const ConvLayerOptions& options = {});
  Tensor operator()(const Tensor& x) const;  ///< the convolution
};

/// Options of ConvTranspose2d.
struct ConvTransposeLayerOptions {
  HeightWidth stride = 1;                   ///< as in ConvTransposeOptions
  HeightWidth padding = 0;                  ///< as in ConvTransposeOptions
  HeightWidth output_padding = 0;           ///< as in ConvTransposeOptions
  HeightWidth dilation = 1;                 ///< as in ConvTransposeOptions
  int groups = 1;                           ///< as in ConvTransposeOptions
  bool bias = true;                         ///< whether to add a number to each channel
  std::optional<Init> init = std::nullopt;  ///< of the weight; nullopt: as ConvTranspose2d says
  Init bias_init = Init::zeros();           ///< of the bias
};

/// Returns conv_transpose2d(x, weight, bias): (B, in, H, W) -> (B, out, H', W'). By default the weight is uniform with bound
/// sqrt(6 / (in / groups * kernel elements / (stride height * stride width))), where a number of the output has
/// as many terms on average. The bias is 0.
///
///     const ConvTranspose2d up(scope / "up", 32, 16, 2, {.stride = 2});   // twice the height and width
struct ConvTranspose2d {
  std::string name;
  ConvTransposeOptions options;
  Parameter weight;  ///< (in, out / groups, kernel height, kernel width)
  Parameter bias;    ///< (out); undefined without a bias
  /// Makes its parameters in `scope`. Throws `Error` for groups that do not divide both numbers of channels.
  ConvTranspose2d(Scope scope, int in, int out, HeightWidth kernel, const ConvTransposeLayerOptions& options = {});
  Tensor operator()(const Tensor& x) const;  ///< the transposed convolution
};

}  // namespace heed
