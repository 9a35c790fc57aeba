#include "autograd/half.h"
#include "models/formats/config_json.h"
#include "models/formats/hugging_face/family.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/files/file.h>
#include <heed/files/safetensors.h>
#include <heed/models/formats/hugging_face.h>
#include <heed/models/reading.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace heed {
namespace {

namespace fs = std::filesystem;

// Returns a tensor of the file that holds the parameters side by side along the last axis: a view of them, where it can be one.
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

// Returns all parameters under the names of the family. The first name of each parameter counts.
NamedTensors named_by(const Family& family, const SavedModel& model) {
  const auto* masked = std::get_if<MaskedLanguageModel>(&*model.network);
  const bool is_untied = masked && !masked->config.logits.tied;
  const std::string prefix = predicts_tokens(*model.network) ? family.prefixes[0] : "";
  NamedTensors tensors;
  std::unordered_set<std::string> done;
  for (const TensorName& names : family.tensors) {
    const bool is_layered = names.theirs.find("{}") != std::string::npos;
    for (int layer = 0; layer < (is_layered ? model.layers() : 1); ++layer) {
      std::vector<Tensor> parts;
      for (const std::string& ours : names.ours) {
        const std::string name = of_layer(ours, layer);
        if (!model.parameters.contains(name) || !done.insert(name).second) break;
        parts.push_back(model.parameters[name]);
        if (is_untied && !names.unless.empty()) done.erase(name);  // transformers reads the other name, which follows
      }
      if (parts.size() != names.ours.size()) continue;
      tensors.emplace_back((names.is_of_head ? "" : prefix) + of_layer(names.theirs, layer),
                           stored_tensor(parts, names.layout, model.heads()));
    }
  }
  std::vector<std::string> left;
  for (const auto& [name, value] : model.parameters) {
    if (!done.contains(name)) left.push_back(name);
  }
  if (!left.empty()) fail("export: the format of {} cannot hold {}", family.model_types[0], listed(left, ", ", 10));
  return tensors;
}

std::string_view hugging_face_name(Activation activation) { return function_of(activation).in_config_json[0]; }

// Returns the configuration in GPT-2's terms. The caller checks that it is complete.
Json gpt2_json(const TransformerConfig& t, const LogitsConfig& logits) {
  return {{"model_type", "gpt2"},
          {"architectures", {"GPT2LMHeadModel"}},
          {"vocab_size", t.vocabulary},
          {"n_positions", t.max_length},
          {"n_embd", t.d_model()},
          {"n_layer", t.layers},
          {"n_head", t.heads()},
          {"n_inner", t.block.mlp.width},
          {"activation_function", hugging_face_name(t.block.mlp.activation)},
          {"layer_norm_epsilon", t.block.norm.epsilon},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"tie_word_embeddings", logits.tied},
          {"dtype", "float32"}};
}

// Returns the same for LLaMA.
Json llama_json(const TransformerConfig& t, const LogitsConfig& logits) {
  const AttentionConfig attention = t.block.attention.complete();
  Json rope = {{"rope_type", "default"}, {"rope_theta", t.rotary.base}};
  if (t.rotary.scaling == RotaryScaling::linear) {
    rope["rope_type"] = "linear", rope["factor"] = t.rotary.factor;
  } else if (t.rotary.scaling == RotaryScaling::llama3) {
    rope = {{"rope_type", "llama3"},
            {"rope_theta", t.rotary.base},
            {"factor", t.rotary.factor},
            {"low_freq_factor", t.rotary.low_frequency},
            {"high_freq_factor", t.rotary.high_frequency},
            {"original_max_position_embeddings", t.rotary.original_length}};
  }
  return {{"model_type", "llama"},
          {"architectures", {"LlamaForCausalLM"}},
          {"vocab_size", t.vocabulary},
          {"max_position_embeddings", t.max_length},
          {"hidden_size", t.d_model()},
          {"num_hidden_layers", t.layers},
          {"num_attention_heads", t.heads()},
          {"num_key_value_heads", attention.keys()},
          {"head_dim", attention.d_k},
          {"intermediate_size", t.block.mlp.width},
          {"hidden_act", hugging_face_name(t.block.mlp.activation)},
          {"rms_norm_eps", t.block.norm.epsilon},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"attention_bias", attention.bias == Bias::yes},
          {"mlp_bias", t.block.mlp.bias == Bias::yes},
          {"rope_parameters", rope},
          {"tie_word_embeddings", logits.tied},
          {"dtype", "float32"}};
}

bool has_window(const TransformerConfig& t, int layer) { return t.block_at(layer).attention.window > 0; }

