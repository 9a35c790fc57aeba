#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/nn/layers.h>

#include <optional>
#include <string_view>
#include <vector>

namespace heed {

/// The function f between the matrices of an MLP.
enum class Activation {
  gelu,
  gelu_tanh,   ///< approximation of GELU
  quick_gelu,  ///< x sigmoid(1.702 x) (Hendrycks & Gimpel 2016, arXiv:1606.08415)
  relu,
  relu2,  ///< max(x, 0)^2 (So et al. 2021, arXiv:2109.08668)
  silu,
  tanh
};
template <>
inline constexpr EnumName<Activation> enum_names<Activation>[] = {
    {Activation::gelu, "gelu"}, {Activation::gelu_tanh, "gelu_tanh"}, {Activation::quick_gelu, "quick_gelu"},
    {Activation::relu, "relu"}, {Activation::relu2, "relu2"},         {Activation::silu, "silu"},
    {Activation::tanh, "tanh"}};

/// A function with its names elsewhere.
struct ActivationFunction {
  Activation activation;
  Tensor (*of)(const Tensor& x);
  int operations;                                ///< of which a recording keeps the result
  std::vector<std::string_view> in_config_json;  ///< names in `transformers`; heed writes the first
  const char* gated_name;                        ///< in files of version 0.1, for an MLP with a gate: "swiglu"; or ""
};
const std::vector<ActivationFunction>& activation_functions();  ///< all of them
/// Returns the function of an activation.
const ActivationFunction& function_of(Activation activation);
/// Returns the activation of the gate that files of version 0.1 call by this name, or nullopt.
std::optional<Activation> gate_named(std::string_view name);

/// Returns f(x), elementwise.
Tensor activated(Activation activation, const Tensor& x);

/// Shape of an MLP.
struct MlpConfig {
  int width = 0;  ///< hidden features; 0: a block without an MLP
  Activation activation = Activation::gelu;
  bool gated = false;  ///< f(x gate) * (x in) in place of f(x in), with a third matrix (Shazeer 2020, arXiv:2002.05202)
  bool bias = true;

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  static void for_each_field(auto& self, auto&& field) {
    field("width", self.width, 0);
    field("activation", self.activation);
    field("gated", self.gated);
    field("bias", self.bias);
  }
};

/// Two linear layers with an activation between them, or three with a gate: (..., d_model) -> (..., d_model).
///
///     const Mlp mlp(scope / "mlp", 64, {.width = 256, .activation = Activation::silu, .gated = true});
struct Mlp {
  std::string name;
  Activation activation;
  std::optional<Linear> gate;                              ///< (d_model, width)
  Linear in, out;                                          ///< (d_model, width), (width, d_model)
  Mlp(Scope scope, int d_model, const MlpConfig& config);  ///< makes its parameters in `scope`
  /// Shows the hidden features to a Hook as NAME.hidden.
  Tensor operator()(const Tensor& x) const;
};

}  // namespace heed
