#include "autograd/half.h"
#include "formats/hugging_face/classes.h"
#include "formats/hugging_face/family.h"
#include "formats/hugging_face/nearest_family.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/files/file.h>
#include <heed/formats/hugging_face.h>
#include <heed/formats/safetensors.h>
#include <heed/models/reading.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace heed {
namespace {

namespace fs = std::filesystem;

// Returns the type in which the weights of a pretrained model were stored.
StoredAs stored_type(const Json& config) {
  const Json type = config.value("dtype", config.value("torch_dtype", Json()));
  return type == "bfloat16" ? StoredAs::BF16 : type == "float16" ? StoredAs::F16 : StoredAs::as_it_is;
}

// Throws Error for a pretrained model that transformers has no class for: a decoder that was trained to see the tokens behind
// each token, and OPT-350M without the layer before its logits.
void check_class(const Model& model, const Family& family) {
  if (model.transformer().config.projected_tokens && !model.head().has_token_logits()) {
    fail("export: OPTModel of transformers needs project_out, which a model without logits does not have");
  }
  ConfigReader reader(parse_json(model.pretrained_config), "config.json");
  if (family.read(reader).transformer.causal == model.transformer().config.causal) return;
  fail("export: this {} sees the whole text, as data.task candidates needs; transformers has no such model",
       family.model_types[0]);
}

// Returns the class of transformers for a model with this head, or without one, given that of the pretrained model:
// "BertModel" for "BertForMaskedLM".
std::string architecture_of(const Model& model, const std::string& pretrained) {
  std::string family = pretrained;
  for (const char* head : {"For", "LMHead", "DoubleHeads"}) family = family.substr(0, family.find(head));
  if (family.ends_with("Model")) family.resize(family.size() - 5);
  if (model.head().classifies()) return family + (family == "Gemma3" ? "Text" : "") + class_ending;
  if (!model.head().has_token_logits()) return family + (family == "Gemma3" ? "TextModel" : "Model");
  if (model.head().fills_masks()) return family + "ForMaskedLM";
  if (family.ends_with("Text")) family.resize(family.size() - 4);  // Gemma3TextModel, Gemma3ForCausalLM
  return family + (family == "GPT2" ? "LMHeadModel" : "ForCausalLM");
}

// Names the class of the model's head in the configuration. Returns whether it was another one.
bool set_architecture(Json& json, const Model& model) {
  const auto found = json.find("architectures");
  if (found == json.end() || !found->is_array() || found->empty() || !(*found)[0].is_string()) return false;
  const std::string before = (*found)[0];
  const std::string after = architecture_of(model, before);
  (*found)[0] = after;
  return after != before;
}

// Keeps the words asked about of a model that needs them. Returns whether the configuration had others.
bool set_queries(Json& json, const Model& model) {
  const bool has_queries = model.head().chooses_candidates() && !model.queries.empty();
  const Json before = json.value(queries_key, Json()), after = has_queries ? Json(model.queries) : Json();
  json.erase(queries_key);
  if (has_queries) json[queries_key] = after;
  return before != after;
}

// Returns a tokenizer_config.json for a model that came without one. transformers then reads tokenizer.json as it is; by the
// model's type alone it would make a tokenizer of that family from the vocabulary.
std::string tokenizer_config(const PretrainedTokenizer& tokenizer, const std::vector<std::int32_t>& end_tokens) {
  const PretrainedTokenizer::Special& special = tokenizer.special();
  std::optional<int> end = special.eos;
  const bool is_end = end && std::ranges::find(end_tokens, *end) != end_tokens.end();
  if (!is_end && !end_tokens.empty()) end = end_tokens[0];
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
  name("eos_token", end);
  return json.dump(2) + "\n";
}

}  // namespace

NamedTensors tensors_of_family(const Family& family, const Model& model) {
  const bool is_untied = model.head().fills_masks() && !model.config().logits.tied;
  const std::string prefix = model.head().has_token_logits() || model.head().classifies() ? family.prefixes[0] : "";
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

std::vector<std::string> export_hugging_face(const Model& given, const fs::path& directory) {
  const NoRecording unrecorded;
  Model model = merged(given);
  const bool is_pretrained = !model.pretrained_config.empty();
  if (!is_pretrained) model = with_parts_of_family(model);
  Json json = is_pretrained ? parse_json(model.pretrained_config) : own_config(model);
  ConfigReader reader(json, "config.json");
  const Family& family = family_of(reader);
  if (is_pretrained) check_class(model, family);
  SafeTensors content{.tensors = tensors_of_family(family, model), .metadata = {{"format", "pt"}}};
  StoredAs type = is_pretrained ? stored_type(json) : StoredAs::as_it_is;
  bool is_changed = !is_pretrained || set_architecture(json, model);
  if (set_queries(json, model)) is_changed = true;
  if (set_classes(json, model)) is_changed = true;
  if (!is_exact(content.tensors, type)) {  // it was trained in float32
    type = StoredAs::as_it_is;
    json[json.contains("dtype") ? "dtype" : "torch_dtype"] = "float32";
    is_changed = true;
  }
  const std::string config = is_changed ? json.dump(2) + "\n" : model.pretrained_config;
  std::map<std::string, std::string> files = model.kept_files;
  files["config.json"] = config;
  const auto kept = files.find("generation_config.json");
  const bool is_kept = kept != files.end();
  Json generation = is_kept ? parse_json(kept->second) : Json::object();
  if (model.end_tokens != read_end_tokens(is_kept ? generation : json, model.vocabulary.size())) {
    generation["eos_token_id"] = model.end_tokens.empty() ? Json() : Json(model.end_tokens);
    files["generation_config.json"] = generation.dump(2) + "\n";
  }
  if (const auto& tokenizer = model.tokenizer.pretrained()) {
    files["tokenizer.json"] = tokenizer->json();
    files.emplace("tokenizer_config.json", tokenizer_config(*tokenizer, model.end_tokens));
  }
  make_directories(directory);
  write_safetensors(directory / "model.safetensors", content, type);
  std::vector<std::string> names{"model.safetensors"};
  for (const auto& [name, text] : files) {
    write_file(directory / name, text);
    names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace heed
