#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/hugging_face/family.h"
#include "formats/hugging_face/nearest_family.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/files/utf8.h>
#include <heed/formats/gguf.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

namespace fs = std::filesystem;

// Returns the architecture of llama.cpp for a family. Throws Error for a family without one.
std::string architecture_of(const Family& family) {
  const std::string& type = family.model_types[0];
  if (type == "gpt2" || type == "llama" || type == "qwen2" || type == "qwen3") return type;
  if (type == "mistral") return "llama";
  fail("export: heed writes GGUF files of gpt2, llama, mistral, qwen2 and qwen3, not of {}", type);
}

// The rotary embedding as metadata has it: a factor for all frequencies, or divisors of each of them.
struct Rotary {
  Json scaling{};                  // of config.json
  std::vector<double> divisors{};  // of the tensor rope_freqs
};

// Returns YaRN's constants in a config.json, or null.
Json yarn_of(const Json& config) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const Json given = config.value(key, Json());
    if (!given.is_object() || given.value("rope_type", given.value("type", Json())) != "yarn") continue;
    Json yarn{{"rope_type", "yarn"}, {"factor", given.value("factor", Json())}};
    const Json length = given.value("original_max_position_embeddings", Json());
    if (!length.is_null()) yarn["original_max_position_embeddings"] = length;
    return yarn;
  }
  return {};
}

Rotary rotary_of(const TransformerConfig& t, const Json& config) {
  const RotaryConfig& r = t.rotary;
  if (r.scaling == RotaryScaling::linear && r.divisors.empty()) {
    return {{{"rope_type", "linear"}, {"factor", r.factor}}, {}};
  }
  if (r.scaling == RotaryScaling::none && r.divisors.empty()) return {};
  if (const Json yarn = yarn_of(config); !yarn.is_null()) return {yarn, {}};
  const int d = t.block.attention.complete().d_k;
  const std::vector<double> plain = rotary_frequencies(d, {.base = r.base}), scaled = rotary_frequencies(d, r);
  Rotary result;
  for (std::size_t i = 0; i < plain.size(); ++i) result.divisors.push_back(static_cast<float>(plain[i] / scaled[i]));
  result.scaling = {{"rope_type", "longrope"},        {"factor", 1.0},
                    {"attention_factor", 1.0},        {"short_factor", result.divisors},
                    {"long_factor", result.divisors}, {"original_max_position_embeddings", t.max_length}};
  return result;
}

// Returns the config.json that config_of_gguf() makes of the file of such a model.
Json config_there(const std::string& architecture, const TransformerConfig& t, bool tied, const Json& scaling) {
  const AttentionConfig a = t.block.attention.complete();
  if (architecture == "gpt2") {
    return {{"model_type", "gpt2"},         {"n_embd", t.d_model()},
            {"n_layer", t.layers},          {"n_head", a.heads},
            {"n_inner", t.block.mlp.width}, {"n_positions", t.max_length},
            {"vocab_size", t.vocabulary},   {"layer_norm_epsilon", t.block.norm.epsilon},
            {"tie_word_embeddings", tied}};
  }
  Json config{{"model_type", architecture},
              {"hidden_size", t.d_model()},
              {"num_hidden_layers", t.layers},
              {"num_attention_heads", a.heads},
              {"num_key_value_heads", a.kv_heads},
              {"head_dim", a.d_k},
              {"intermediate_size", t.block.mlp.width},
              {"vocab_size", t.vocabulary},
              {"max_position_embeddings", t.max_length},
              {"rms_norm_eps", t.block.norm.epsilon},
              {"rope_theta", t.rotary.base},
              {"tie_word_embeddings", tied}};
  if (architecture != "qwen2") config["attention_bias"] = a.bias;
  if (architecture == "llama") config["mlp_bias"] = t.block.mlp.bias;
  if (!scaling.is_null()) config["rope_scaling"] = scaling;
  return config;
}

// Throws Error that names what the file would not say of the model.
void check_expressible(const Model& model, const Json& there, const Rotary& rotary) {
  const PretrainedConfig read = read_pretrained_config(format_json(there), "the GGUF file");
  ModelConfig back = language_model(read.transformer, read.logits), given = model.config();
  if (!rotary.divisors.empty() && std::abs(given.transformer.rotary.amplitude - 1) < 1e-6) {
    const RotaryConfig plain{.base = given.transformer.rotary.base};  // the divisors say the rest
    given.transformer.rotary = back.transformer.rotary = plain;
  }
  const std::vector<std::string> different = differences(comparable(given), comparable(back));
  if (different.empty()) return;
  fail("export: a GGUF file of architecture {} cannot express {}", there.at("model_type").get<std::string>(),
       listed(different, "; ", 10));
}

