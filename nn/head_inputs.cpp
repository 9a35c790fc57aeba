#include <heed/nn/head_inputs.h>

namespace heed {
namespace {

void check_inputs(const MultiHeadAttention& layer, const char* what, const Tensor& x, int heads) {
  if (x.rank() == 4 && x.size(0) == heads && x.size(3) == layer.config.d_model) return;
  fail("HeadInputs: expected {} ({}, B, T, {}), got {}", what, heads, layer.config.d_model, to_string(x.shape()));
}

// Returns x[h] W for the columns of each head h, normalised: x (heads, B, T, d_model) -> (B, heads, T, d).
Tensor projected(const Linear& W, const std::optional<Norm>& norm, bool over_all, const Tensor& x) {
  const std::int64_t heads = x.size(0), B = x.size(1), T = x.size(2), d = W.weight.size(1) / heads;
  std::vector<Tensor> each;
  for (std::int64_t h = 0; h < heads; ++h) {
    const Tensor rows = reshape(x[h], {B * T, x.size(3)});
    if (over_all) {
      each.push_back(slice((*norm)(W(rows)), 1, h * d, (h + 1) * d));
      continue;
    }
    const Linearised columns = W.linearised(h * d, (h + 1) * d);
    const Tensor y = columns.linear(rows);
    each.push_back(columns.constant.defined() ? y + columns.constant : y);
  }
  const Tensor y = transpose(reshape(stack(each), {heads, B, T, d}), 0, 1);
  return norm && !over_all ? (*norm)(y) : y;
}

HeadProjections behind(const EarlierTokens& earlier, const HeadProjections& inputs) {
  if (earlier.count() == 0) return inputs;
  return {.Q = inputs.Q, .K = concat({earlier.K, inputs.K}, 2), .V = concat({earlier.V, inputs.V}, 2)};
}

Tensor attended(const MultiHeadAttention& layer, const HeadProjections& heads, const Mask& mask) {
  const AttentionConfig& config = layer.config;
  const AttentionOptions options{.mask = layer.narrowed(mask), .scale = config.scale, .soft_cap = config.soft_cap};
  return attention(heads.Q, heads.K, heads.V, options).output;
}

}  // namespace

Tensor shared_input(const Tensor& x, std::int64_t count) {
  return broadcast_to(unsqueeze(x, 0), {count, x.size(0), x.size(1), x.size(2)});
}

HeadProjections projected_heads(const MultiHeadAttention& layer, const HeadInputs& inputs,
                                const EarlierTokens& earlier) {
  const LayerScope scope(layer.name);
  const AttentionConfig& config = layer.config;
  check_inputs(layer, "queries", inputs.queries, config.heads);
  check_inputs(layer, "keys", inputs.keys, config.kv_heads);
  check_inputs(layer, "values", inputs.values, config.kv_heads);
  const bool over_all = config.query_key_norm == QueryKeyNorm::all;
  HeadProjections result{.Q = projected(layer.W_Q, layer.q_norm, over_all, inputs.queries),
                         .K = projected(layer.W_K, layer.k_norm, over_all, inputs.keys),
                         .V = projected(layer.W_V, {}, false, inputs.values)};
  if (layer.rotary) {
    result.Q = (*layer.rotary)(result.Q, earlier.count()), result.K = (*layer.rotary)(result.K, earlier.count());
  }
  return behind(earlier, result);
}

Tensor weighted_values(const MultiHeadAttention& layer, const HeadInputs& inputs, const Mask& mask,
                       const EarlierTokens& earlier) {
  const LayerScope scope(layer.name);
  return attended(layer, projected_heads(layer, inputs, earlier), mask);
}

Tensor weighted_values(const MultiHeadAttention& layer, const Tensor& x, const Mask& mask,
                       const EarlierTokens& earlier) {
  const LayerScope scope(layer.name);
  const std::int64_t first = earlier.count();
  const HeadProjections heads{.Q = layer.queries_of(x, first), .K = layer.keys_of(x, first), .V = layer.values_of(x)};
  return attended(layer, behind(earlier, heads), mask);
}

Tensor head_outputs(const MultiHeadAttention& layer, const Tensor& z) {
  const std::int64_t B = z.size(0), T = z.size(2);
  std::vector<Tensor> each;
  for (int h = 0; h < layer.config.heads; ++h) {
    const Tensor rows = reshape(slice(z, 1, h, h + 1), {B * T, z.size(3)});
    each.push_back(layer.head_output(h, rows));
  }
  return reshape(stack(each), {layer.config.heads, B, T, layer.config.d_model});
}

Tensor joined_output(const MultiHeadAttention& layer, const Tensor& z) {
  return layer.W_O(reshape(transpose(z, 1, 2), {z.size(0), z.size(2), z.size(1) * z.size(3)}));
}

}  // namespace heed
