#include "formats/hugging_face/family.h"
#include "formats/hugging_face/pretrained.h"
#include "formats/internal/description.h"
#include "formats/internal/model_size.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/formats/hugging_face.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char *config_name = "adapter_config.json", *weights_name = "adapter_model.safetensors";
constexpr std::string_view wrapper = "base_model.model.";  // of PEFT, before the names of the base model

// Keys of adapter_config.json that change no result: how the adapter was made or trained, and what its tensors say as well.
constexpr std::array ignored{"auto_mapping",
                             "base_model_name_or_path",
                             "corda_config",
                             "ensure_weight_tying",
                             "eva_config",
                             "exclude_modules",
                             "fan_in_fan_out",
                             "inference_mode",
                             "init_lora_weights",
                             "layers_pattern",
                             "layers_to_transform",
                             "loftq_config",
                             "lora_alpha",
                             "lora_dropout",
                             "lora_ga_config",
                             "megatron_core",
                             "peft_type",
                             "peft_version",
                             "qalora_group_size",
                             "r",
                             "revision",
                             "runtime_config",
                             "target_modules",
                             "task_type",
                             "use_rslora"};

// Returns the linear layer whose matrix a parameter is: "encoder.0.attention.W_Q"; "" for another parameter.
std::string layer_of(const std::string& parameter) {
  constexpr std::string_view ending = ".weight";
  return parameter.ends_with(ending) ? parameter.substr(0, parameter.size() - ending.size()) : "";
}

// A linear layer of the base model's files, and heed's layers in it, which lie side by side.
struct Module {
  std::string name;     // "layers.0.self_attn.q_proj"
  std::string pattern;  // "self_attn.q_proj", by which adapter_config.json names it in every layer
  std::vector<std::string> layers{};
  Layout layout;
};

// How a module's B (out, rank) is stored: W (out, in) has the same rows.
Layout layout_of_B(const Module& module) {
  return module.layout == Layout::by_head_transposed ? module.layout : Layout::transposed;
}

const Family& family_of(const Model& model) {
  if (model.pretrained_config.empty()) fail("adapters: PEFT's format is for pretrained models of Hugging Face");
  ConfigReader json(parse_json(model.pretrained_config), "config.json");
  return heed::family_of(json);
}

std::vector<Module> modules_of(const Family& family, const Model& model) {
  std::vector<Module> modules;
  std::set<std::string> done;
  for (const TensorName& names : family.tensors) {
    const std::string theirs = layer_of(names.theirs);
    const std::size_t at = theirs.find("{}.");
    if (theirs.empty()) continue;
    for (int layer = 0; layer < (at == theirs.npos ? 1 : model.layers()); ++layer) {
      Module module{of_layer(theirs, layer), at == theirs.npos ? theirs : theirs.substr(at + 3), {}, names.layout};
      bool is_new = true;
      for (const std::string& ours : names.ours) {
        const std::string parameter = of_layer(ours, layer);
        const bool is_matrix = model.parameters.contains(parameter) && model.parameters[parameter].rank() == 2;
        is_new = is_new && is_matrix && layer_of(parameter) != "" && done.insert(parameter).second;
        module.layers.push_back(layer_of(parameter));
      }
      if (is_new) modules.push_back(std::move(module));
    }
  }
  return modules;
}

bool is_empty(const Json& value) {
  return value.is_null() || value == false || value == "" || (value.is_structured() && value.empty());
}

