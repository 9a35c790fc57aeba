#include "formats/hugging_face/classes.h"

#include "formats/hugging_face/family.h"

#include <heed/autograd/record.h>
#include <heed/formats/hugging_face.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace heed {
namespace {

constexpr int max_classes = 100000;
constexpr const char* pooling_key = "classifier_pooling";  // of ModernBERT

// Returns the names of classes by their number, an object, which is empty without them.
Json names_of(ConfigReader& json) {
  const Json* const names = json.find("id2label");
  if (names && names->is_object()) return *names;
  if (names) json.note("'id2label' must be an object with the names of the classes");
  return Json::object();
}

}  // namespace

std::vector<std::string> read_classes(ConfigReader& json) {
  const Json* const architectures = json.find("architectures");
  const auto is_classifier = [](const Json& name) {
    return name.is_string() && name.get_ref<const std::string&>().ends_with(class_ending);
  };
  if (!architectures || !architectures->is_array() || std::ranges::none_of(*architectures, is_classifier)) return {};
  const Json* const problem = json.find("problem_type");
  if (problem && *problem != "single_label_classification") return {};
  const Json names = names_of(json);
  const int count = names.empty() ? json.integer("num_labels", 0, 2, Null::missing)  // 2 in transformers, too
                                  : static_cast<int>(std::min<std::size_t>(names.size(), max_classes));
  if (count < 2 || count >= max_classes) return {};
  std::vector<std::string> classes;
  for (int i = 0; i < count; ++i) {
    const auto found = names.find(std::to_string(i));
    const bool is_named = found != names.end() && found->is_string();
    classes.push_back(is_named ? found->get<std::string>() : fmt::format("LABEL_{}", i));
  }
  if (std::set(classes.begin(), classes.end()).size() == classes.size()) return classes;
  for (int i = 0; i < count; ++i) classes[static_cast<std::size_t>(i)] = fmt::format("LABEL_{}", i);
  return classes;
}

ModelConfig classifier_of(const PretrainedConfig& config) {
  if (config.averages_states || config.transformer.projected_tokens) return bare_transformer(config.transformer);
  ModelConfig result = text_classifier(config.transformer, config.classes);
  result.class_bias = !config.transformer.causal;
  result.activation = config.class_activation;
  result.transform_bias = config.class_norm ? config.head_bias : true;
  result.transform_norm = config.class_norm;
  return result;
}

bool set_classes(Json& json, const Model& model) {
  if (!model.head().classifies()) return false;
  const Json before = json;
  ConfigReader reader(json, "config.json");
  if (read_classes(reader) != model.config().classes) {
    Json names = Json::object(), numbers = Json::object();
    for (std::size_t i = 0; i < model.config().classes.size(); ++i) {
      names[std::to_string(i)] = model.config().classes[i];
      numbers[model.config().classes[i]] = i;
    }
    json["id2label"] = names, json["label2id"] = numbers;
    for (const char* key : {"num_labels", "problem_type"}) json.erase(key);
  }
  if (json.contains(pooling_key)) json[pooling_key] = "cls";
  return json != before;
}

Model with_classes(const Model& model, std::vector<std::string> classes, std::uint64_t seed) {
  const NoRecording unrecorded;
  const Model source = merged(model);
  PretrainedConfig read;
  if (!source.pretrained_config.empty()) read = read_pretrained_config(source.pretrained_config, "config.json");
  read.transformer = source.transformer().config, read.classes = std::move(classes), read.averages_states = false;
  Model result = source;
  result.parameters = {};
  result.build(source.scope_in(Scope(result.parameters, seed)), classifier_of(read));
  if (!result.head().exists())
    fail("with_classes: OPT's layer before its logits (word_embed_proj_dim) is not computed for classes");
  const std::string& scope = result.transformer().name;
  for (const auto& [name, value] : result.parameters) {
    const std::string own = scope.empty() ? name : name.substr(scope.size() + 1);
    if (!is_within(own, "classifier") && !is_within(own, "pooler")) Tensor(value).copy_from(source.parameters[name]);
  }
  return result;
}

}  // namespace heed
