#include <heed/nn/block.h>

#include <cmath>

namespace heed {
namespace {

std::optional<Norm> norm_if(bool wanted, Scope scope, const BlockConfig& config) {
  return Norm::make_if(wanted, scope, config.attention.d_model, config.norm);
}

}  // namespace

TransformerBlock::Norms::Norms(Scope scope, const char* name, const BlockConfig& config, bool has_input)
    : input(norm_if(has_input && (config.placement == NormPlacement::before || config.placement == NormPlacement::both),
                    scope / name, config)),
      output(norm_if(config.placement == NormPlacement::output || config.placement == NormPlacement::both,
                     config.placement == NormPlacement::both ? scope / ("output_" + std::string(name)) : scope / name,
                     config)),
      sum(norm_if(config.placement == NormPlacement::after, scope / name, config)) {}

TransformerBlock::TransformerBlock(Scope scope, const BlockConfig& given, BlockOptions options)
    : name(scope.name()),
      config(given),
      attention_norms(scope, "attention_norm", config, config.attention_norm),
      attention(scope / "attention", config.attention, std::move(options.rotary)),
      residual(options.residual) {
  const int width = config.mlp.width;
  if (width < 0) fail("TransformerBlock: expected the width of an MLP, or 0 for no MLP, got {}", width);
  if (config.parallel && config.placement != NormPlacement::before) {
    fail("TransformerBlock: a parallel block needs norm placement 'before', got '{}'", name_of(config.placement));
  }
  if (config.shared_norm && !config.parallel) fail("TransformerBlock: shared_norm is for a parallel block");
  if (config.shared_norm && !config.attention_norm) fail("TransformerBlock: shared_norm needs attention_norm");
  if (!std::isfinite(config.residual_scale))
    fail("TransformerBlock: residual_scale must be finite, got {}", config.residual_scale);
  if (width == 0) return;
  if (config.shared_norm) {
    mlp_norms = attention_norms;
  } else {
    mlp_norms.emplace(scope / "mlp", "norm", config);
  }
  mlp.emplace(scope / "mlp", config.attention.d_model, config.mlp);
}

Linearised TransformerBlock::added_linearised() const {
  return {[scale = config.residual_scale](const Tensor& parts) { return scale != 1 ? parts * scale : parts; }};
}

// Returns x + residual_scale part, with the norms after the part. x: the residual; undefined if unused.
Tensor TransformerBlock::add(const Norms& norms, const Tensor& x, const Tensor& part, const Dropout& drop) const {
  Tensor y = added_linearised().linear(drop(norms.output ? (*norms.output)(part) : part));
  if (x.defined()) y = x + y;
  return norms.sum ? (*norms.sum)(y) : y;
}

Tensor TransformerBlock::after_attention(const Tensor& x, const Tensor& attended, const Dropout& drop) const {
  Tensor y = with_attention(x, attended, drop);
  Hook::show(name, "attended", y);
  if (mlp) y = with_mlp(y, (*mlp)(mlp_norms->of_input(config.parallel ? x : y)), drop);
  return Hook::shown_output(name, y);
}

AttentionResult TransformerBlock::operator()(const Tensor& x, const Mask& mask, const PassOptions& options) const {
  const LayerScope scope(name);
  AttentionResult y = attention(attention_norms.of_input(x), mask, options);
  y.output = after_attention(x, y.output, options.drop);
  return y;
}

AttentionResult TransformerBlock::at(const Ids& query, const Tensor& x, const Mask& mask,
                                     const PassOptions& options) const {
  const LayerScope scope(name);
  if (attention.narrowed(mask).has_band()) fail("TransformerBlock::at: a causal mask differs from token to token");
  if (attention.rotary) fail("TransformerBlock::at: rotary embeddings need all tokens of a text");
  const Tensor read = attention_norms.of_input(x), asking = select_rows(read, query);  // (B, T, d), (B, d)
  const std::int64_t B = x.size(0), T = x.size(1);
  AttentionResult y = attention(reshape(asking, {B, 1, asking.size(1)}), read, mask, options);
  const bool reads_x = residual || config.parallel;
  y.output =
      after_attention(reads_x ? select_rows(x, query) : Tensor(), reshape(y.output, asking.shape()), options.drop);
  if (options.weights) y.weights = reshape(y.weights, {B, attention.config.heads, T});
  return y;
}

Tensor TransformerBlock::append(const Tensor& x, KeyValueCache& cache, const Mask& mask) const {
  const LayerScope scope(name);
  const Tensor read = attention_norms.of_input(x);
  return after_attention(x, attention.append(read, cache, mask), {});
}

}  // namespace heed