// Reads adapter_config.json. Throws Error that names each value with another meaning than heed's adapters.
AdapterConfig read_config(const fs::path& directory) {
  const std::string source = (directory / config_name).string();
  const Json json = parse_json_of(source, read_file(directory / config_name), 16);
  if (!json.is_object()) fail("{}: expected an object", source);
  std::vector<std::string> problems;
  const auto expect = [&](const char* key, bool holds, const char* expected) {
    if (holds) return;
    const auto found = json.find(key);
    problems.push_back(fmt::format("'{}' must be {}, got {}", key, expected,
                                   found == json.end() ? "nothing" : excerpt(format_json(*found))));
  };
  const Json nothing;
  const auto get = [&](const char* key) -> const Json& { return json.contains(key) ? json.at(key) : nothing; };
  expect("peft_type", get("peft_type") == "LORA", "\"LORA\"");
  const Json &rank = get("r"), &alpha = get("lora_alpha"), &base = get("base_model_name_or_path");
  expect("r", rank.is_number_integer() && rank > 0 && rank <= 1 << 16, "an integer from 1 to 65536");
  expect("lora_alpha", alpha.is_number() && std::isfinite(alpha.get<double>()), "a number");
  expect("base_model_name_or_path", base.is_null() || base.is_string(), "a text");
  expect("bias", is_empty(get("bias")) || get("bias") == "none", "\"none\": heed's adapters have no biases");
  expect("use_rslora", get("use_rslora").is_null() || get("use_rslora").is_boolean(), "true or false");
  // These methods also change the weights of the base model when they begin.
  const Json& init = get("init_lora_weights");
  const bool is_known = init.is_null() || init.is_boolean() || init.is_string();
  const bool changes_base = init.is_string() && init != "gaussian" && init != "eva" && init != "orthogonal";
  expect("init_lora_weights", is_known && !changes_base, "true, false, \"gaussian\", \"eva\" or \"orthogonal\"");
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(ignored, key) != ignored.end() || key == "bias" || is_empty(value)) continue;
    problems.push_back(fmt::format("'{}' must be empty, got {}", excerpt(key), excerpt(format_json(value))));
  }
  if (!problems.empty()) fail("{}: heed has no such adapters\n  {}", source, listed(problems, "\n  ", 10));
  AdapterConfig config{.options = {.rank = rank, .alpha = alpha}, .base = base.is_string() ? base : Json("")};
  if (get("use_rslora") == true) config.options.alpha *= std::sqrt(config.options.rank);  // alpha / sqrt(rank)
  return config;
}

// Returns short names for a set of layers: the last part where all layers of the model with it are in the set.
std::vector<std::string> short_names(const std::set<std::string>& layers, const std::vector<Module>& modules) {
  std::set<std::string> partial;
  const auto last = [](const std::string& layer) { return layer.substr(layer.rfind('.') + 1); };
  for (const Module& module : modules) {
    for (const std::string& layer : module.layers) {
      if (!layers.contains(layer)) partial.insert(last(layer));
    }
  }
  std::set<std::string> names;
  for (const std::string& layer : layers) names.insert(partial.contains(last(layer)) ? layer : last(layer));
  return {names.begin(), names.end()};
}

// Returns the directory of the base model: where the file says, beside the adapter, or in Hugging Face's cache.
fs::path find_base(const fs::path& directory, const std::string& base) {
  const std::string source = (directory / config_name).string();
  if (base.empty()) fail("{}: 'base_model_name_or_path' is missing; write the path of the base model there", source);
  for (const fs::path& path : {fs::path(base), directory / base}) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    if (is_adapter(path)) fail("{}: its base model {} is an adapter; merge that one first", source, path.string());
    return path;
  }
  const auto value = [](const char* name) { return std::getenv(name) ? std::string(std::getenv(name)) : ""; };
  std::string name = "models--" + base;
  for (std::size_t at = 0; (at = name.find('/')) != name.npos;) name.replace(at, 1, "--");
  const std::string hub = value("HF_HUB_CACHE"), home = value("HF_HOME");
  const fs::path cache = !hub.empty()    ? fs::path(hub)
                         : !home.empty() ? fs::path(home) / "hub"
                                         : fs::path(value("HOME")) / ".cache/huggingface/hub";
  for (const fs::path& snapshot : entries_of(cache / name / "snapshots")) {
    if (is_hugging_face(snapshot)) return snapshot;
  }
  fail(
      "{}: its base model '{}' is not here; fetch it (hf download {} --local-dir DIR) and write DIR as "
      "'base_model_name_or_path'",
      source, excerpt(base), excerpt(base));
}

// Returns x (rows, columns) in the middle of zeros: `before` rows, x, and as many as make `rows` in all.
Tensor padded_rows(const Tensor& x, std::int64_t before, std::int64_t rows) {
  std::vector<Tensor> parts;
  if (before > 0) parts.push_back(zeros({before, x.size(1)}, x.dtype()));
  parts.push_back(x);
  if (const std::int64_t after = rows - before - x.size(0); after > 0)
    parts.push_back(zeros({after, x.size(1)}, x.dtype()));
  return parts.size() == 1 ? x : concat(parts, 0);
}

}  // namespace

bool is_adapter(const fs::path& directory) {
  return fs::is_directory(directory) && fs::exists(directory / config_name);
}

