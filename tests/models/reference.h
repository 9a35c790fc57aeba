#pragma once
#include <heed/autograd/ops.h>
#include <heed/models/model.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace heed {

/// Computes a Transformer by the formulas of the papers, only from its configuration and its named parameters. It uses
/// float64, and no layers, fused operations or caches.
class Reference {
 public:
  Reference(const TransformerConfig& config, const Parameters& parameters) : config_(config), of_(parameters) {}

  struct States {
    Tensor output, last_input;  // (B, T, d_model)
  };
  States operator()(const Batch& texts) const {
    const Shape& size = texts.tokens.shape();
    Tensor x = rows("words", texts.tokens) * config_.embedding_scale;
    const bool is_projected = config_.embedding_width > 0;
    if (is_projected && config_.projected_tokens) x = product("token_projection", x);
    if (config_.positions == Positions::learned) x = x + rows("positions", counted(size[1], config_.position_offset));
    if (config_.positions == Positions::sinusoidal) x = x + sinusoids(size[1]);
    if (config_.segments > 0) x = x + rows("sentences", texts.segments);
    if (config_.embedding_norm) x = normalised("embedding_norm", x, config_.block.norm);
    if (is_projected && !config_.projected_tokens) x = product("embedding_projection", x);
    States states;
    for (int layer = 0; layer < config_.layers; ++layer) {
      states.last_input = x;
      x = block(layer, x, texts);
    }
    states.output = config_.final_norm ? normalised("encoder.norm", x, config_.block.norm) : x;
    return states;
  }

  Tensor normalised(const std::string& name, const Tensor& x, const NormConfig& norm) const {
    if (norm.kind == NormKind::none) return x;
    const bool centred = norm.kind == NormKind::layer;
    const Tensor y = centred ? x - mean(x, {-1}, true) : x;
    const Tensor gain = norm.gain_offset ? of_[name + ".gain"] + 1.0 : of_[name + ".gain"];
    const Tensor z = y / sqrt(mean(square(y), {-1}, true) + norm.epsilon) * gain;
    return centred && norm.bias ? z + of_[name + ".bias"] : z;
  }
  Tensor product(const std::string& name, const Tensor& x) const {
    const Tensor y = matmul(x, of_[name + ".weight"]);
    return of_.contains(name + ".bias") ? y + of_[name + ".bias"] : y;
  }
  static Tensor function(Activation activation, const Tensor& x) {
    switch (activation) {
      case Activation::relu:
        return (x + abs(x)) / 2.0;
      case Activation::relu2:
        return (x + abs(x)) * x / 2.0;
      case Activation::quick_gelu:
        return x * sigmoid(x * 1.702);
      case Activation::silu:
        return x * sigmoid(x);
      case Activation::tanh:
        return tanh(x);
      case Activation::gelu_tanh:
        return x * 0.5 * (tanh((x + x * x * x * 0.044715) * std::sqrt(2 / std::numbers::pi)) + 1.0);
      default:
        return gelu(x);
    }
  }
  static Tensor capped(const Tensor& x, double cap) { return cap > 0 ? tanh(x / cap) * cap : x; }
  /// Returns the logits of the vocabulary for states (..., width of its rows).
  Tensor logits(const Tensor& states, const LogitsConfig& logits) const {
    const Tensor words = of_[logits.tied ? "words.weight" : "unembedding"];
    const bool fits = states.size(-1) == words.size(1);
    Tensor y = matmul(fits ? states : product("output_projection", states), transpose(words)) * logits.scale;
    if (logits.bias) y = y + of_["output_bias"];
    return capped(y, logits.soft_cap);
  }

 private:
  Tensor rows(const std::string& name, const Ids& ids) const { return embedding(of_[name + ".weight"], ids); }
  static Ids counted(std::int64_t T, int first) {
    std::vector<std::int32_t> ids;
    for (int t = 0; t < T; ++t) ids.push_back(first + t);
    return Ids({T}, ids);
  }
  Tensor sinusoids(std::int64_t T) const {
    std::vector<double> values;
    for (int t = 0; t < T; ++t) {
      for (int i = 0; i < config_.summed(); ++i) {
        const double angle = t * std::pow(10000, -(i - i % 2) / static_cast<double>(config_.summed()));
        values.push_back(i % 2 ? std::cos(angle) : std::sin(angle));
      }
    }
    return tensor({T, config_.summed()}, values, DType::float64);
  }

  double frequency(int pair, int rotated, double window_base) const {
    const RotaryConfig& c = config_.rotary;
    if (window_base > 0) return std::pow(window_base, -2.0 * pair / rotated);
    const double divisor = c.divisors.empty() ? 1 : c.divisors[static_cast<std::size_t>(pair)];
    return scaled(std::pow(c.base, -2.0 * pair / rotated)) / divisor;
  }

  double scaled(double plain) const {
    const RotaryConfig& c = config_.rotary;
    if (c.scaling == RotaryScaling::none) return plain;
    if (c.scaling == RotaryScaling::linear) return plain / c.factor;
    const double wavelength = 2 * std::numbers::pi / plain;
    if (wavelength > c.original_length / c.low_frequency) return plain / c.factor;
    if (wavelength < c.original_length / c.high_frequency) return plain;
    const double smooth = (c.original_length / wavelength - c.low_frequency) / (c.high_frequency - c.low_frequency);
    return (1 - smooth) * plain / c.factor + smooth * plain;
  }

