#include "inspect/page/computed_fields.h"

#include "formats/internal/config_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace heed {
namespace {

// The fields that inspect/page/model.js computes, by their place in to_json(): with any value, or with the names listed.
const std::map<std::string, std::vector<std::string>>& computed_fields() {
  static const std::vector<std::string> kinds{"layer", "rms"};
  static const std::vector<std::string> block_kinds{"layer", "rms", "none"};
  static const std::vector<std::string> functions{"gelu", "gelu_tanh", "quick_gelu", "relu", "relu2", "silu", "tanh"};
  static const std::map<std::string, std::vector<std::string>> fields{
      {"/kind", {"word_answerer", "candidate_chooser", "language_model", "masked_language_model", "bare_transformer"}},
      {"/or_none", {}},
      {"/numbered_sentences", {}},
      {"/logits/tied", {}},
      {"/logits/bias", {}},
      {"/logits/soft_cap", {}},
      {"/transform", {}},
      {"/activation", functions},
      {"/transform_bias", {}},
      {"/transformer/max_length", {}},
      {"/transformer/segments", {}},
      {"/transformer/layers", {}},
      {"/transformer/causal", {}},
      {"/transformer/embedding_scale", {}},
      {"/transformer/embedding_norm", {}},
      {"/transformer/positions", {"none", "learned", "sinusoidal", "rotary"}},
      {"/transformer/position_offset", {}},
      {"/transformer/rotary/base", {}},
      {"/transformer/rotary/fraction", {}},
      {"/transformer/rotary/pairs", {"halves", "neighbours"}},
      {"/transformer/rotary/scaling", {"none", "linear", "llama3"}},
      {"/transformer/rotary/factor", {}},
      {"/transformer/rotary/low_frequency", {}},
      {"/transformer/rotary/high_frequency", {}},
      {"/transformer/rotary/original_length", {}},
      {"/transformer/rotary/divisors", {}},
      {"/transformer/rotary/amplitude", {}},
      {"/transformer/block/attention/d_model", {}},
      {"/transformer/block/attention/heads", {}},
      {"/transformer/block/attention/kv_heads", {}},
      {"/transformer/block/attention/d_k", {}},
      {"/transformer/block/attention/d_v", {}},
      {"/transformer/block/attention/bias", {}},
      {"/transformer/block/attention/output_bias", {}},
      {"/transformer/block/attention/tie", {"none", "K_is_V", "Q_is_K"}},
      {"/transformer/block/attention/query_key_norm", {"none", "heads", "all"}},
      {"/transformer/block/attention/query_key/kind", kinds},
      {"/transformer/block/attention/query_key/epsilon", {}},
      {"/transformer/block/attention/query_key/gain_offset", {}},
      {"/transformer/block/attention/query_key/bias", {}},
      {"/transformer/block/attention/scale", {}},
      {"/transformer/block/attention/soft_cap", {}},
      {"/transformer/block/attention/window", {}},
      {"/transformer/block/mlp/width", {}},
      {"/transformer/block/mlp/activation", functions},
      {"/transformer/block/mlp/gated", {}},
      {"/transformer/block/mlp/bias", {}},
      {"/transformer/block/norm/kind", block_kinds},
      {"/transformer/block/norm/epsilon", {}},
      {"/transformer/block/norm/gain_offset", {}},
      {"/transformer/block/norm/bias", {}},
      {"/transformer/block/placement", {"before", "after", "output", "both"}},
      {"/transformer/block/parallel", {}},
      {"/transformer/block/shared_norm", {}},
      {"/transformer/block/attention_norm", {}},
      {"/transformer/full_attention_every", {}},
      {"/transformer/full_attention_layers", {}},
      {"/transformer/window_rotary_base", {}},
      {"/transformer/unrotated_layers", {}},
      {"/transformer/divide_scores_by_layer", {}},
      {"/transformer/first_attention_norm", {}},
      {"/transformer/last_residual", {}},
      {"/transformer/final_norm", {}}};
  return fields;
}

bool is_computed(const std::string& field, const Json& value) {
  const auto found = computed_fields().find(field);
  if (found == computed_fields().end()) return false;
  return found->second.empty() ||
         std::ranges::any_of(found->second, [&](const std::string& name) { return value == name; });
}

// Looks for the first such field of `given`, an object at `place` of a configuration.
std::string first_uncomputed(const Json& given, const Json& defaults, const std::string& place) {
  for (const auto& [name, value] : given.items()) {
    const std::string field = place + "/" + name;
    if (value.is_object()) {
      if (std::string found = first_uncomputed(value, defaults.at(name), field); !found.empty()) return found;
    } else if (!is_computed(field, value) && value != defaults.at(name)) {
      std::string shown = field.substr(1);
      std::ranges::replace(shown, '/', '.');
      return fmt::format("{} = {}", shown, format_json(value));
    }
  }
  return "";
}

}  // namespace

std::string uncomputed_field(const ModelConfig& config) {
  return first_uncomputed(to_json(config), to_json(ModelConfig::of(config.head)), "");
}

}  // namespace heed
