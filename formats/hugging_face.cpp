#include "formats/hugging_face/classes.h"
#include "formats/hugging_face/family.h"
#include "formats/hugging_face/pretrained.h"
#include "formats/hugging_face/weight_files.h"
#include "formats/internal/model_size.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/formats/hugging_face.h>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace heed {
namespace {

namespace fs = std::filesystem;

// Returns whether a tensor belongs to a head that predicts no tokens: of a classifier, or for answers to questions.
bool is_of_other_head(const std::string& name) {
  return name.starts_with("score.") || name.starts_with("classifier.") || name.starts_with("qa_outputs.");
}

bool is_ignored(const Family& family, const std::string& name) {
  return is_of_other_head(name) || std::ranges::any_of(family.ignored, [&](const std::string& pattern) {
           if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
           const std::size_t at = pattern.find("{}");
           if (at == pattern.npos) return name == pattern;
           const std::string before = pattern.substr(0, at), after = pattern.substr(at + 2);
           if (!name.starts_with(before) || !name.ends_with(after) || name.size() <= before.size() + after.size())
             return false;
           return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(before.size()),
                              name.end() - static_cast<std::ptrdiff_t>(after.size()),
                              [](char c) { return c >= '0' && c <= '9'; });
         });
}

bool is_equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && max(abs(a.to(DType::float32) - b.to(DType::float32))).item() == 0;
}

// Finds the parameters of a model in the tensors of a directory.
class Loader {
 public:
  // `parameters` has their names and shapes.
  Loader(const Family& family, const TransformerConfig& config, const Parameters& parameters, const Loading& loading)
      : family_(family), heads_(config.heads()), parameters_(parameters), loading_(loading) {
    for (const auto& [name, parameter] : parameters) shapes_.emplace(name, parameter.shape());
    for (const TensorName& names : family.tensors) {
      const bool is_layered = names.theirs.find("{}") != std::string::npos;
      for (int layer = 0; layer < (is_layered ? config.layers : 1); ++layer) {
        Place place{{}, names.layout, names.unless};
        for (const std::string& ours : names.ours) place.ours.push_back(of_layer(ours, layer));
        const auto exists = [&](const std::string& name) { return shapes_.contains(name); };
        if (!std::ranges::all_of(place.ours, exists)) continue;
        const std::string theirs = of_layer(names.theirs, layer);
        for (const std::string& ours : place.ours) {
          const auto [known, is_new] = theirs_.emplace(ours, theirs);
          if (!is_new) known->second = std::min(known->second, theirs);
        }
        places_.emplace(theirs, place);
      }
    }
  }

  // Returns the parameters' values by name.
  std::unordered_map<std::string, Tensor> load(WeightFiles& files, const std::string& directory) {
    const double all = files.elements();
    double done = 0;
    std::unordered_set<std::string> present;
    for (const WeightFiles::Entry& entry : files.entries()) present.insert(plain_name(family_, entry.stored.name));
    for (const WeightFiles::Entry& entry : files.entries()) {
      if (loading_.progress) loading_.progress(done / all);
      done += static_cast<double>(entry.stored.shape.numel());
      const std::string name = plain_name(family_, entry.stored.name);
      const auto place = places_.find(name);
      if (place != places_.end() && present.contains(place->second.unless)) continue;
      if (place != places_.end()) {
        load(files, entry, place->second);
      } else if (!is_ignored(family_, name)) {
        problems_.push_back(fmt::format("unknown: {} {}", excerpt(entry.stored.name), to_string(entry.stored.shape)));
      }
    }
    if (loading_.progress) loading_.progress(1);
    for (const auto& [name, parameter] : parameters_) {
      if (values_.contains(name) || misshapen_.contains(name)) continue;
      const char* hint =
          name == "unembedding" ? "; set tie_word_embeddings to true in config.json to use the embeddings" : "";
      problems_.push_back(
          fmt::format("missing: {}, which holds {} {}{}", theirs_[name], name, to_string(parameter.shape()), hint));
    }
    if (problems_.empty()) return std::move(values_);
    fail("{}: its tensors are not those of this configuration of {}\n  {}", directory, family_.model_types[0],
         listed(problems_, "\n  ", 10));
  }

