#include "formats/hugging_face/pretrained.h"
#include "formats/internal/config_json.h"
#include "formats/internal/description.h"
#include "formats/internal/format.h"
#include "formats/internal/model_size.h"

#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/text.h>
#include <heed/formats/hugging_face.h>
#include <heed/formats/safetensors.h>
#include <heed/formats/saved_model.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>

namespace heed {

void check_saved(const Model& model) {
  if (!model.is_built()) fail("saved model: expected a network, got none");
  const std::int64_t words = model.transformer().config.vocabulary;
  if (words != model.vocabulary.size()) {
    fail("saved model: expected a vocabulary of {} words as in the network's configuration, got {}", words,
         model.vocabulary.size());
  }
  Parameters expected;
  Model(Scope(expected, 0, DType::float32, Values::none), model.config());
  std::vector<std::string> added;
  for (const auto& [name, value] : model.parameters) {
    if (!expected.contains(name)) added.push_back(name);
  }
  if (!added.empty() && model.parameters.size() == expected.size() + added.size()) {
    fail(
        "saved model: its parameters {} are not part of the network; save them with save_tensors(path, "
        "model.parameters), in C++ write_safetensors(), and load them into a model with the same layers",
        listed(added));
  }
  std::vector<std::string> names, given;
  for (const auto& [name, value] : expected) names.push_back(fmt::format("{} {}", name, to_string(value.shape())));
  for (const auto& [name, value] : model.parameters)
    given.push_back(fmt::format("{} {}", name, to_string(value.shape())));
  const auto first = std::ranges::mismatch(names, given);
  if (first.in1 == names.end() && first.in2 == given.end()) return;
  fail(
      "saved model: its parameters are not those of its network: expected {}, got {}. Construct the network with a "
      "Scope "
      "of these parameters",
      first.in1 == names.end() ? "no more" : *first.in1, first.in2 == given.end() ? "no more" : *first.in2);
}

Description describe(const Model& model) {
  Description description{{"heed.model", format_json(to_json(model.config()))},
                          {"heed.vocabulary", format_json(model.vocabulary.words())},
                          {"heed.queries", format_json(model.queries)},
                          {"heed.split", name_of(model.tokenizer.split())},
                          {"heed.step", std::to_string(model.step)}};
  if (const auto unknown = model.vocabulary.unknown()) {
    description["heed.unknown"] = model.vocabulary.word(*unknown);
  }
  if (model.tokenizer.is_of_text()) description["heed.of"] = "text";
  if (const auto& subwords = model.tokenizer.subwords()) {
    description["heed.subwords"] =
        format_json(std::vector<std::uint8_t>(subwords->model().begin(), subwords->model().end()));
  }
  if (const auto& pretrained = model.tokenizer.pretrained()) description["heed.tokenizer"] = pretrained->json();
  if (!model.pretrained_config.empty()) description["heed.pretrained"] = model.pretrained_config;
  if (!model.pretrained_config.empty()) description["heed.end_tokens"] = format_json(model.end_tokens);
  for (const auto& [name, text] : model.kept_files) description["heed." + name] = text;
  return description;
}

std::vector<std::string> models_in(const std::filesystem::path& directory) {
  // The config.json of a part, such as the pooling of sentence-transformers, has no family.
  const auto names_a_family = [](const std::filesystem::path& config) {
    std::error_code unreadable;
    if (!std::filesystem::is_regular_file(config, unreadable)) return false;
    try {
      return parse_json(read_file(config)).contains("model_type");
    } catch (const Error&) {
      return true;  // opening it says what is wrong
    }
  };
  std::vector<std::filesystem::path> places{directory, directory / "snapshots"};
  for (const std::filesystem::path& entry : entries_of(directory)) {
    if (entry.filename().string().starts_with("models--")) places.push_back(entry / "snapshots");
  }
  std::vector<std::string> models;
  for (const std::filesystem::path& place : places) {
    for (const std::filesystem::path& entry : entries_of(place)) {
      const std::string name = entry.filename().string();
      const bool is_later_part = name.find("-of-") != name.npos && name.find("-00001-of-") == name.npos;
      if ((entry.extension() == ".gguf" && !is_later_part) || names_a_family(entry / "config.json")) {
        models.push_back(entry.string());
      }
    }
  }
  return models;
}

namespace {

// A pretrained model's path, and its format; null for another path.
struct Pretrained {
  std::filesystem::path path;
  const Format* format = nullptr;
};
Pretrained pretrained_at(const std::filesystem::path& path) {
  for (const Format& format : formats()) {
    if (std::filesystem::path found = format.find(path); !found.empty()) return {std::move(found), &format};
  }
  return {};
}

}  // namespace

std::filesystem::path pretrained_path(const std::filesystem::path& path) { return pretrained_at(path).path; }
bool is_pretrained(const std::filesystem::path& path) { return !pretrained_path(path).empty(); }

void save_model(const std::filesystem::path& path, const Model& model) {
  check_saved(model);
  write_safetensors(path, {.tensors = {model.parameters.begin(), model.parameters.end()}, .metadata = describe(model)});
}

namespace {

// Reads a description. The network is made later, from `config`.
Model without_network(const Description& description, const std::string& source, ModelConfig& config) {
  const auto metadata = [&](const char* name) -> const std::string& {
    const auto found = description.find(name);
    if (found == description.end()) {
      const std::filesystem::path directory = std::filesystem::path(source).parent_path();
      const auto has = [&](const char* file) { return std::filesystem::exists(directory / file); };
      const bool is_named = has("model.safetensors") || has("model.safetensors.index.json");
      fail("{}: not a heed model: metadata entry '{}' is missing. {}", source, name,
           !is_hugging_face(directory) ? "A pretrained model needs its config.json in the same directory"
           : is_named                  ? fmt::format("Open its directory: {}", directory.string())
                      : fmt::format("Name it model.safetensors and open its directory: {}", directory.string()));
    }
    return found->second;
  };
  const auto parsed = [&](const char* name, auto&& parse) {
    const std::string& text = metadata(name);
    try {
      return parse(text);
    } catch (const std::exception& error) {
      fail("{}: metadata '{}': {}", source, name, message_of(error));
    }
  };
  const auto words = [](const std::string& text) { return parse_json(text).get<std::vector<std::string>>(); };

  Model model;
  model.vocabulary = parsed("heed.vocabulary", [&](const std::string& text) { return Vocabulary(words(text)); });
  if (description.contains("heed.unknown")) {
    if (!model.vocabulary.contains(metadata("heed.unknown"))) {
      fail("{}: metadata 'heed.unknown': '{}' is not in the vocabulary", source, excerpt(metadata("heed.unknown")));
    }
    model.vocabulary.let_stand_for_unknown(metadata("heed.unknown"));
  }
  model.queries = parsed("heed.queries", words);
  const Split split = parsed("heed.split", [](const std::string& text) {
    const auto named = value_named<Split>(text);
    if (!named) fail("expected one of {}, got '{}'", fmt::join(names_of<Split>(), ", "), excerpt(text));
    return *named;
  });
  model.tokenizer = description.contains("heed.of") ? Tokenizer::of_text(split) : Tokenizer(split);
  if (description.contains("heed.pretrained")) model.pretrained_config = metadata("heed.pretrained");
  if (description.contains("heed.tokenizer")) {
    model.tokenizer =
        Tokenizer::of_text(parsed("heed.tokenizer", [](const std::string& text) { return PretrainedTokenizer(text); }));
    if (model.tokenizer.pretrained()->tokens(model.vocabulary.size()) != model.vocabulary.words()) {
      fail("{}: metadata 'heed.tokenizer': its tokens are not those of 'heed.vocabulary'", source);
    }
  } else if (split == Split::subwords) {
    model.tokenizer = Tokenizer::of_text(parsed("heed.subwords", [](const std::string& text) {
      const Json numbers = parse_json(text);
      const auto is_byte = [](const Json& x) { return x.is_number_integer() && x >= 0 && x < 256; };
      if (!numbers.is_array() || !std::ranges::all_of(numbers, is_byte))
        fail("expected a list of integers from 0 to 255");
      const auto bytes = numbers.get<std::vector<std::uint8_t>>();
      return Subwords(std::string(bytes.begin(), bytes.end()));
    }));
    std::vector<std::string> words_of_text = model.vocabulary.words();
    if (!words_of_text.empty() && words_of_text.back() == mask_token) words_of_text.pop_back();
    if (model.tokenizer.known_tokens() != words_of_text) {
      fail("{}: metadata 'heed.subwords': its words do not match 'heed.vocabulary'", source);
    }
  }
  model.step = parsed("heed.step", [](const std::string& text) {
    const Json step = parse_json(text);
    if (!step.is_number_integer() || step < 0) fail("expected a step from 0, got {}", excerpt(format_json(step)));
    return step.get<std::int64_t>();
  });
  if (description.contains("heed.end_tokens")) {
    model.end_tokens = parsed("heed.end_tokens", [&](const std::string& text) {
      return read_end_tokens({{"eos_token_id", parse_json(text)}}, model.vocabulary.size());
    });
  } else if (!model.pretrained_config.empty()) {  // of a version without this entry
    model.end_tokens = parsed("heed.pretrained", [&](const std::string& text) {
      return read_end_tokens(parse_json(text), model.vocabulary.size());
    });
  }
  for (const char* name : kept_file_names) {
    const auto found = description.find(fmt::format("heed.{}", name));
    if (found != description.end() && can_be_kept(name, found->second)) model.kept_files[name] = found->second;
  }
  config = parsed("heed.model",
                  [&](const std::string& text) { return model_config(parse_json(text), model.vocabulary.size()); });
  return model;
}

// Returns the model of a run that train or RunWriter wrote to a directory, or else the path itself.
std::filesystem::path file_of(const std::filesystem::path& path) {
  const std::filesystem::path file = path / "model.safetensors";
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(file, unreadable)) return path;
  return SafeTensorsFile(file).metadata().contains("heed.model") ? file : path;
}

[[noreturn]] void refuse_directory(const std::filesystem::path& path) {
  const std::vector<std::string> models = models_in(path);
  fail("{}: is a directory without a model: expected config.json, or model.safetensors of a run{}", path.string(),
       models.empty() ? "" : fmt::format("; open one of its models: {}", listed(models, ", ", 5)));
}

double elements_of(const Shape& shape) { return static_cast<double>(shape.numel()); }

// Throws Error when the tensors of the file have fewer elements than the model.
void check_elements(const ModelConfig& config, double elements, const std::string& file) {
  try {
    check_size(config, elements);
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
}

}  // namespace

Model described_model(const Description& description, const std::string& source) {
  ModelConfig config;
  Model model = without_network(description, source, config);
  model.build(Scope(model.parameters, 0, DType::float32, Values::none), config);
  return model;
}

ModelConfig pretrained_config(const Model& model, const std::string& source) {
  const PretrainedConfig read = read_pretrained_config(model.pretrained_config, source);
  ModelConfig config =
      (read.transformer.causal ? language_model : masked_language_model)(read.transformer, read.logits);
  config.activation = read.head_activation;
  config.transform_bias = read.head_bias;
  return config;
}

std::string tokenizer_name(const std::filesystem::path& path) {
  const Format* const format = pretrained_at(path).format;
  return (format ? *format : formats().front()).tokenizer;
}

Model read_description(const std::filesystem::path& path) {
  if (const Pretrained found = pretrained_at(path); found.format) return found.format->read(found.path, nullptr);
  const std::filesystem::path named = file_of(path);
  const std::string file = named.string();
  if (std::filesystem::is_directory(named)) refuse_directory(named);
  const SafeTensorsFile content(named);
  ModelConfig config;
  Model model = without_network(content.metadata(), file, config);
  double elements = 0;
  for (const StoredTensor& stored : content.tensors()) elements += elements_of(stored.shape);
  check_elements(config, elements, file);
  model.build(Scope(model.parameters, 0, DType::float32, Values::none), config);
  return model;
}

Model load_model(const std::filesystem::path& path, const Loading& loading) {
  if (loading.merged) return merged(load_model(path, {.mapped = loading.mapped, .progress = loading.progress}));
  if (const Pretrained found = pretrained_at(path); found.format) return found.format->read(found.path, &loading);
  const std::filesystem::path named = file_of(path);
  const std::string file = named.string();
  if (std::filesystem::is_directory(named)) refuse_directory(named);
  const SafeTensors content = read_safetensors(named);
  ModelConfig config;
  Model model = without_network(content.metadata, file, config);
  double elements = 0;
  for (const auto& [name, values] : content.tensors) elements += elements_of(values.shape());
  check_elements(config, elements, file);
  model.build(Scope(model.parameters, 0, DType::float32, Values::zeros), config);
  model.parameters.load(content.tensors, file);
  for (const auto& [name, parameter] : model.parameters) check_finite(name, parameter, file);
  return model;
}

std::int64_t saved_step(const std::filesystem::path& path) {
  try {
    return parse_json(SafeTensorsFile(file_of(path)).metadata().at("heed.step")).get<std::int64_t>();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace heed
