#include "models/formats/hugging_face/family.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

namespace heed {

TensorNames& TensorNames::same(const std::string& theirs, const std::string& ours) {
  push_back({theirs, {ours}, Layout::same});
  return *this;
}

TensorNames& TensorNames::norm(const std::string& theirs, const std::string& ours) {
  return same(theirs + ".weight", ours + ".gain").same(theirs + ".bias", ours + ".bias");
}

namespace {

void add_linear(TensorNames& names, const std::string& theirs, const std::vector<std::string>& ours, Layout weight,
                Layout bias) {
  TensorName of_weight{theirs + ".weight", {}, weight}, of_bias{theirs + ".bias", {}, bias};
  for (const std::string& name : ours) {
    of_weight.ours.push_back(name + ".weight");
    of_bias.ours.push_back(name + ".bias");
  }
  names.push_back(of_weight);
  names.push_back(of_bias);
}

}  // namespace

TensorNames& TensorNames::linear(const std::string& theirs, const std::vector<std::string>& ours) {
  add_linear(*this, theirs, ours, Layout::transposed, Layout::same);
  return *this;
}

TensorNames& TensorNames::linear_in_out(const std::string& theirs, const std::vector<std::string>& ours) {
  add_linear(*this, theirs, ours, Layout::same, Layout::same);
  return *this;
}

TensorNames& TensorNames::linear_by_head(const std::string& theirs, const std::vector<std::string>& ours) {
  add_linear(*this, theirs, ours, Layout::by_head_transposed, Layout::by_head);
  return *this;
}

TensorNames& TensorNames::logits(const std::string& theirs) {
  return same(theirs, "unembedding").same(theirs, "words.weight");
}

void read_windows(ConfigReader& json, TransformerConfig& config, const std::function<bool(int)>& is_sliding) {
  std::vector<int> full;
  int sliding = 0;
  const Json* types = json.find("layer_types");
  const auto count = static_cast<std::size_t>(config.layers);
  if (types && (!types->is_array() || types->size() != count)) {
    json.note(fmt::format("'layer_types' must be a list of {} kinds, one per layer", count));
    return;
  }
  for (int layer = 0; layer < config.layers; ++layer) {
    bool slides = false;
    if (!types) {
      slides = is_sliding(layer);
    } else if (const Json& type = (*types)[static_cast<std::size_t>(layer)]; type == "sliding_attention") {
      slides = true;
    } else if (type != "full_attention") {
      json.note(fmt::format("'layer_types': expected full_attention or sliding_attention, got {}",
                            excerpt(format_json(type))));
    }
    slides ? static_cast<void>(++sliding) : full.push_back(layer);
  }
  const int window = json.integer("sliding_window", 1, 0);
  if (sliding == 0) return;
  if (window == 0) json.note("'sliding_window' is missing");
  config.block.attention.window = window;
  config.full_attention_layers = full;
}

const std::vector<Family>& families() {
  static const std::vector<Family> all{bert_family(),     distilbert_family(), roberta_family(), gpt2_family(),
                                       gpt_neox_family(), llama_family(),      mistral_family(), qwen2_family(),
                                       qwen3_family(),    olmo2_family(),      phi3_family(),    gemma2_family(),
                                       gemma3_family()};
  return all;
}

}  // namespace heed
