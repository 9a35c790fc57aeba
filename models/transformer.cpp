#include <heed/models/transformer.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// Reduces weights (B, heads, T, T) to those of token query[b] of each text b: (B, heads, T).
Tensor rows_of_heads(const Tensor& weights, const Ids& query) {
  const std::int64_t B = weights.size(0), heads = weights.size(1), T = weights.size(2);
  const Tensor tokens = reshape(transpose(weights, 1, 2), {B, T, heads * T});
  return reshape(select_rows(tokens, query), {B, heads, T});
}

std::optional<RotaryEmbedding> rotary_table(const TransformerConfig& config, const RotaryConfig& rotary, DType dtype) {
  if (config.positions != Positions::rotary) return {};
  return RotaryEmbedding(config.max_length, rotary_frequencies(config.block.attention.complete().d_k, rotary),
                         rotary.pairs, dtype, rotary.amplitude);
}

std::optional<Embedding> embedding_if(int count, Scope scope, int d, double deviation) {
  return count > 0 ? std::optional<Embedding>(std::in_place, scope, count, d, deviation) : std::nullopt;
}

// Returns the position of each token from `first` on, (B, T), counted from behind the padding; that of padding is 0.
Ids positions_behind(std::span<const int> padding, std::int64_t first, std::int64_t T) {
  std::vector<std::int32_t> positions;
  for (const int before : padding) {
    for (std::int64_t t = first; t < first + T; ++t) {
      positions.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(t - before, 0)));
    }
  }
  return Ids({std::ssize(padding), T}, std::move(positions));
}

// Returns a causal mask that hides the padding in front of each text among T keys.
Mask mask_behind(std::span<const int> padding, std::int64_t T) {
  if (std::ranges::all_of(padding, [](int before) { return before == 0; })) return Mask::causal();
  std::vector<std::uint8_t> visible;
  for (const int before : padding) {
    for (std::int64_t t = 0; t < T; ++t) visible.push_back(t >= before);
  }
  return Mask::causal() & Mask(Booleans({std::ssize(padding), 1, 1, T}, std::move(visible)));
}

}  // namespace

BlockConfig TransformerConfig::block_at(int layer) const {
  BlockConfig result = block;
  const bool is_full = full_attention_every > 0 && (layer + 1) % full_attention_every == 0;
  if (is_full || std::ranges::count(full_attention_layers, layer) > 0) result.attention.window = 0;
  if (layer == 0) result.attention_norm = block.attention_norm && first_attention_norm;
  if (divide_scores_by_layer) {
    const AttentionConfig attention = block.attention.complete();
    result.attention.scale = (attention.scale > 0 ? attention.scale : 1 / std::sqrt(1.0 * attention.d_k)) / (layer + 1);
  }
  return result;
}

TransformerConfig gpt2(int layers, int heads, int d_model) {
  TransformerConfig config;
  config.layers = layers;
  config.causal = true;
  config.block.attention = {.d_model = d_model, .heads = heads, .bias = true};
  config.block.mlp = {.width = 4 * d_model, .activation = Activation::gelu_tanh};
  return config;
}

TransformerConfig bert(int layers, int heads, int d_model) {
  TransformerConfig config;
  config.layers = layers;
  config.segments = 2;
  config.embedding_norm = true;
  config.final_norm = false;
  config.block.attention = {.d_model = d_model, .heads = heads, .bias = true};
  config.block.mlp = {.width = 4 * d_model};
  config.block.norm.epsilon = 1e-12;
  config.block.placement = NormPlacement::after;
  return config;
}

TransformerConfig llama(int layers, int heads, int kv_heads, int d_model, int mlp_width) {
  TransformerConfig config;
  config.layers = layers;
  config.causal = true;
  config.positions = Positions::rotary;
  config.block.attention = {.d_model = d_model, .heads = heads, .kv_heads = kv_heads, .output_bias = false};
  config.block.mlp = {.width = mlp_width, .activation = Activation::silu, .gated = true, .bias = false};
  config.block.norm = {.kind = NormKind::rms, .epsilon = 1e-5};
  return config;
}