fs::path adapter_directory(const fs::path& path) {
  if (is_adapter(path)) return path;
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const bool is_part = path.filename() == config_name || path.filename() == weights_name;
  return is_part && is_adapter(directory) ? directory : fs::path();
}

void load_adapter(Model& model, const fs::path& directory) {
  const NoRecording unrecorded;
  AdapterConfig config = read_config(directory);
  const Family& family = family_of(model);
  const std::vector<Module> modules = modules_of(family, model);
  std::map<std::string, const Module*> by_name;
  for (const Module& module : modules) by_name.emplace(module.name, &module);

  const std::string file = (directory / weights_name).string();
  const SafeTensors content = read_safetensors(file);
  std::map<std::string, Tensor> values;  // by heed's names
  std::vector<std::string> problems;
  std::set<std::string> layers;
  const std::int64_t rank = config.options.rank;
  for (const auto& [theirs, tensor] : content.tensors) {
    check_finite(theirs, tensor, file);
    const std::size_t at = theirs.rfind(".lora_");
    const std::string_view rest = at == theirs.npos ? "" : std::string_view(theirs).substr(at);
    const bool is_A = rest == ".lora_A.weight" || rest == ".lora_A.default.weight";
    const bool is_B = rest == ".lora_B.weight" || rest == ".lora_B.default.weight";
    const bool is_known = (is_A || is_B) && theirs.starts_with(wrapper);
    const std::string name =
        is_known ? layer_of(plain_name(family, theirs.substr(wrapper.size(), at - wrapper.size()) + ".weight")) : "";
    const auto found = by_name.find(name);
    if (found == by_name.end() || tensor.rank() != 2) {
      problems.push_back(fmt::format("unknown: {} {}", excerpt(theirs), to_string(tensor.shape())));
      continue;
    }
    const Module& module = *found->second;
    std::int64_t out = 0;
    for (const std::string& layer : module.layers) out += model.parameters[layer + ".weight"].size(1);
    const std::int64_t in = model.parameters[module.layers[0] + ".weight"].size(0);
    const Shape expected = is_A ? Shape{rank, in} : Shape{out, rank};
    if (tensor.shape() != expected) {
      problems.push_back(fmt::format("{}: expected shape {}, got {}", excerpt(theirs), to_string(expected),
                                     to_string(tensor.shape())));
      continue;
    }
    if (values.contains(module.layers[0] + (is_A ? ".lora_A" : ".lora_B"))) {
      problems.push_back(fmt::format("{}: the file has this matrix twice", excerpt(theirs)));
      continue;
    }
    const Tensor all =
        is_A ? transpose(tensor) : side_by_side(tensor, layout_of_B(module), std::ssize(module.layers), model.heads());
    std::int64_t begin = 0;
    for (const std::string& layer : module.layers) {
      const std::int64_t end = begin + model.parameters[layer + ".weight"].size(1);
      values[layer + (is_A ? ".lora_A" : ".lora_B")] = is_A ? all : slice(all, 1, begin, end);
      layers.insert(layer);
      begin = end;
    }
  }
  for (const std::string& layer : layers) {
    for (const char* part : {".lora_A", ".lora_B"}) {
      if (!values.contains(layer + part)) problems.push_back(fmt::format("missing: {}{}", layer, part));
    }
  }
  if (values.empty() && problems.empty()) problems.emplace_back("it holds no tensor");
  if (!problems.empty()) {
    fail("{}: its tensors are not those of an adapter of rank {} for this {}\n  {}", file, rank, family.model_types[0],
         listed(problems, "\n  ", 10));
  }
  adapt(model, short_names(layers, modules), config.options, 1, config.base);
  for (const auto& [name, value] : values) model.parameters[name].copy_from(value);
}

Model read_adapter(const fs::path& directory, const Loading* loading) {
  const fs::path base = find_base(directory, read_config(directory).base);
  Loading of_base = loading ? *loading : Loading{};
  of_base.merged = true;
  Model model = loading ? load_model(base, of_base) : read_description(base);
  load_adapter(model, directory);
  return model;
}