void write_config(GgufWriter& writer, const std::string& architecture, const TransformerConfig& t,
                  const Rotary& rotary) {
  const AttentionConfig a = t.block.attention.complete();
  const auto key = [&](const char* name) { return architecture + "." + name; };
  writer.number(key("block_count"), t.layers);
  writer.number(key("context_length"), t.max_length);
  writer.number(key("embedding_length"), t.d_model());
  writer.number(key("feed_forward_length"), t.block.mlp.width);
  writer.number(key("attention.head_count"), a.heads);
  writer.number(key("vocab_size"), t.vocabulary);
  if (architecture == "gpt2") return writer.real(key("attention.layer_norm_epsilon"), t.block.norm.epsilon);
  writer.number(key("attention.head_count_kv"), a.kv_heads);
  writer.number(key("attention.key_length"), a.d_k);
  writer.number(key("attention.value_length"), a.d_v);
  writer.real(key("attention.layer_norm_rms_epsilon"), t.block.norm.epsilon);
  writer.number(key("rope.dimension_count"), a.d_k);
  writer.real(key("rope.freq_base"), t.rotary.base);
  if (!rotary.divisors.empty() || rotary.scaling.is_null()) return;
  writer.text(key("rope.scaling.type"), rotary.scaling.at("rope_type"));
  writer.real(key("rope.scaling.factor"), rotary.scaling.at("factor"));
  if (rotary.scaling.contains("original_max_position_embeddings")) {
    writer.number(key("rope.scaling.original_context_length"), rotary.scaling.at("original_max_position_embeddings"));
  }
}

// Returns the rows of queries or keys in llama.cpp's order: the halves of each rotated pair side by side.
Tensor permuted(const Tensor& rows, std::int64_t heads) {
  const std::int64_t pairs = rows.size(0) / (2 * heads), rest = rows.numel() / rows.size(0);
  return reshape(transpose(reshape(contiguous(rows), {heads, 2, pairs, rest}), 1, 2), rows.shape());
}

const char* type_of(GgufType type, const NamedTensors& tensors) {
  switch (type) {
    case GgufType::f32:
      return "F32";
    case GgufType::f16:
      return "F16";
    case GgufType::bf16:
      return "BF16";
    case GgufType::q8_0:
      return "Q8_0";
    case GgufType::exact:
      break;
  }
  NamedTensors matrices;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.rank() == 2) matrices.emplace_back(name, tensor);
  }
  return is_exact(matrices, StoredAs::BF16) ? "BF16" : is_exact(matrices, StoredAs::F16) ? "F16" : "F32";
}

// Returns the template by which a chat becomes a text; "" without one.
std::string chat_template(const Model& model) {
  if (const auto found = model.kept_files.find("chat_template.jinja"); found != model.kept_files.end())
    return found->second;
  const auto found = model.kept_files.find("tokenizer_config.json");
  if (found == model.kept_files.end()) return "";
  const Json config = parse_large_json(found->second, 16);
  const auto given = config.find("chat_template");
  return given != config.end() && given->is_string() ? given->get<std::string>() : "";
}

}  // namespace

void export_gguf(const Model& given, const fs::path& file, GgufType wanted) {
  const NoRecording unrecorded;
  Model model = merged(given);
  if (!model.head().generates()) {
    fail("export: GGUF files hold language models, not a {}", name_of(model.config().head));
  }
  const bool is_pretrained = !model.pretrained_config.empty();
  if (!is_pretrained) model = with_parts_of_family(model);
  const Json config = is_pretrained ? parse_json(model.pretrained_config) : own_config(model);
  ConfigReader json(config, "config.json");
  const Family& family = family_of(json);
  const std::string architecture = architecture_of(family);
  const TransformerConfig& t = model.transformer().config;
  const Rotary rotary = architecture == "gpt2" ? Rotary{} : rotary_of(t, config);
  check_expressible(model, config_there(architecture, t, model.config().logits.tied, rotary.scaling), rotary);

  const NamedTensors tensors = tensors_of_family(family, model);
  const std::string type = type_of(wanted, tensors);
  GgufWriter writer;
  writer.text("general.architecture", architecture);
  writer.text("general.name", file.stem().string());
  writer.number("general.file_type", type == "F32" ? 0 : type == "F16" ? 1 : type == "Q8_0" ? 7 : 32);
  if (type == "Q8_0") writer.number("general.quantization_version", 2);
  write_config(writer, architecture, t, rotary);
  if (const auto& tokenizer = given.tokenizer.pretrained()) {
    write_tokenizer(writer, *tokenizer, t.vocabulary, given.end_tokens);
  } else {
    writer.text("tokenizer.ggml.model", "no_vocab");
  }
  if (const std::string chat = chat_template(model); !chat.empty()) writer.text("tokenizer.chat_template", chat);

  if (!rotary.divisors.empty()) {
    const Tensor table = tensor({std::ssize(rotary.divisors)}, rotary.divisors);
    writer.tensor("rope_freqs.weight", table.shape(), "F32", [table] { return table; });
  }
  for (const auto& [theirs, tensor] : tensors) {
    const std::string name = name_in_gguf(architecture, theirs);
    if (name.empty()) fail("export: a GGUF file of architecture {} has no tensor for {}", architecture, theirs);
    const bool is_matrix = tensor.rank() == 2 && name != "position_embd.weight";
    const bool is_transposed = architecture == "gpt2" && is_matrix && name.starts_with("blk.");
    const Tensor stored = is_transposed ? transpose(tensor) : tensor;
    const bool is_query = name.find(".attn_q.") != name.npos, is_key = name.find(".attn_k.") != name.npos;
    const std::int64_t heads = architecture != "llama" ? 0
                               : is_query              ? t.heads()
                               : is_key                ? t.block.attention.keys()
                                                       : 0;
    const std::string kind = !is_matrix ? "F32" : GgufWriter::fits(stored.shape(), type) ? type : "F16";
    writer.tensor(name, stored.shape(), kind, [stored, heads] {
      const Tensor values = contiguous(stored.to(DType::float32));
      return heads > 0 ? permuted(values, heads) : values;
    });
  }
  writer.write(file);
}

}  // namespace heed