Transformer::Transformer(Scope scope, const TransformerConfig& given, const EmbeddingInit& init)
    : name(scope.name()),
      config(given),
      token_embedding(embedding_if(config.vocabulary, scope / "words", config.embedded(), init.tokens)),
      learned_positions(config.positions == Positions::learned && config.max_length > 0
                            ? std::optional<LearnedPositions>(std::in_place, scope / "positions", config.max_length,
                                                              config.summed(), init.positions, config.position_offset)
                            : std::nullopt),
      segment_embedding(embedding_if(config.segments, scope / "sentences", config.summed(), init.segments)) {
  if (config.layers < 0) fail("Transformer: expected at least 0 layers, got {}", config.layers);
  if (config.positions == Positions::learned && config.max_length < 1) {
    fail(
        "Transformer: learned positions need max_length, the number of tokens in the longest text, got {}; choose "
        "Positions::none for a model without positions",
        config.max_length);
  }
  if (config.vocabulary == 0 && config.segments > 0) {
    fail("Transformer: segments need a vocabulary; add segment vectors to the model's input yourself");
  }
  embedding_norm = Norm::make_if(config.embedding_norm, scope / "embedding_norm", config.summed(), config.block.norm);
  if (config.embedding_width > 0 && config.projected_tokens) {
    token_projection.emplace(scope / "token_projection", config.embedded(), config.d_model(),
                             LinearOptions{.bias = false});
  } else if (config.embedding_width > 0) {
    embedding_projection.emplace(scope / "embedding_projection", config.embedded(), config.d_model());
  }
  const Scope encoder = scope / "encoder";
  const std::optional<RotaryEmbedding> rotary = rotary_table(config, config.rotary, scope.dtype());
  const RotaryConfig unscaled{
      .base = config.window_rotary_base, .fraction = config.rotary.fraction, .pairs = config.rotary.pairs};
  const std::optional<RotaryEmbedding> of_window =
      config.window_rotary_base > 0 ? rotary_table(config, unscaled, scope.dtype()) : rotary;
  const Scope norm = encoder / "norm";
  final_norm = Norm::make_if(config.final_norm, norm, config.d_model(), config.block.norm);
  for (int layer = 0; layer < config.layers; ++layer) {
    const BlockConfig block = config.block_at(layer);
    const bool is_rotated = std::ranges::count(config.unrotated_layers, layer) == 0;
    const Scope place = encoder / layer;
    blocks.emplace_back(config.shared_layers && layer > 0 ? place.sharing(encoder / 0) : place, block,
                        BlockOptions{.residual = layer + 1 < config.layers || config.last_residual,
                                     .rotary = !is_rotated                  ? std::nullopt
                                               : block.attention.window > 0 ? of_window
                                                                            : rotary});
  }
}

Tensor Transformer::embed(const Batch& texts, std::int64_t first, std::span<const int> padding) const {
  const LayerScope scope(name);
  const Shape& size = texts.tokens.shape();
  if (size.rank() == 2 && size[1] == 0)
    fail("Transformer: expected at least one token per text, got {}", to_string(size));
  if (!token_embedding) fail("Transformer: without a vocabulary, call it with vectors (B, T, {})", config.embedded());
  if (size.rank() != 2 || (!texts.lengths.empty() && std::ssize(texts.lengths) != size[0])) {
    fail("Transformer: expected tokens (B, T) and B lengths, got {} and {} lengths", to_string(size),
         texts.lengths.size());
  }
  if (config.positions == Positions::rotary && first + size[1] > config.max_length) {
    fail("Transformer: the text has {} tokens, but max_length is {}", first + size[1], config.max_length);
  }
  return embedded(token_vectors(texts.tokens), segment_embedding ? texts.segments_or_zero() : Ids(), first, padding);
}

Tensor Transformer::scaled(const Tensor& x) const {
  const Tensor y = config.embedding_scale != 1 ? x * config.embedding_scale : x;
  return token_projection ? (*token_projection)(y) : y;
}

Tensor Transformer::position_vectors(std::int64_t first, std::int64_t count, DType dtype) const {
  if (learned_positions) return learned_positions->rows(first, count);
  if (config.positions != Positions::sinusoidal) return {};
  return sinusoidal_positions(static_cast<int>(count), config.summed(), dtype, static_cast<int>(first));
}

// Returns the input of the first layer for scaled vectors x (B, T, width of the sum).
Tensor Transformer::embedded(Tensor x, const Ids& segments, std::int64_t first, std::span<const int> padding) const {
  if (!padding.empty()) {
    const std::int64_t T = x.size(1);
    const Tensor positions = position_vectors(0, first + T, x.dtype());
    if (positions.defined()) x = x + embedding(positions, positions_behind(padding, first, T));
  } else if (learned_positions) {
    x = (*learned_positions)(x, first);  // shows it to a Hook
  } else if (const Tensor positions = position_vectors(first, x.size(1), x.dtype()); positions.defined()) {
    x = x + positions;
  }
  if (segment_embedding) x = x + (*segment_embedding)(segments);
  if (embedding_norm) x = (*embedding_norm)(x);
  if (embedding_projection) x = (*embedding_projection)(x);
  Hook::show(name, "embedded", x);
  return x;
}