 private:
  struct Place {
    std::vector<std::string> ours;
    Layout layout;
    std::string unless;
  };

  void load(WeightFiles& files, const WeightFiles::Entry& entry, const Place& place) {
    const auto parameters = static_cast<std::int64_t>(place.ours.size());
    Shape expected = shapes_.at(place.ours[0]);  // of all side by side
    for (std::size_t i = 1; i < place.ours.size(); ++i) expected[-1] += shapes_.at(place.ours[i])[-1];
    Shape theirs = expected;
    const bool is_transposed = place.layout == Layout::transposed || place.layout == Layout::by_head_transposed;
    if (is_transposed) std::swap(theirs[0], theirs[1]);
    if (entry.stored.shape != theirs) {
      problems_.push_back(fmt::format("{}: expected shape {}, got {}", excerpt(entry.stored.name), to_string(theirs),
                                      to_string(entry.stored.shape)));
      misshapen_.insert(place.ours.begin(), place.ours.end());
      return;
    }
    const Tensor values = files.read(entry);
    check_finite(entry.stored.name, values, entry.path);
    const Tensor all = side_by_side(values, place.layout, parameters, heads_);
    const int axis = static_cast<int>(all.rank()) - 1;
    std::int64_t begin = 0;
    for (const std::string& name : place.ours) {
      const std::int64_t end = begin + shapes_.at(name)[-1];
      const Tensor part = slice(all, axis, begin, end);
      if (!values_.contains(name)) {
        values_.emplace(name, held(name, part));
        origins_.emplace(name, entry.stored.name);
      } else if (!is_equal(values_.at(name), part)) {
        const char* hint =
            name == "words.weight" ? "; set tie_word_embeddings to false in config.json to use both" : "";
        problems_.push_back(fmt::format("{} must equal {}, but differs{}", excerpt(entry.stored.name),
                                        excerpt(origins_.at(name)), hint));
      }
      begin = end;
    }
  }

  // Returns a parameter's values: in the file's memory, or copied to float32.
  Tensor held(const std::string& name, const Tensor& values) const {
    if (loading_.mapped && can_be_narrower(name, values)) return values.alias();
    Tensor copy(values.shape(), DType::float32);
    copy.copy_from(values);
    return copy;
  }

  const Family& family_;
  const std::int64_t heads_;
  const Parameters& parameters_;
  const Loading& loading_;
  std::unordered_map<std::string, Shape> shapes_;        // of parameters_
  std::unordered_map<std::string, Place> places_;        // by the name of a tensor of the file
  std::unordered_map<std::string, std::string> theirs_;  // the first name of a tensor that holds a parameter
  std::unordered_map<std::string, Tensor> values_;
  std::unordered_map<std::string, std::string> origins_;  // the tensor of the file that gave a value
  std::unordered_set<std::string> misshapen_;             // parameters whose tensor has another shape
  std::vector<std::string> problems_;
};

// Returns whether a file has a tensor that holds the parameter `ours`.
bool has_tensor(const Family& family, const WeightFiles& files, const std::string& ours) {
  for (const TensorName& names : family.tensors) {
    if (names.ours[0] != ours) continue;
    for (const WeightFiles::Entry& entry : files.entries()) {
      if (plain_name(family, entry.stored.name) == names.theirs) return true;
    }
  }
  return false;
}

