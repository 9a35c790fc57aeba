#include "formats/hugging_face/family.h"

#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace heed {

TensorNames& TensorNames::add(TensorName name) {
  name.is_of_head = name.is_of_head || is_in_head_;
  push_back(std::move(name));
  return *this;
}

TensorNames& TensorNames::head() {
  is_in_head_ = true;
  return *this;
}

TensorNames& TensorNames::same(const std::string& theirs, const std::string& ours, const std::string& unless) {
  return add({theirs, {ours}, Layout::same, false, unless});
}

TensorNames& TensorNames::norm(const std::string& theirs, const std::string& ours) {
  return same(theirs + ".weight", ours + ".gain").same(theirs + ".bias", ours + ".bias");
}

namespace {

// "W_Q" and "W_K" -> "W_Q.bias" and "W_K.bias"
std::vector<std::string> with_ending(const std::vector<std::string>& names, const char* ending) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(name + ending);
  return result;
}

}  // namespace

TensorNames& TensorNames::linear(const std::string& theirs, const std::vector<std::string>& ours) {
  add({theirs + ".weight", with_ending(ours, ".weight"), Layout::transposed});
  return add({theirs + ".bias", with_ending(ours, ".bias"), Layout::same});
}

TensorNames& TensorNames::linear_in_out(const std::string& theirs, const std::vector<std::string>& ours) {
  add({theirs + ".weight", with_ending(ours, ".weight"), Layout::same});
  return add({theirs + ".bias", with_ending(ours, ".bias"), Layout::same});
}

TensorNames& TensorNames::linear_by_head(const std::string& theirs, const std::vector<std::string>& ours) {
  add({theirs + ".weight", with_ending(ours, ".weight"), Layout::by_head_transposed});
  return add({theirs + ".bias", with_ending(ours, ".bias"), Layout::by_head});
}

TensorNames& TensorNames::logits(const std::string& theirs) {
  add({theirs, {"unembedding"}, Layout::same, true});
  return add({theirs, {"words.weight"}, Layout::same, true});
}

TensorNames& TensorNames::candidates() {
  return linear("candidates.pointer", {"candidates.pointer"}).same("candidates.none", "candidates.none");
}

TensorNames& TensorNames::classes(const Classifier& names) {
  if (!names.dense.empty()) linear(names.dense, {"pooler.dense"});
  return linear(names.logits, {"classifier"});
}

TransformerConfig read_sizes(ConfigReader& json, TransformerConfig (*preset)(int layers, int heads, int d_model)) {
  TransformerConfig config = preset(json.integer("num_hidden_layers", 1), json.integer("num_attention_heads", 1),
                                    json.integer("hidden_size", 1));
  config.vocabulary = json.integer("vocab_size", 1);
  config.max_length = json.integer("max_position_embeddings", 1);
  return config;
}

void check_key_heads(ConfigReader& json, AttentionConfig& attention) {
  if (attention.heads % attention.keys() == 0) return;
  json.note("'num_key_value_heads' must divide num_attention_heads");
  attention.kv_heads = 1;
}

void set_windows(TransformerConfig& config, int window, const std::vector<bool>& slides) {
  if (std::ranges::find(slides, true) == slides.end()) return;
  config.block.attention.window = window;
  for (int layer = 0; layer < config.layers; ++layer) {
    if (!slides[static_cast<std::size_t>(layer)]) config.full_attention_layers.push_back(layer);
  }
}

void read_windows(ConfigReader& json, TransformerConfig& config, const std::function<bool(int)>& is_sliding,
                  std::optional<int> given) {
  std::vector<bool> slides;
  const int window = given ? *given : json.integer("sliding_window", 1, 0, Null::missing);
  const Json* types = json.find("layer_types");
  const auto count = static_cast<std::size_t>(config.layers);
  if (types && (!types->is_array() || types->size() != count)) {
    json.note(fmt::format("'layer_types' must be a list of {} kinds, one per layer", count));
    return;
  }
  for (int layer = 0; layer < config.layers; ++layer) {
    if (!types) {
      slides.push_back(is_sliding(layer));
      continue;
    }
    const Json& type = (*types)[static_cast<std::size_t>(layer)];
    slides.push_back(type == "sliding_attention");
    if (slides.back() || type == "full_attention") continue;
    json.note(
        fmt::format("'layer_types': expected full_attention or sliding_attention, got {}", excerpt(format_json(type))));
  }
  if (window == 0 && std::ranges::find(slides, true) != slides.end()) json.note("'sliding_window' is missing");
  set_windows(config, window, slides);
}

