#pragma once
#include <heed/autograd/tensor.h>

#include <functional>
#include <string>

namespace heed {

// While one is open, the layers that this thread runs show it their values by name, and it may replace each by another of
// the same shape and dtype, which is then what the layers go on with; gradients flow through what it puts there.
//   any layer      NAME.output, where NAME is that of its parameters: words, positions, encoder.0.attention_norm,
//                  encoder.0.attention, encoder.0.attention.W_Q, encoder.0, encoder.0.mlp.in, encoder.norm, ...
//   attention      Q, K (B, H, T, d_k), V (B, H, T, d_v), scores (B, H, T, T): Q K^T / sqrt(d_k) before the mask, which
//                  applies to what replaces them too; weights (B, H, T, T), heads (B, H, T, d_v): weights V
//   encoder block  attended (B, T, d_model): what the MLP reads; mlp.hidden: what its second layer reads
//   Reader         embedded (B, T, d_model): what the first layer reads; at_query (B, d_model), logits (B, vocabulary);
//                  where the next token is predicted at each of them, logits (B, T, vocabulary)
// A layer computed at one token of each text (EncoderBlock::at) has one query: Q (B, H, 1, d_k), its output (B, d_model).
// Several may be open: each sees what the earlier ones made of a value, so the latest has the last word. They close in
// reverse order. While a hook's function runs, none is open, so it may itself run a model.
// Error naming the value when it is replaced by one of another shape or dtype.
class Hook {
 public:
  // Is given the name and the value, which it may replace.
  using Function = std::function<void(const std::string& name, Tensor& value)>;
  [[nodiscard]] explicit Hook(Function function) : function_(std::move(function)), earlier_(latest_) { latest_ = this; }
  ~Hook() { latest_ = earlier_; }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  // Whether one is open on this thread.
  static bool is_open() { return latest_ != nullptr; }

  // For layers: shows `value` as LAYER.WHAT, or as WHAT where the layer has no name.
  static void show(const std::string& layer, const char* what, Tensor& value) {
    if (is_open()) latest_->show_value(layer.empty() ? what : layer + "." + what, value);
  }

 private:
  void show_value(const std::string& name, Tensor& value) const;

  Function function_;
  const Hook* earlier_;
  static inline constinit thread_local const Hook* latest_ = nullptr;
};

}  // namespace heed
