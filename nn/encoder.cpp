#include <heed/nn/encoder.h>

namespace heed {
namespace {

// What follows the attention.
Tensor passed_on(const EncoderBlock& block, const Tensor& x, const Tensor& attended, const Dropout& drop) {
  Tensor y = drop(attended);
  if (block.residual == Residual::yes) y = x + y;
  if (block.placement == NormPlacement::after) y = block.attention_norm(y);
  Hook::show(block.name, "attended", y);
  if (block.mlp) {
    Tensor hidden = block.mlp->hidden(y);
    Hook::show(block.name, "mlp.hidden", hidden);
    y = y + drop(block.mlp->out(hidden));
    if (block.placement == NormPlacement::after) y = block.mlp->norm(y);
  }
  Hook::show(block.name, "output", y);
  return y;
}

Tensor read_by_attention(const EncoderBlock& block, const Tensor& x) {
  return block.placement == NormPlacement::before ? block.attention_norm(x) : x;
}

// weights (B, heads, T, T) -> those from token query[b] of each text b: (B, heads, T)
Tensor rows_of_heads(const Tensor& weights, const Ids& query) {
  const std::int64_t B = weights.size(0), heads = weights.size(1), T = weights.size(2);
  const Tensor tokens = reshape(transpose(weights, 1, 2), {B, T, heads * T});
  return reshape(select_rows(tokens, query), {B, heads, T});
}

}  // namespace

Norm::Norm(Scope scope, int d, Kind of) : kind(of), name(scope.name()), eps(0) {
  if (kind == Kind::rms) {
    const RMSNorm layer(scope, d);
    eps = layer.eps;
    gain = layer.gain;
  } else {
    const LayerNorm layer(scope, d);
    eps = layer.eps;
    gain = layer.gain;
    bias = layer.bias;
  }
}

Tensor Norm::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  Tensor y = kind == Kind::rms ? rms_norm(x, gain, eps) : layer_norm(x, gain, bias, eps);
  Hook::show(name, "output", y);
  return y;
}

EncoderBlock::Mlp::Mlp(Scope scope, int d_model, int width, Bias bias, const BlockParts& parts)
    : placement(parts.placement),
      norm(scope / "norm", d_model, parts.norm),
      activation(parts.activation),
      gate(activation == Activation::swiglu ? std::optional<Linear>(std::in_place, scope / "gate", d_model, width, bias)
                                            : std::nullopt),
      in(scope / "in", d_model, width, bias),
      out(scope / "out", width, d_model, bias) {}

Tensor EncoderBlock::Mlp::hidden(const Tensor& x) const {
  const Tensor normed = placement == NormPlacement::before ? norm(x) : x;
  switch (activation) {
    case Activation::gelu:
      return gelu(in(normed));
    case Activation::gelu_tanh:
      return gelu_tanh(in(normed));
    case Activation::relu:
      return relu(in(normed));
    case Activation::swiglu:
      return swiglu((*gate)(normed), in(normed));
  }
  fail("Mlp: {} is no activation", static_cast<int>(activation));
}

EncoderBlock::EncoderBlock(Scope scope, const AttentionConfig& config, int width, Residual with_residual,
                           const BlockParts& parts)
    : name(scope.name()),
      placement(parts.placement),
      attention_norm(scope / "attention_norm", config.d_model, parts.norm),
      attention(scope / "attention", config),
      residual(with_residual) {
  if (width < 0) fail("EncoderBlock: expected an MLP's width, or 0 for none, got {}", width);
  if (width > 0) mlp.emplace(scope / "mlp", config.d_model, width, config.output_bias, parts);
}

AttentionResult EncoderBlock::operator()(const Tensor& x, const Mask& mask, Weights weights,
                                         const Dropout& drop) const {
  const LayerScope scope(name);
  AttentionResult y = attention(read_by_attention(*this, x), mask, weights, drop);
  y.output = passed_on(*this, x, y.output, drop);
  return y;
}

AttentionResult EncoderBlock::at(const Ids& query, const Tensor& x, const Mask& mask, Weights weights,
                                 const Dropout& drop) const {
  const LayerScope scope(name);
  if (mask.has_band()) fail("EncoderBlock::at: a causal mask is not the same for all tokens of a text");
  if (attention.rotary)
    fail("EncoderBlock::at: tokens that are turned by their positions are computed with the others");
  const Tensor read = read_by_attention(*this, x), asking = select_rows(read, query);  // (B, T, d_model), (B, d_model)
  const std::int64_t B = x.size(0), T = x.size(1);
  AttentionResult y = attention(reshape(asking, {B, 1, asking.size(1)}), read, mask, weights, drop);
  const Tensor before = residual == Residual::yes ? select_rows(x, query) : Tensor();
  y.output = passed_on(*this, before, reshape(y.output, asking.shape()), drop);
  if (weights == Weights::yes) y.weights = reshape(y.weights, {B, attention.config.heads, T});
  return y;
}

Tensor EncoderBlock::go_on(const Tensor& x, KeyValueCache& past) const {
  const LayerScope scope(name);
  return passed_on(*this, x, attention.go_on(read_by_attention(*this, x), past), {});
}

Encoder::Encoder(Scope scope, int layers, const AttentionConfig& config, int mlp, Residual last,
                 const BlockParts& parts)
    : norm(scope / "norm", config.d_model, parts.norm) {
  if (layers < 0) fail("Encoder: expected layers from 0 up, got {}", layers);
  for (int layer = 0; layer < layers; ++layer) {
    blocks.emplace_back(scope / layer, config, mlp, layer + 1 < layers ? Residual::yes : last, parts);
  }
}

Encoded Encoder::operator()(Tensor x, const Mask& mask, Weights weights, const Dropout& drop) const {
  Encoded encoded;
  for (const EncoderBlock& block : blocks) {
    if (&block == &blocks.back()) encoded.read_by_last = x;
    AttentionResult attended = block(x, mask, weights, drop);
    x = attended.output;
    if (weights == Weights::yes) encoded.weights.push_back(attended.weights);
  }
  encoded.output = norm(x);
  return encoded;
}

Encoded Encoder::at(const Ids& query, Tensor x, const Mask& mask, Weights weights, const Dropout& drop) const {
  Encoded encoded;
  const bool turned = !blocks.empty() && blocks[0].attention.rotary;
  if (mask.has_band() ||
      turned) {  // each token sees other keys than the others do, or at its own place: all are computed
    encoded = (*this)(std::move(x), mask, weights, drop);
    encoded.output = select_rows(encoded.output, query);
    for (Tensor& layer : encoded.weights) layer = rows_of_heads(layer, query);
    return encoded;
  }
  for (const EncoderBlock& block : blocks) {
    const bool is_last = &block == &blocks.back();
    if (is_last) encoded.read_by_last = x;
    AttentionResult attended = is_last ? block.at(query, x, mask, weights, drop) : block(x, mask, weights, drop);
    x = attended.output;
    if (weights == Weights::no) continue;
    encoded.weights.push_back(is_last ? attended.weights : rows_of_heads(attended.weights, query));
  }
  encoded.output = norm(blocks.empty() ? select_rows(x, query) : x);
  return encoded;
}

Tensor Encoder::go_on(Tensor x, Past& past) const {
  past.resize(blocks.size());
  for (std::size_t layer = 0; layer < blocks.size(); ++layer) x = blocks[layer].go_on(x, past[layer]);
  return norm(x);
}

}  // namespace heed