Tensor Transformer::input_of(const Tensor& x, const Dropout& drop, int layer) const {
  if (config.vocabulary > 0 || layer > 0) return x;
  const LayerScope scope(name);
  if (x.rank() != 3 || x.size(2) != config.embedded()) {
    fail("Transformer: expected vectors (B, T, {}), got {}", config.embedded(), to_string(x.shape()));
  }
  if (config.max_length > 0 && x.size(1) > config.max_length) {
    fail("Transformer: the input has {} vectors, but max_length is {}", x.size(1), config.max_length);
  }
  return drop.with(drop.embedding, embedded(scaled(x), {}, 0));
}

Mask Transformer::mask_of(const Batch& texts) const {
  if (config.causal) return Mask::causal();  // padding comes after each token, so the causal mask hides it
  if (texts.lengths.empty()) return {};
  return Mask::padding(texts.lengths, static_cast<int>(texts.tokens.shape()[1]));
}

Hidden Transformer::operator()(const Batch& texts, const PassOptions& options) const {
  return (*this)(options.drop.with(options.drop.embedding, embed(texts)), mask_of(texts), options);
}

std::span<const TransformerBlock> Transformer::blocks_from(int layer) const {
  if (layer < 0 || (layer > 0 && layer >= std::ssize(blocks))) {
    fail("Transformer: expected a layer from 0 to {}, got {}", std::ssize(blocks) - 1, layer);
  }
  return std::span(blocks).subspan(static_cast<std::size_t>(layer));
}

Hidden Transformer::operator()(const Tensor& input, const Mask& shown, const PassOptions& options,
                               int first_layer) const {
  const Mask mask = whole(shown);
  Hidden hidden;
  Tensor x = input_of(input, options.drop, first_layer);
  for (const TransformerBlock& block : blocks_from(first_layer)) {
    if (&block == &blocks.back()) hidden.last_input = x;
    AttentionResult attended = block(x, mask, options);
    x = attended.output;
    if (options.weights) hidden.weights.push_back(attended.weights);
  }
  hidden.output = normalised(x);
  return hidden;
}

Hidden Transformer::at(const Ids& query, const Batch& texts, const PassOptions& options) const {
  return at(query, options.drop.with(options.drop.embedding, embed(texts)), mask_of(texts), options);
}

Hidden Transformer::at(const Ids& query, const Tensor& input, const Mask& shown, const PassOptions& options,
                       int first_layer) const {
  const LayerScope scope(name);
  const Mask mask = whole(shown);
  Hidden hidden;
  const TransformerBlock* const last = blocks.empty() ? nullptr : &blocks.back();
  if (last && (last->attention.narrowed(mask).has_band() || last->attention.rotary)) {
    // Tokens differ in visible keys or position, so all are computed.
    hidden = (*this)(input, mask, options, first_layer);
    hidden.output = select_rows(hidden.output, query);
    for (Tensor& layer : hidden.weights) layer = rows_of_heads(layer, query);
    return hidden;
  }
  Tensor x = input_of(input, options.drop, first_layer);
  for (const TransformerBlock& block : blocks_from(first_layer)) {
    const bool is_last = &block == last;
    if (is_last) hidden.last_input = x;
    AttentionResult attended = is_last ? block.at(query, x, mask, options) : block(x, mask, options);
    x = attended.output;
    if (!options.weights) continue;
    hidden.weights.push_back(is_last ? attended.weights : rows_of_heads(attended.weights, query));
  }
  hidden.output = normalised(blocks.empty() ? select_rows(x, query) : x);
  return hidden;
}

Tensor Transformer::append(const Ids& tokens, Cache& cache, std::span<const int> padding) const {
  const LayerScope scope(name);
  if (!config.causal) fail("Transformer::append: the model is not causal");
  if (tokens.shape().rank() != 2)
    fail("Transformer::append: expected tokens (B, T), got {}", to_string(tokens.shape()));
  const std::int64_t T = tokens.shape()[1], read = length(cache);
  if (read + T > config.max_length) {
    fail("Transformer::append: expected at most max_length {} tokens, got {} after {}", config.max_length, T, read);
  }
  if (read > 0 && cache.size() != blocks.size()) {
    fail("Transformer::append: expected a cache of {} layers, got one of {}", blocks.size(), cache.size());
  }
  if (!padding.empty() && std::ssize(padding) != tokens.shape()[0]) {
    fail("Transformer::append: expected the padding of {} texts, got {}", tokens.shape()[0], padding.size());
  }
  for (const int before : padding) {
    if (before >= 0 && before <= config.max_length) continue;
    fail("Transformer::append: padding {} does not lie in 0 to max_length {}", before, config.max_length);
  }
  Tensor x = embed({.tokens = tokens}, read, padding);
  const Mask mask = mask_behind(padding, read + T);
  cache.resize(blocks.size());
  const CacheGuard guard(cache);  // a hook can throw, and memory can run out
  for (std::size_t layer = 0; layer < blocks.size(); ++layer) x = blocks[layer].append(x, cache[layer], mask);
  return normalised(x);
}

}  // namespace heed