  // Rotates x (B, H, T, d): x C + (x P) S, where P exchanges the features of each pair and negates one.
  Tensor rotated(const Tensor& x, double window_base) const {
    const auto T = static_cast<std::size_t>(x.size(2)), d = static_cast<std::size_t>(x.size(3));
    const std::size_t pairs = static_cast<std::size_t>(config_.rotary.fraction * static_cast<double>(d) / 2);
    const double amplitude = window_base > 0 ? 1 : config_.rotary.amplitude;
    std::vector<double> C(T * d, 1), S(T * d, 0), P(d * d, 0);
    for (std::size_t i = 0; i < pairs; ++i) {
      const bool halves = config_.rotary.pairs == RotaryPairs::halves;
      const std::size_t a = halves ? i : 2 * i, b = halves ? i + pairs : 2 * i + 1;
      P[b * d + a] = -1, P[a * d + b] = 1;
      for (std::size_t t = 0; t < T; ++t) {
        const double angle =
            static_cast<double>(t) * frequency(static_cast<int>(i), static_cast<int>(2 * pairs), window_base);
        C[t * d + a] = C[t * d + b] = amplitude * std::cos(angle);
        S[t * d + a] = S[t * d + b] = amplitude * std::sin(angle);
      }
    }
    const Shape table{x.size(2), x.size(3)}, square{x.size(3), x.size(3)};
    return x * tensor(table, C, DType::float64) +
           matmul(x, tensor(square, P, DType::float64)) * tensor(table, S, DType::float64);
  }

  // Returns which keys are hidden from which queries: (B, 1, T, T).
  Booleans hidden(const Batch& texts, int window) const {
    const std::int64_t B = texts.tokens.shape()[0], T = texts.tokens.shape()[1];
    std::vector<std::uint8_t> result;
    for (std::int64_t b = 0; b < B; ++b) {
      const std::int64_t length = texts.lengths.empty() ? T : texts.lengths[static_cast<std::size_t>(b)];
      for (std::int64_t query = 0; query < T; ++query) {
        for (std::int64_t key = 0; key < T; ++key) {
          const bool is_seen = config_.causal ? key <= query : key < length;
          result.push_back(!is_seen || (window > 0 && std::abs(query - key) >= window));
        }
      }
    }
    return Booleans({B, 1, T, T}, std::move(result));
  }

  Tensor attention(const std::string& name, const Tensor& x, const Batch& texts, int window, int layer) const {
    const AttentionConfig& a = config_.block.attention;
    const int kv_heads = a.kv_heads > 0 ? a.kv_heads : a.heads;
    const int d_k = a.d_k > 0 ? a.d_k : a.d_model / a.heads, d_v = a.d_v > 0 ? a.d_v : a.d_model / a.heads;
    const std::int64_t B = x.size(0), T = x.size(1);
    const std::string W_Q = name + ".W_Q", W_K = a.tie == Tie::Q_is_K ? W_Q : name + ".W_K";
    const std::string W_V = a.tie == Tie::K_is_V ? W_K : name + ".W_V";
    const auto split = [&](const Tensor& y, int heads, int d) { return transpose(reshape(y, {B, T, heads, d}), 1, 2); };
    const double window_base = window > 0 ? config_.window_rotary_base : 0;
    const auto made = [&](const std::string& W, const std::string& norm, int heads) {
      Tensor y = product(W, x);
      if (a.query_key_norm == QueryKeyNorm::all) y = normalised(norm, y, a.query_key);
      y = split(y, heads, d_k);
      if (a.query_key_norm == QueryKeyNorm::heads) y = normalised(norm, y, a.query_key);
      const bool is_rotated =
          config_.positions == Positions::rotary && std::ranges::count(config_.unrotated_layers, layer) == 0;
      return is_rotated ? rotated(y, window_base) : y;
    };
    const Tensor Q = made(W_Q, name + ".q_norm", a.heads), K = made(W_K, name + ".k_norm", kv_heads);
    const Tensor V = split(product(W_V, x), kv_heads, d_v);
    const double scale = (a.scale > 0 ? a.scale : 1 / std::sqrt(static_cast<double>(d_k))) /
                         (config_.divide_scores_by_layer ? layer + 1 : 1);
    std::vector<Tensor> heads;
    for (int h = 0; h < a.heads; ++h) {
      const int kv = h / (a.heads / kv_heads);
      const Tensor scores = matmul(slice(Q, 1, h, h + 1), transpose(slice(K, 1, kv, kv + 1))) * scale;
      const Tensor seen = masked_fill(capped(scores, a.soft_cap), hidden(texts, window), -1e300);
      heads.push_back(reshape(matmul(softmax(seen), slice(V, 1, kv, kv + 1)), {B, T, d_v}));
    }
    return product(name + ".W_O", concat(heads, 2));
  }

