#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/nn/linearised.h>
#include <heed/nn/parameters.h>

#include <optional>

namespace heed {

/// LayerNorm (Ba et al. 2016, arXiv:1607.06450), RMSNorm (Zhang & Sennrich 2019, arXiv:1910.07467), or no norms.
enum class NormKind { layer, rms, none };
template <>
inline constexpr EnumName<NormKind> enum_names<NormKind>[] = {
    {NormKind::layer, "layer"}, {NormKind::rms, "rms"}, {NormKind::none, "none"}};

/// Kind of a norm and its constants.
struct NormConfig {
  NormKind kind = NormKind::layer;  ///< none: whatever places norms leaves them out
  double epsilon = 1e-5;            ///< added to the variance, or to the mean square
  bool gain_offset = false;         ///< the gain is 1 + the parameter, which starts at 0 (Gemma)
  bool bias = true;                 ///< of LayerNorm alone

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  static void for_each_field(auto& self, auto&& field) {
    field("kind", self.kind);
    field("epsilon", self.epsilon, 0.0);
    field("gain_offset", self.gain_offset);
    field("bias", self.bias);
  }
};

/// The usual constants of RMSNorm: epsilon 1e-6. @hideinitializer
inline constexpr NormConfig rms_config{.kind = NormKind::rms, .epsilon = 1e-6};

/// Normalises the last axis: (..., d) -> (..., d).
///
///     LayerNorm  y = (x - mean) / sqrt(variance + epsilon) * gain + bias
///     RMSNorm    y = x / sqrt(mean(x^2) + epsilon) * gain
///
///     const Norm norm(scope / "norm", 64);               // LayerNorm
///     const Norm rms(scope / "rms", 64, rms_config);     // RMSNorm
struct Norm {
  std::string name;
  NormConfig config;
  Parameter gain;  ///< (d)
  Parameter bias;  ///< (d); undefined in RMSNorm, and without NormConfig::bias
  /// Throws `Error` when epsilon is negative or not finite, and for NormKind::none.
  Norm(Scope scope, int d, const NormConfig& config = {});
  /// Returns the norm, or nothing unless `wanted`, and for NormKind::none.
  static std::optional<Norm> make_if(bool wanted, Scope scope, int d, const NormConfig& config);
  Tensor operator()(const Tensor& x) const;  ///< the normalised x, of the same shape
  /// Returns the norm with mean and deviation fixed to those of `at` (d).
  Linearised linearised(const Tensor& at) const;
};

}  // namespace heed