// Returns whether the files are of a model with logits: the names of its tensors begin with that of the part below the logits, and
// 'architectures' names no other head. Names in files of GPT-2 with logits may be without the beginning.
bool expects_logits(const Family& family, ConfigReader& json, const WeightFiles& files) {
  if (const Json* classes = json.find("architectures"); classes && classes->is_array() && !classes->empty()) {
    const auto has_logits = [](const Json& name) {
      constexpr std::string_view endings[] = {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration"};
      return name.is_string() && std::ranges::any_of(endings, [&](std::string_view ending) {
               return name.get_ref<const std::string&>().ends_with(ending);
             });
    };
    if (std::ranges::none_of(*classes, has_logits)) return false;
  }
  const auto has_prefix = [&](const WeightFiles::Entry& entry) {
    return std::ranges::any_of(family.prefixes,
                               [&](const std::string& prefix) { return entry.stored.name.starts_with(prefix); });
  };
  return family.model_types[0] == "gpt2" || std::ranges::any_of(files.entries(), has_prefix);
}

// Returns the kind of model that the tensors make.
ModelConfig kind_of(const Family& family, const PretrainedConfig& config, ConfigReader& json,
                    const WeightFiles& files) {
  if (has_tensor(family, files, "candidates.pointer.weight")) {
    return candidate_chooser(config.transformer, has_tensor(family, files, "candidates.none"), false);
  }
  if (!config.classes.empty() && has_tensor(family, files, "classifier.weight")) return classifier_of(config);
  const bool is_classifier = std::ranges::any_of(files.entries(), [&](const WeightFiles::Entry& entry) {
    return is_of_other_head(plain_name(family, entry.stored.name));
  });
  if (config.transformer.causal) {
    const bool has_head = has_tensor(family, files, "unembedding") ||
                          (!is_classifier && (config.logits.tied || expects_logits(family, json, files)));
    if (has_head) return language_model(config.transformer, config.logits);
  } else if (has_tensor(family, files, "transform.dense.weight") &&
             (!is_classifier || has_tensor(family, files, "output_bias"))) {  // ModernBERT's classifiers have the layer
    ModelConfig masked = masked_language_model(config.transformer, config.logits);
    masked.activation = config.head_activation;
    masked.transform_bias = config.head_bias;
    return masked;
  }
  return bare_transformer(config.transformer);
}

// Returns the configuration of the text model if `text` is that of Gemma 3 with an image encoder (from 4B on). It leaves out keys
// with the values of the 4B model.
std::string text_config_of(const std::string& text, const std::string& source) {
  const Json all = parse_json_of(source, text, deepest_config);
  if (!all.is_object() || all.value("model_type", Json()) != "gemma3") return text;
  const auto inner = all.find("text_config");
  if (inner == all.end() || !inner->is_object()) return text;
  Json config{{"model_type", "gemma3_text"},       {"num_attention_heads", 8},
              {"num_key_value_heads", 4},          {"vocab_size", 262208},
              {"max_position_embeddings", 131072}, {"architectures", {"Gemma3ForCausalLM"}}};
  for (const char* key : {"dtype", "torch_dtype", "eos_token_id"}) {
    if (all.contains(key)) config[key] = all.at(key);
  }
  config.update(*inner);
  return config.dump(2) + "\n";
}

// Reads the configuration. Throws Error that begins with its source, also for keys that the family does not read.
PretrainedConfig read_all(const Family& family, ConfigReader& json) {
  PretrainedConfig config;
  try {
    config = family.read(json);
  } catch (const Error& error) {
    json.check();  // the cause
    fail("{}: {}", json.source(), error.what());
  }
  if (const Json* words = json.find(queries_key)) {
    const auto is_word = [](const Json& word) { return word.is_string() && word != ""; };
    if (words->is_array() && std::ranges::all_of(*words, is_word)) {
      config.queries = *words;
    } else {
      json.note(fmt::format("'{}' must be a list of words, got {}", queries_key, excerpt(format_json(*words))));
    }
  }
  config.classes = read_classes(json);
  json.finish();
  return config;
}

}  // namespace

bool is_hugging_face(const fs::path& path) { return fs::is_directory(path) && fs::exists(path / "config.json"); }

fs::path hugging_face_directory(const fs::path& path) {
  if (is_hugging_face(path)) return path;
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const bool has_weights = path.filename() == "model.safetensors" || path.filename() == "pytorch_model.bin";
  const bool is_part = has_weights || path.extension() == ".json";
  if (!is_part || !fs::is_regular_file(path) || !is_hugging_face(directory)) return {};
  try {
    if (path.filename() == "model.safetensors" && SafeTensorsFile(path).metadata().contains("heed.model")) return {};
  } catch (const Error&) {  // opening the directory names what is wrong
  }
  return directory;
}

PretrainedConfig read_pretrained_config(const std::string& text, const std::string& source) {
  ConfigReader json(text_config_of(text, source), source);
  return read_all(family_of(json), json);
}