  Tensor mlp(const std::string& name, const Tensor& x) const {
    const Activation activation = config_.block.mlp.activation;
    const Tensor in = product(name + ".in", x);
    const bool is_gated = of_.contains(name + ".gate.weight");
    return product(name + ".out",
                   is_gated ? function(activation, product(name + ".gate", x)) * in : function(activation, in));
  }

  Tensor block(int layer, const Tensor& x, const Batch& texts) const {
    const BlockConfig& b = config_.block;
    const std::string name = "encoder." + std::to_string(config_.shared_layers ? 0 : layer), of_mlp = name + ".mlp";
    const bool is_last = layer + 1 == config_.layers;
    const int every = config_.full_attention_every;
    const std::vector<int>& full = config_.full_attention_layers;
    const bool is_full =
        (every > 0 && (layer + 1) % every == 0) || std::find(full.begin(), full.end(), layer) != full.end();
    const int window = is_full ? 0 : b.attention.window;
    const auto norm = [&](const std::string& of, const Tensor& y) { return normalised(of, y, b.norm); };
    const auto attended = [&](const Tensor& y) { return attention(name + ".attention", y, texts, window, layer); };
    const bool reads_norm = b.attention_norm && (layer > 0 || config_.first_attention_norm);
    const double s = b.residual_scale;
    const Tensor residual = is_last && !config_.last_residual ? zeros(x.shape(), DType::float64) : x;
    const bool has_mlp = b.mlp.width > 0;
    const std::string first = name + ".attention_norm", second = b.shared_norm ? first : of_mlp + ".norm";
    if (b.placement == NormPlacement::before) {
      const Tensor y = residual + attended(reads_norm ? norm(first, x) : x) * s;
      return has_mlp ? y + mlp(of_mlp, norm(second, b.parallel ? x : y)) * s : y;
    }
    if (b.placement == NormPlacement::after) {
      const Tensor y = norm(first, residual + attended(x) * s);
      return has_mlp ? norm(second, y + mlp(of_mlp, y) * s) : y;
    }
    if (b.placement == NormPlacement::output) {
      const Tensor y = residual + norm(first, attended(x)) * s;
      return has_mlp ? y + norm(second, mlp(of_mlp, y)) * s : y;
    }
    const Tensor read = reads_norm ? norm(first, x) : x;
    const Tensor y = residual + norm(name + ".output_attention_norm", attended(read)) * s;
    return has_mlp ? y + norm(of_mlp + ".output_norm", mlp(of_mlp, norm(second, y))) * s : y;
  }

  const TransformerConfig& config_;
  const Parameters& of_;
};

/// Returns the logits of `config`'s model for the questions by the same formulas: (B, answers).
inline Tensor reference_logits(const ModelConfig& config, const Parameters& parameters, const Batch& asked) {
  const TransformerConfig& shape = config.transformer;
  const Reference reference(shape, parameters);
  const auto [output, last_input] = reference(asked);
  const bool has_classes = config.head == HeadKind::text_class;
  const Tensor state =
      select_rows(output, has_classes ? Ids(asked.query.shape(), std::vector<std::int32_t>(asked.query.numel()))
                                      : asked.query);  // (B, d_model)
  if (config.head == HeadKind::masked_token && config.transform) {
    const Tensor hidden = Reference::function(config.activation, reference.product("transform.dense", state));
    return reference.logits(reference.normalised("transform.norm", hidden, shape.block.norm), config.logits);
  }
  if (has_classes) {
    Tensor hidden = state;
    if (config.transform) hidden = Reference::function(config.activation, reference.product("pooler.dense", state));
    if (config.transform && config.transform_norm)
      hidden = reference.normalised("pooler.norm", hidden, shape.block.norm);
    return reference.product("classifier", hidden);
  }
  if (config.head != HeadKind::candidate) return reference.logits(state, config.logits);
  const std::int64_t B = asked.size(), C = asked.candidates.shape()[1], d = shape.d_model();
  const Tensor sought = matmul(state, parameters["candidates.pointer.weight"]) / std::sqrt(static_cast<double>(d));
  std::vector<Tensor> texts;
  for (std::int64_t b = 0; b < B; ++b) {
    const Tensor centred = last_input - mean(last_input, {-1}, true);
    const Tensor plain = slice(centred / sqrt(mean(square(centred), {-1}, true) + 1e-5), 0, b, b + 1);  // (1, T, d)
    std::vector<Tensor> logits;
    const auto logit = [&](const Tensor& candidate) {
      return reshape(sum(reshape(slice(sought, 0, b, b + 1), {d}) * candidate), {1, 1});
    };
    for (std::int64_t c = 0; c < C; ++c) {
      const std::int64_t begin = asked.candidates[2 * (b * C + c)], end = asked.candidates[2 * (b * C + c) + 1];
      logits.push_back(begin < 0 ? full({1, 1}, -1e30, DType::float64)
                                 : logit(mean(slice(plain, 1, begin, end), {0, 1})));
    }
    if (config.or_none) logits.push_back(logit(parameters["candidates.none"]));
    texts.push_back(concat(logits, 1));
  }
  return concat(texts, 0);
}

}  // namespace heed