// Returns the same for Mistral, a LLaMA whose layers all have a sliding window.
Json mistral_json(const TransformerConfig& t, const LogitsConfig& logits) {
  Json json = llama_json(t, logits);
  json["model_type"] = "mistral";
  json["architectures"] = {"MistralForCausalLM"};
  json["sliding_window"] = t.block.attention.window;
  for (const char* key : {"attention_bias", "mlp_bias"}) json.erase(key);
  return json;
}

// Returns the same for Qwen3, a LLaMA that normalises the queries and keys of each head. Its layers may have windows.
Json qwen3_json(const TransformerConfig& t, const LogitsConfig& logits) {
  Json json = llama_json(t, logits);
  json["model_type"] = "qwen3";
  json["architectures"] = {"Qwen3ForCausalLM"};
  json.erase("mlp_bias");
  if (t.block.attention.window == 0) return json;
  json["use_sliding_window"] = true;
  json["sliding_window"] = t.block.attention.window;
  for (int layer = 0; layer < t.layers; ++layer)
    json["layer_types"].push_back(has_window(t, layer) ? "sliding_attention" : "full_attention");
  return json;
}

// Returns the same for a masked language model in BERT's terms.
Json bert_json(const TransformerConfig& t, const LogitsConfig& logits) {
  return {{"model_type", "bert"},
          {"architectures", {"BertForMaskedLM"}},
          {"vocab_size", t.vocabulary},
          {"max_position_embeddings", t.max_length},
          {"type_vocab_size", t.segments},
          {"hidden_size", t.d_model()},
          {"num_hidden_layers", t.layers},
          {"num_attention_heads", t.heads()},
          {"intermediate_size", t.block.mlp.width},
          {"hidden_act", hugging_face_name(t.block.mlp.activation)},
          {"layer_norm_eps", t.block.norm.epsilon},
          {"pad_token_id", nullptr},
          {"tie_word_embeddings", logits.tied},
          {"dtype", "float32"}};
}

// Returns the same for one that normalises before each part.
Json megatron_bert_json(const TransformerConfig& t, const LogitsConfig& logits) {
  Json json = bert_json(t, logits);
  json["model_type"] = "megatron-bert";
  json["architectures"] = {"MegatronBertForMaskedLM"};
  return json;
}

// Returns the configuration with all defaults filled in, and without fields that do not apply, so that equal models
// have equal ones.
template <class Config>
Json comparable(Config config) {
  TransformerConfig& t = config.transformer;
  t.block.attention = t.block.attention.complete();
  const RotaryConfig used = t.rotary;
  if (t.positions != Positions::rotary) t.rotary = {};
  if (used.scaling == RotaryScaling::none) t.rotary.factor = 1;
  if (used.scaling != RotaryScaling::llama3) {
    t.rotary.low_frequency = RotaryConfig().low_frequency, t.rotary.high_frequency = RotaryConfig().high_frequency;
    t.rotary.original_length = RotaryConfig().original_length;
  }
  if (t.block.attention.query_key_norm == QueryKeyNorm::none) t.block.attention.query_key = {};
  if (t.block.attention.scale == 0) t.block.attention.scale = 1 / std::sqrt(1.0 * t.block.attention.d_k);
  std::vector<int> full;
  for (int layer = 0; layer < t.layers; ++layer) {
    if (!has_window(t, layer)) full.push_back(layer);
  }
  if (t.block.attention.window == 0) t.window_rotary_base = 0;
  t.full_attention_every = 0;
  t.full_attention_layers = t.block.attention.window > 0 ? full : std::vector<int>();
  return to_json(config);
}

// The families of heed's own models.
enum class Nearest { bert, megatron_bert, gpt2, llama, mistral, qwen3 };
constexpr struct {
  const char* name;
  Json (*config_json)(const TransformerConfig& t, const LogitsConfig& logits);
} nearest_families[] = {{"BERT", bert_json},       {"Megatron BERT", megatron_bert_json},
                        {"GPT-2", gpt2_json},      {"LLaMA", llama_json},
                        {"Mistral", mistral_json}, {"Qwen3", qwen3_json}};

Nearest nearest_family(const Model& network) {
  const TransformerConfig& t = transformer_of(network).config;
  if (std::holds_alternative<MaskedLanguageModel>(network))
    return t.block.placement == NormPlacement::before ? Nearest::megatron_bert : Nearest::bert;
  if (t.block.attention.query_key_norm == QueryKeyNorm::heads) return Nearest::qwen3;
  if (t.positions != Positions::rotary && t.block.norm.kind != NormKind::rms) return Nearest::gpt2;
  return t.block.attention.window > 0 ? Nearest::mistral : Nearest::llama;
}