namespace {

// The adapters of heed's layers in one module as its A (in, rank) and the layers' B (rank, out): with the same A, or else with all of
// them side by side and zeros in each B for the others'.
struct Joined {
  Tensor A;
  std::vector<Tensor> B;
};

Joined joined(const Module& module, const Parameters& parameters, std::int64_t r) {
  Joined result;
  std::vector<Tensor> As, Bs;
  for (const std::string& layer : module.layers) {
    const bool has_one = parameters.contains(layer + ".lora_A");
    As.push_back(has_one ? Tensor(parameters[layer + ".lora_A"]) : Tensor());
    Bs.push_back(has_one ? Tensor(parameters[layer + ".lora_B"]) : zeros({r, parameters[layer + ".weight"].size(1)}));
  }
  std::vector<Tensor> different;
  std::vector<std::int64_t> begins;
  for (const Tensor& A : As) {
    std::size_t i = 0;
    while (A.defined() && i < different.size() && max(abs(different[i] - A)).item() != 0) ++i;
    if (A.defined() && i == different.size()) different.push_back(A);
    begins.push_back(static_cast<std::int64_t>(i) * r);
  }
  if (different.empty()) return result;
  result.A = concat(different, 1);
  for (std::size_t i = 0; i < Bs.size(); ++i) result.B.push_back(padded_rows(Bs[i], begins[i], result.A.size(1)));
  return result;
}

}  // namespace

std::vector<std::string> export_adapter(const Model& model, const fs::path& directory) {
  const NoRecording unrecorded;
  const AdapterConfig& config = model.config().adapter;
  if (config.layers.empty()) fail("export: the model has no adapters");
  if (!model.head().has_token_logits() && model.head().exists()) {
    fail("export: PEFT's format cannot hold the head of a {}; export the whole model", name_of(model.config().head));
  }
  const Family& family = family_of(model);
  const std::string prefix = std::string(wrapper) + (model.head().has_token_logits() ? family.prefixes[0] : "");
  std::vector<std::pair<Module, Joined>> all;
  std::set<std::string> partial;  // patterns of modules some of which have no adapter
  std::int64_t rank = 0, adapters = 0;
  for (const Module& module : modules_of(family, model)) {
    Joined found = joined(module, model.parameters, config.options.rank);
    if (!found.A.defined()) {
      partial.insert(module.pattern);
      continue;
    }
    rank = std::max(rank, found.A.size(1));
    for (const std::string& layer : module.layers) adapters += model.parameters.contains(layer + ".lora_A");
    all.emplace_back(module, std::move(found));
  }
  std::int64_t in_model = 0;
  for (const auto& [name, value] : model.parameters) in_model += name.ends_with(".lora_A");
  if (adapters != in_model) {
    fail("export: {} of {} adapters are of layers that the format of {} does not have", in_model - adapters, in_model,
         family.model_types[0]);
  }
  std::set<std::string> targets;
  SafeTensors content{.tensors = {}, .metadata = {{"format", "pt"}}};
  bool has_rows_first = false;  // W (in, out) in the base model's files, as in GPT-2
  for (const auto& [module, adapter] : all) {
    std::vector<Tensor> B;
    for (const Tensor& part : adapter.B) B.push_back(padded_rows(part, 0, rank));
    const std::string name = prefix + module.name;
    content.tensors.emplace_back(name + ".lora_A.weight", contiguous(padded_rows(transpose(adapter.A), 0, rank)));
    content.tensors.emplace_back(name + ".lora_B.weight",
                                 contiguous(stored_tensor(B, layout_of_B(module), model.heads())));
    targets.insert(partial.contains(module.pattern) ? module.name : module.pattern);
    has_rows_first = has_rows_first || module.layout == Layout::same;
  }
  const double alpha = config.options.alpha * static_cast<double>(rank) / config.options.rank;
  const Json json{{"peft_type", "LORA"},
                  {"task_type", model.head().generates() ? Json("CAUSAL_LM") : Json()},
                  {"base_model_name_or_path", config.base.empty() ? Json() : Json(config.base)},
                  {"r", rank},
                  {"lora_alpha", alpha == std::floor(alpha) ? Json(static_cast<std::int64_t>(alpha)) : Json(alpha)},
                  {"lora_dropout", 0.0},
                  {"target_modules", targets},
                  {"fan_in_fan_out", has_rows_first},
                  {"bias", "none"},
                  {"inference_mode", true}};
  if (fs::exists(directory / "config.json")) {
    fail("export: {} holds a model, which the adapter's files would hide; give another directory", directory.string());
  }
  make_directories(directory);
  write_safetensors(directory / weights_name, content);
  write_file(directory / config_name, json.dump(2) + "\n");
  return {config_name, weights_name};
}

}  // namespace heed
