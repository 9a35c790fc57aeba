#include "nn/encoder.h"

namespace heed {

EncoderBlock::EncoderBlock(Scope scope, const AttentionShape& shape, int width, Residual with_residual)
    : name(scope.name()),
      attention_norm(scope / "attention_norm", shape.d_model),
      attention(scope / "attention", shape),
      residual(with_residual) {
  if (width > 0) {
    const Scope inside = scope / "mlp";
    mlp.emplace(Mlp{LayerNorm(inside / "norm", shape.d_model), Linear(inside / "in", shape.d_model, width),
                    Linear(inside / "out", width, shape.d_model)});
  }
}

Attended EncoderBlock::operator()(const Tensor& x, const Mask& mask, Weights weights, const Dropout& drop) const {
  Attended y = attention(attention_norm(x), mask, weights);
  y.output = drop(y.output);
  if (residual == Residual::yes) y.output = x + y.output;
  Hook::show(name, "attended", y.output);
  if (mlp) {
    Tensor hidden = gelu(mlp->in(mlp->norm(y.output)));
    Hook::show(name, "mlp.hidden", hidden);
    y.output = y.output + drop(mlp->out(hidden));
  }
  Hook::show(name, "output", y.output);
  return y;
}

Encoder::Encoder(Scope scope, int layers, const AttentionShape& shape, int mlp, Residual last)
    : norm(scope / "norm", shape.d_model) {
  for (int layer = 0; layer < layers; ++layer) {
    blocks.emplace_back(scope / layer, shape, mlp, layer + 1 < layers ? Residual::yes : last);
  }
}

Encoded Encoder::operator()(Tensor x, const Mask& mask, Weights weights, const Dropout& drop) const {
  Encoded encoded;
  for (const EncoderBlock& block : blocks) {
    Attended attended = block(x, mask, weights, drop);
    x = attended.output;
    if (weights == Weights::yes) encoded.weights.push_back(attended.weights);
  }
  encoded.output = norm(x);
  return encoded;
}

}  // namespace heed