namespace {

// Adds the classifier of decoders, which has one name in all of them.
std::vector<Family> with_classes_of_decoders(std::vector<Family> families) {
  for (Family& family : families) {
    const auto is_classifier = [](const TensorName& names) { return names.ours[0] == "classifier.weight"; };
    if (std::ranges::none_of(family.tensors, is_classifier)) family.tensors.head().classes({"", "score"});
  }
  return families;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = with_classes_of_decoders(
      {bert_family(),       megatron_bert_family(), distilbert_family(), electra_family(), albert_family(),
       modernbert_family(), roberta_family(),       gpt2_family(),       gpt_neo_family(), gpt_neox_family(),
       opt_family(),        starcoder2_family(),    stablelm_family(),   phi_family(),     llama_family(),
       arcee_family(),      granite_family(),       smollm3_family(),    mistral_family(), qwen2_family(),
       qwen3_family(),      olmo2_family(),         olmo3_family(),      phi3_family(),    gemma_family(),
       gemma2_family(),     gemma3_family()});
  return all;
}

const Family& family_of(ConfigReader& json) {
  const Json* const given = json.find("model_type");
  const std::string type = !given ? "" : given->is_string() ? given->get<std::string>() : format_json(*given);
  std::vector<std::string> known;
  for (const Family& family : families()) {
    for (const std::string& name : family.model_types) {
      if (name == type) return family;
      known.push_back(name);
    }
  }
  const std::string got =
      type.empty() ? "; it is missing" : fmt::format(", got '{}'{}", excerpt(type), did_you_mean(type, known));
  fail("{}: 'model_type' must be one of {}{}", json.source(), fmt::join(known, ", "), got);
}

std::string of_layer(const std::string& pattern, int layer) {
  const std::size_t at = pattern.find("{}");
  return at == pattern.npos ? pattern : fmt::format("{}{}{}", pattern.substr(0, at), layer, pattern.substr(at + 2));
}

std::string plain_name(const Family& family, std::string name) {
  for (const std::string& prefix : family.prefixes) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  if (name.ends_with(".gamma")) name.replace(name.size() - 6, 6, ".weight");
  if (name.ends_with(".beta")) name.replace(name.size() - 5, 5, ".bias");
  return name;
}

Tensor side_by_side(const Tensor& theirs, Layout layout, std::int64_t parameters, std::int64_t heads) {
  Tensor t = theirs;
  if (layout == Layout::by_head || layout == Layout::by_head_transposed) {
    const Shape shape = t.shape();
    const std::int64_t rows = shape[0] / (heads * parameters);
    t = reshape(transpose(reshape(t, {heads, parameters, rows * (t.numel() / shape[0])}), 0, 1), shape);
  }
  const bool is_transposed = layout == Layout::transposed || layout == Layout::by_head_transposed;
  return is_transposed ? transpose(t) : t;
}

Tensor stored_tensor(std::vector<Tensor> parameters, Layout layout, std::int64_t heads) {
  Tensor t = parameters[0];
  if (parameters.size() > 1) {
    for (Tensor& parameter : parameters) {
      if (is_in_blocks(parameter.dtype())) parameter = parameter.to(DType::float32);
    }
    t = concat(parameters, static_cast<int>(t.rank()) - 1);
  }
  if (layout == Layout::transposed || layout == Layout::by_head_transposed) t = transpose(t);
  if (layout == Layout::by_head || layout == Layout::by_head_transposed) {
    const Shape shape = t.shape();
    const auto count = static_cast<std::int64_t>(parameters.size());
    const std::int64_t rows = shape[0] / (heads * count);
    t = reshape(transpose(reshape(contiguous(t), {count, heads, rows * (t.numel() / shape[0])}), 0, 1), shape);
  }
  return t;
}

}  // namespace heed