// Returns heed's own model with the parameters that its family cannot leave out. BERT and GPT-2 have a bias in every linear
// layer, and LLaMA has them in all layers of an attention or in none; BERT has token types. Those that the model lacks
// are 0, which changes no logit.
SavedModel with_parts_of_family(const SavedModel& model) {
  ModelConfig all = config_of(*model.network);
  TransformerConfig* const shape = std::visit(
      []<class Config>(Config& config) -> TransformerConfig* {
        constexpr bool has_family =
            std::is_same_v<Config, LanguageModelConfig> || std::is_same_v<Config, MaskedLanguageModelConfig>;
        return has_family ? &config.transformer : nullptr;
      },
      all);
  if (!shape) {
    fail(
        "export: transformers has no class for this model; of heed's own models it has classes for language models and "
        "masked language models");
  }
  BlockConfig& block = shape->block;
  const Nearest family = nearest_family(*model.network);
  const bool is_bert = family == Nearest::bert || family == Nearest::megatron_bert;
  const bool has_all_biases = is_bert || family == Nearest::gpt2;
  if (is_bert) shape->segments = std::max(1, shape->segments);
  if (has_all_biases) block.mlp.bias = Bias::yes;
  if (has_all_biases || block.attention.bias == Bias::yes)
    block.attention.bias = block.attention.output_bias = Bias::yes;
  if (block.attention.output_bias == Bias::yes) block.attention.bias = Bias::yes;
  const auto take = [&](const std::string& name, const Shape& of) {
    return model.parameters.contains(name) ? model.parameters[name] : zeros(of, DType::float32);
  };
  SavedModel result;
  result.network = make_model(Scope(result.parameters, DType::float32, take), all);
  return result;
}

// Throws Error that names the fields of `given` whose values differ in `back`.
void check_equal(const Json& given, const Json& back, Nearest family) {
  std::vector<std::string> different;
  const Json one = given.flatten(), other = back.flatten();
  for (const auto& [name, value] : one.items()) {
    if (other.contains(name) && other.at(name) == value) continue;
    different.push_back(fmt::format("{}: {} (there {})", name.substr(1), format_json(value),
                                    other.contains(name) ? format_json(other.at(name)) : "none"));
  }
  if (different.empty()) return;
  fail("export: the model differs from {}, the nearest family: {}", nearest_families[static_cast<int>(family)].name,
       listed(different, "; ", 10));
}

// Returns the config.json of heed's own model. Throws Error for a shape that the nearest family lacks.
Json own_config(const SavedModel& model) {
  if (model.transformer().config.block.mlp.width == 0) {
    fail("export: the model lacks an MLP (model.mlp: 0), which each family of transformers has");
  }
  const Nearest family = nearest_family(*model.network);
  const auto* masked = std::get_if<MaskedLanguageModel>(&*model.network);
  const TransformerConfig& t = model.transformer().config;
  const LogitsConfig& logits =
      masked ? masked->config.logits : std::get_if<LanguageModel>(&*model.network)->config.logits;
  Json json = nearest_families[static_cast<int>(family)].config_json(t, logits);
  if (family == Nearest::gpt2 && t.divide_scores_by_layer) json["scale_attn_by_inverse_layer_idx"] = true;
  ConfigReader reader(json, "export");
  const PretrainedConfig read = family_of(reader).read(reader);
  reader.finish();
  if (masked) {
    check_equal(comparable(masked->config),
                comparable(MaskedLanguageModelConfig{
                    .transformer = read.transformer, .logits = read.logits, .activation = read.head_activation}),
                family);
  } else {
    check_equal(comparable(std::get_if<LanguageModel>(&*model.network)->config),
                comparable(LanguageModelConfig{.transformer = read.transformer, .logits = read.logits}), family);
  }
  return json;
}

// Returns the type in which the weights of a pretrained model were stored.
StoredAs stored_type(const Json& config) {
  const std::string type = config.value("dtype", config.value("torch_dtype", "float32"));
  return type == "bfloat16" ? StoredAs::BF16 : type == "float16" ? StoredAs::F16 : StoredAs::as_it_is;
}

// Returns whether each number has an equal one of 16 bits.
bool is_exact(const NamedTensors& tensors, StoredAs type) {
  if (type == StoredAs::as_it_is) return true;
  for (const auto& [name, tensor] : tensors) {
    const Tensor values = contiguous(tensor.to(DType::float32));
    const float* const value = values.data<float>();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const float stored = type == StoredAs::BF16 ? from_bf16(to_bf16(value[i])) : from_f16(to_f16(value[i]));
      if (stored != value[i]) return false;
    }
  }
  return true;
}

