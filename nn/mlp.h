#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/nn/layers.h>

#include <optional>
#include <string_view>
#include <vector>

namespace heed {

/// The function between the two matrices of an MLP. Gated activations have a third matrix and compute f(x gate) * (x in),
/// with f SiLU, GELU, its tanh approximation or ReLU (Shazeer 2020, arXiv:2002.05202), or one of the two below.
enum class Activation {
  gelu,
  gelu_tanh,
  quick_gelu,  ///< x sigmoid(1.702 x) (Hendrycks & Gimpel 2016, arXiv:1606.08415)
  relu,
  relu2,  ///< max(x, 0)^2 (So et al. 2021, arXiv:2109.08668)
  silu,
  swiglu,
  geglu,
  geglu_tanh,
  quick_geglu,
  reglu,
  reglu2
};
template <>
inline constexpr EnumName<Activation> enum_names<Activation>[] = {{Activation::gelu, "gelu"},
                                                                  {Activation::gelu_tanh, "gelu_tanh"},
                                                                  {Activation::quick_gelu, "quick_gelu"},
                                                                  {Activation::relu, "relu"},
                                                                  {Activation::relu2, "relu2"},
                                                                  {Activation::silu, "silu"},
                                                                  {Activation::swiglu, "swiglu"},
                                                                  {Activation::geglu, "geglu"},
                                                                  {Activation::geglu_tanh, "geglu_tanh"},
                                                                  {Activation::quick_geglu, "quick_geglu"},
                                                                  {Activation::reglu, "reglu"},
                                                                  {Activation::reglu2, "reglu2"}};

/// A function f and the activations that use it.
struct ActivationFunction {
  Tensor (*of)(const Tensor& x);
  int operations;                                ///< of which a recording keeps the result
  Activation plain, gated;                       ///< f(x in), and f(x gate) * (x in)
  std::vector<std::string_view> in_config_json;  ///< names in `transformers`; heed writes the first
};
const std::vector<ActivationFunction>& activation_functions();  ///< all of them
/// Returns the function of an activation.
const ActivationFunction& function_of(Activation activation);

bool is_gated(Activation activation);  ///< whether the MLP multiplies by a gate
/// Returns f(x), elementwise. For a gated activation f is the function of the gate.
Tensor activated(Activation activation, const Tensor& x);

/// Shape of an MLP.
struct MlpConfig {
  int width = 0;  ///< hidden features; 0: a block without an MLP
  Activation activation = Activation::gelu;
  Bias bias = Bias::yes;

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("width", self.width, 0);
    field("activation", self.activation);
    field("bias", self.bias);
  }
};

/// Two linear layers with an activation between them: (..., d_model) -> (..., d_model).
///
///     const Mlp mlp(scope / "mlp", 64, {.width = 256, .activation = Activation::swiglu, .bias = Bias::no});
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