Model load_pretrained(ConfigReader& json, WeightFiles files, const std::string& source, const Loading* loading) {
  const NoRecording unrecorded;
  const Family& family = family_of(json);
  const PretrainedConfig config = read_all(family, json);
  const ModelConfig kind = kind_of(family, config, json, files);
  Model model;
  model.queries = config.queries;
  try {
    check_size(kind, files.elements());
    model.build(Scope(model.parameters, 0, DType::float32, Values::none), kind);
  } catch (const Error& error) {
    fail("{}: {}", json.source(), error.what());
  }
  if (!loading) return model;
  auto values = Loader(family, kind.transformer, model.parameters, *loading).load(files, source);
  const auto take = [&](const std::string& name, const Shape&) { return std::move(values.at(name)); };
  Model loaded;
  loaded.queries = config.queries;
  loaded.build(Scope(loaded.parameters, DType::float32, take), kind);
  return loaded;
}

void set_tokenizer(Model& model, const std::optional<std::string>& json, const std::string& source) {
  const int vocabulary = model.transformer().config.vocabulary;
  if (!json) {
    for (int id = 0; id < vocabulary; ++id) model.vocabulary.add(fmt::format("<{}>", id));
    return;
  }
  try {
    const PretrainedTokenizer tokenizer(*json);
    if (const int size = tokenizer.size_without_added(); size > vocabulary) {
      fail("it has ids up to {}, but the model has embeddings for {} tokens", size - 1, vocabulary);
    }
    model.vocabulary = Vocabulary(tokenizer.tokens(vocabulary));
    model.tokenizer = Tokenizer::of_text(tokenizer);
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
}

std::vector<std::int32_t> read_end_tokens(const Json& config, int vocabulary) {
  if (!config.is_object()) fail("expected an object, got {}", excerpt(format_json(config)));
  const auto found = config.find("eos_token_id");
  std::vector<std::int32_t> ids;
  if (found == config.end() || found->is_null()) return ids;
  for (const Json& id : found->is_array() ? *found : Json::array({*found})) {
    if (!id.is_number_integer()) {
      fail("'eos_token_id' must be the id of a token or a list of ids, got {}", excerpt(format_json(*found)));
    }
    if (id >= 0 && id < vocabulary) ids.push_back(id);
  }
  return ids;
}

constexpr std::size_t max_kept = 4 << 20;  // bytes of a file

bool can_be_kept(std::string_view name, std::string_view text) {
  if (text.size() > max_kept) return false;
  try {
    checked_utf8(text, "");
    return !name.ends_with(".json") || parse_large_json(text, 16).is_object();
  } catch (const Error&) {
    return false;
  }
}

Model read_hugging_face(const fs::path& directory, const Loading* loading) {
  const fs::path config_file = directory / "config.json", tokenizer_file = directory / "tokenizer.json";
  const std::string config_text = text_config_of(read_file(config_file), config_file.string());
  ConfigReader json(config_text, config_file.string());
  family_of(json);  // throws for an unknown family before weights are read
  const bool mapped = loading && loading->mapped;
  Model model = load_pretrained(json, WeightFiles(directory, mapped), directory.string(), loading);
  const bool has_tokenizer = fs::exists(fs::symlink_status(tokenizer_file));  // even a link that leads nowhere
  set_tokenizer(model, has_tokenizer ? std::optional(read_file(tokenizer_file)) : std::nullopt,
                tokenizer_file.string());
  model.pretrained_config = config_text;
  for (const fs::path& file : {config_file, directory / "generation_config.json"}) {  // the second counts
    if (!fs::exists(file)) continue;
    try {
      model.end_tokens = read_end_tokens(parse_json(read_file(file)), model.vocabulary.size());
    } catch (const Error& error) {
      fail("{}: {}", file.string(), error.what());
    }
  }
  for (const char* name : kept_file_names) {
    const fs::path file = directory / name;
    if (!fs::is_regular_file(file) || fs::file_size(file) > max_kept) continue;
    try {
      std::string text = read_file(file);
      if (can_be_kept(name, text)) model.kept_files[name] = std::move(text);
    } catch (const FileError&) {  // no model depends on it
    }
  }
  return model;
}

Model load_hugging_face(const fs::path& directory, const Loading& loading) {
  return read_hugging_face(directory, &loading);
}

}  // namespace heed