// Throws Error for a pretrained model that transformers has no class for: a decoder that was trained to see the tokens behind
// each token, and OPT-350M without the layer before its logits.
void check_class(const SavedModel& model, const Family& family) {
  if (model.transformer().config.projected_tokens && !predicts_tokens(*model.network)) {
    fail("export: OPTModel of transformers needs project_out, which a model without logits lacks");
  }
  ConfigReader reader(parse_json(model.pretrained_config), "config.json");
  if (family.read(reader).transformer.causal == model.transformer().config.causal) return;
  fail("export: this {} sees the whole text, as data.task candidates needs; transformers has no such model",
       family.model_types[0]);
}

// Returns the class of transformers for a model with this head, or without one, given that of the pretrained model:
// "BertModel" for "BertForMaskedLM".
std::string architecture_of(const Model& network, const std::string& pretrained) {
  std::string family = pretrained;
  for (const char* head : {"For", "LMHead", "DoubleHeads"}) family = family.substr(0, family.find(head));
  if (family.ends_with("Model")) family.resize(family.size() - 5);
  if (!predicts_tokens(network)) return family + "Model";
  if (std::holds_alternative<MaskedLanguageModel>(network)) return family + "ForMaskedLM";
  if (family.ends_with("Text")) family.resize(family.size() - 4);  // Gemma3TextModel, Gemma3ForCausalLM
  return family + (family == "GPT2" ? "LMHeadModel" : "ForCausalLM");
}

// Names the class of the model's head in the configuration. Returns whether it was another one.
bool set_architecture(Json& json, const Model& network) {
  const auto found = json.find("architectures");
  if (found == json.end() || !found->is_array() || found->empty() || !(*found)[0].is_string()) return false;
  const std::string before = (*found)[0];
  const std::string after = architecture_of(network, before);
  (*found)[0] = after;
  return after != before;
}

// Returns tokenizer_config.json. transformers then reads tokenizer.json as it is; by the model's type alone it would
// make a tokenizer of that family from the vocabulary.
std::string tokenizer_config(const PretrainedTokenizer& tokenizer) {
  const PretrainedTokenizer::Special& special = tokenizer.special();
  Json json{{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
  const auto name = [&](const char* key, std::optional<int> id) {
    if (id && tokenizer.is_special(*id)) json[key] = tokenizer.token(*id);
  };
  name("cls_token", special.cls);
  name("sep_token", special.sep);
  name("mask_token", special.mask);
  name("pad_token", special.pad);
  name("unk_token", special.unk);
  name("bos_token", special.bos);
  name("eos_token", special.eos);
  return json.dump(2) + "\n";
}

}  // namespace

void export_hugging_face(const SavedModel& given, const fs::path& directory) {
  const NoRecording unrecorded;
  const bool is_pretrained = !given.pretrained_config.empty();
  SavedModel own;
  if (!is_pretrained) own = with_parts_of_family(given);
  const SavedModel& model = is_pretrained ? given : own;
  Json json = is_pretrained ? parse_json(model.pretrained_config) : own_config(model);
  ConfigReader reader(json, "config.json");
  const Family& family = family_of(reader);
  if (is_pretrained) check_class(model, family);
  SafeTensors content{.tensors = named_by(family, model), .metadata = {{"format", "pt"}}};
  StoredAs type = is_pretrained ? stored_type(json) : StoredAs::as_it_is;
  bool is_changed = !is_pretrained || set_architecture(json, *model.network);
  if (!is_exact(content.tensors, type)) {  // it was trained in float32
    type = StoredAs::as_it_is;
    json[json.contains("dtype") ? "dtype" : "torch_dtype"] = "float32";
    is_changed = true;
  }
  const std::string config = is_changed ? json.dump(2) + "\n" : model.pretrained_config;
  make_directories(directory);
  write_safetensors(directory / "model.safetensors", content, type);
  write_file(directory / "config.json", config);
  if (model.end_tokens != read_end_tokens(json, model.vocabulary.size())) {
    write_file(directory / "generation_config.json", Json({{"eos_token_id", model.end_tokens}}).dump(2) + "\n");
  }
  if (const auto& tokenizer = model.tokenizer.pretrained()) {
    write_file(directory / "tokenizer.json", tokenizer->json());
    write_file(directory / "tokenizer_config.json", tokenizer_config(*tokenizer));
  }
}

}  // namespace heed
