#include <heed/autograd/ops.h>
#include <heed/explain/residual_parts.h>

namespace heed {
namespace {

// Row `token` of x (1, T, d): (1, d).
Tensor row_of(const Tensor& x, std::int64_t token) { return reshape(slice(x, 1, token, token + 1), {1, x.size(2)}); }

// Returns the parts behind a map of their sum, with its constant as an additional part if it has one.
Tensor behind(const Linearised& form, const Tensor& parts) {
  const Tensor rows = form.linear(parts);
  return form.constant.defined() ? concat({rows, unsqueeze(form.constant, 0)}, 0) : rows;
}

Tensor normalised(const Norm& norm, const Tensor& parts) { return behind(norm.linearised(sum(parts, {0})), parts); }

}  // namespace

ResidualParts::ResidualParts(const Transformer& transformer, const Batch& texts, const Trace& seen, int layer,
                             Sources sources)
    : transformer_(transformer),
      texts_(texts),
      seen_(seen),
      layer_(static_cast<std::size_t>(layer)),
      sources_(sources),
      T_(texts.tokens.shape()[1]) {
  if (layer < 0 || layer_ > transformer.blocks.size() || texts.size() != 1) {
    fail("ResidualParts: expected one text and a layer from 0 to {}, got {} and layer {}", transformer.blocks.size(),
         counted(texts.size(), "text"), layer);
  }
  for (std::size_t l = 0; l < layer_ && sources == Sources::each; ++l) {
    const MultiHeadAttention& attention = transformer.blocks[l].attention;
    const AttentionConfig& config = attention.config;
    brought_.emplace_back();
    for (int head = 0; head < config.heads; ++head) {
      const int kv_head = attention.key_head(head);
      const Tensor V = reshape(slice(seen.layers[l].v, 1, kv_head, kv_head + 1), {T_, config.d_v});
      brought_.back().push_back(attention.head_output(head, V));
    }
  }
  name_parts();
}

// Names the parts in the order of the rows of of().
void ResidualParts::name_parts() {
  const auto add_bias = [&](const std::optional<Norm>& norm, int layer) {
    if (norm && norm->bias.defined()) names_.push_back({.what = "norm bias", .layer = layer});
  };
  names_.push_back({.what = "token"});
  if (transformer_.position_vectors(0, 1, DType::float32).defined()) names_.push_back({.what = "position"});
  if (transformer_.segment_embedding) names_.push_back({.what = "sentence"});
  add_bias(transformer_.embedding_norm, -1);
  if (transformer_.embedding_projection) names_.push_back({.what = "projection bias"});
  for (std::size_t l = 0; l < layer_; ++l) {
    const TransformerBlock& block = transformer_.blocks[l];
    const int layer = static_cast<int>(l);
    if (!block.residual) names_.clear();
    for (int head = 0; head < block.attention.config.heads; ++head) {
      for (int token = sources_ == Sources::each ? 0 : -1; token < (sources_ == Sources::each ? T_ : 0); ++token) {
        names_.push_back({.what = "head", .layer = layer, .head = head, .token = token});
      }
    }
    if (block.attention.W_O.bias.defined()) names_.push_back({.what = "W_O bias", .layer = layer});
    add_bias(block.attention_norms.output, layer);
    add_bias(block.attention_norms.sum, layer);
    if (!block.mlp) continue;
    names_.push_back({.what = "MLP", .layer = layer});
    add_bias(block.mlp_norms->sum, layer);
  }
}

Tensor ResidualParts::embedded_parts(std::int64_t token) const {
  std::vector<Tensor> rows{transformer_.token_vectors(Ids({1}, {texts_.tokens[token]}))};
  const Tensor position = transformer_.position_vectors(token, 1, rows[0].dtype());
  if (position.defined()) rows.push_back(position);
  if (transformer_.segment_embedding)
    rows.push_back(row_of((*transformer_.segment_embedding)(texts_.segments_or_zero()), token));
  Tensor parts = concat(rows, 0);
  if (transformer_.embedding_norm) parts = normalised(*transformer_.embedding_norm, parts);
  if (transformer_.embedding_projection) parts = behind(transformer_.embedding_projection->linearised(), parts);
  return parts;
}

// Returns the contributions of the heads, and the bias of W_O if there is one.
Tensor ResidualParts::head_parts(std::size_t layer, std::int64_t token) const {
  const MultiHeadAttention& attention = transformer_.blocks[layer].attention;
  std::vector<Tensor> rows;
  const std::int64_t d_v = attention.config.d_v;
  for (int head = 0; head < attention.config.heads; ++head) {
    if (sources_ == Sources::summed) {
      const Tensor output = slice(slice(seen_.layers[layer].head_output, 1, head, head + 1), 2, token, token + 1);
      rows.push_back(attention.head_output(head, reshape(output, {1, d_v})));
      continue;
    }
    const Tensor row = slice(slice(seen_.layers[layer].weights, 1, head, head + 1), 2, token, token + 1);
    rows.push_back(reshape(row, {T_, 1}) * brought_[layer][static_cast<std::size_t>(head)]);
  }
  if (attention.W_O.bias.defined()) rows.push_back(unsqueeze(attention.W_O.bias, 0));
  return concat(rows, 0);
}

Tensor ResidualParts::of(std::int64_t token) const {
  Tensor parts = embedded_parts(token);
  for (std::size_t l = 0; l < layer_; ++l) {
    const TransformerBlock& block = transformer_.blocks[l];
    Tensor added = head_parts(l, token);
    if (block.attention_norms.output) added = normalised(*block.attention_norms.output, added);
    added = block.added_linearised().linear(added);
    parts = block.residual ? concat({parts, added}, 0) : added;
    if (block.attention_norms.sum) parts = normalised(*block.attention_norms.sum, parts);
    if (!block.mlp) continue;
    Tensor from_mlp = row_of(seen_.layers[l].mlp_output, token);
    if (block.mlp_norms->output) from_mlp = (*block.mlp_norms->output)(from_mlp);
    parts = concat({parts, block.added_linearised().linear(from_mlp)}, 0);
    if (block.mlp_norms->sum) parts = normalised(*block.mlp_norms->sum, parts);
  }
  return parts;
}

}  // namespace heed
