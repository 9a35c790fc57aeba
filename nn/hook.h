#pragma once
#include <heed/autograd/tensor.h>

#include <functional>
#include <string>

namespace heed {

/// Shows the values of the layers that this thread runs, by name, while it is open. It may replace a value by another
/// one of the same shape and dtype; the layers continue with it, and gradients flow through it.
///
///     const Hook hook([](const std::string& name, Tensor& value) {
///       if (name == "encoder.1.attention.heads") value = value * 0;   // (B, H, T, d_v)
///     });
///
///     any layer    NAME.output, where NAME is that of its parameters: words, positions, encoder.0.attention_norm,
///                  encoder.0.attention, encoder.0.attention.W_Q, encoder.0, encoder.0.mlp.in, encoder.norm, ...
///     attention    Q (B, H, T, d_k), K (B, H_kv, T, d_k), V (B, H_kv, T, d_v); scores (B, H, T, T): Q K^T / sqrt(d_k) before
///                  the mask, which also applies to a replacement; weights (B, H, T, T); heads (B, H, T, d_v): weights V
///     block        attended (B, T, d_model): the input of the MLP; mlp.hidden: the input of its second layer
///     Transformer  embedded (B, T, d_model): the input of the first layer
///     models       at_query (B, d_model): the state at the query; logits (B, ..., vocabulary or candidates)
///
/// A layer computed at one token of each text (Transformer::at) has one query: Q (B, H, 1, d_k), its output (B,
/// d_model). With a cache (Transformer::append), Q has the new tokens, K and V have all; the cache keeps K and V as they were
/// before a hook. With several hooks, the earliest sees a value first, and each later one sees the result. Close them in
/// reverse order. Hooks are inactive while a hook's function runs, so it may run a model itself. A replacement of
/// another shape or dtype throws Error that names the value.
class Hook {
 public:
  /// Receives the name and the value, which it may replace.
  using Function = std::function<void(const std::string& name, Tensor& value)>;
  /// Opens the hook.
  [[nodiscard]] explicit Hook(Function function) : function_(std::move(function)), earlier_(latest_) { latest_ = this; }
  ~Hook() { latest_ = earlier_; }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  /// Returns whether one is open on this thread.
  static bool is_open() { return latest_ != nullptr; }

  /// Shows `value` as LAYER.NAME, or as NAME for a layer without a name. Layers call it.
  static void show(const std::string& layer, const char* name, Tensor& value) {
    if (is_open()) latest_->show_value(layer.empty() ? name : layer + "." + name, value);
  }

  /// Shows `output` as LAYER.output. Returns it, or its replacement.
  static Tensor shown_output(const std::string& layer, Tensor output) {
    show(layer, "output", output);
    return output;
  }

 private:
  void show_value(const std::string& name, Tensor& value) const;

  Function function_;
  const Hook* earlier_;
  static inline constinit thread_local const Hook* latest_ = nullptr;
};

}  // namespace heed
