#include "formats/internal/config_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr int largest_size = 1 << 24;

template <class T>
concept Nested = requires(T& value) {
  T::for_each_field(value, [](auto&&...) {});
};

struct FieldWriter {
  Json& object;
  void operator()(const char* name, bool value) { object[name] = value; }
  void operator()(const char* name, const std::vector<std::string>& value) { object[name] = value; }
  void operator()(const char* name, const std::string& value) { object[name] = value; }
  template <HasNames E>
  void operator()(const char* name, E value) {
    object[name] = name_of(value);
  }
  template <class Number>
  void operator()(const char* name, Number value, Number) {
    object[name] = value;
  }
  template <class Number>
  void operator()(const char* name, const std::vector<Number>& values, Number) {
    object[name] = values;
  }
  template <Nested T>
  void operator()(const char* name, const T& value) {
    T::for_each_field(value, FieldWriter{object[name] = Json::object()});
  }
};

// Assigns the fields that `object` has and notes their names.
struct FieldReader {
  const Json& object;
  std::vector<std::string>& known;

  const Json* found(const char* name) {
    known.emplace_back(name);
    const auto entry = object.find(name);
    return entry == object.end() ? nullptr : &*entry;
  }
  void operator()(const char* name, int& value, int least) {
    const Json* given = found(name);
    if (!given) return;
    if (!given->is_number_integer() || *given < least || *given > largest_size) {
      fail("'{}' must be an integer from {} to {}, got {}", name, least, largest_size, format_json(*given));
    }
    value = *given;
  }
  void operator()(const char* name, double& value, double least) {
    const Json* given = found(name);
    if (!given) return;
    if (!given->is_number() || !(given->get<double>() >= least && std::isfinite(given->get<double>()))) {
      fail("'{}' must be a number from {} up, got {}", name, least, format_json(*given));
    }
    value = *given;
  }
  template <class Number>
  void operator()(const char* name, std::vector<Number>& values, Number least) {
    const Json* given = found(name);
    if (!given) return;
    if (!given->is_array()) fail("'{}' must be a list, got {}", name, format_json(*given));
    values.clear();
    for (const Json& element : *given) {
      std::vector<std::string> unused;
      FieldReader{{{name, element}}, unused}(name, values.emplace_back(), least);
    }
  }
  void operator()(const char* name, std::string& value) {
    const Json* given = found(name);
    if (!given) return;
    if (!given->is_string()) fail("'{}' must be a text, got {}", name, format_json(*given));
    value = *given;
  }
  void operator()(const char* name, std::vector<std::string>& value) {
    const Json* given = found(name);
    if (!given) return;
    const bool is_list = given->is_array() && std::ranges::all_of(*given, [](const Json& x) { return x.is_string(); });
    if (!is_list) fail("'{}' must be a list of names, got {}", name, format_json(*given));
    value = *given;
  }
  void operator()(const char* name, bool& value) {
    const Json* given = found(name);
    if (!given) return;
    if (!given->is_boolean()) fail("'{}' must be true or false, got {}", name, format_json(*given));
    value = *given;
  }
  template <HasNames E>
  void operator()(const char* name, E& value) {
    const Json* given = found(name);
    if (!given) return;
    const auto named = given->is_string() ? value_named<E>(given->get<std::string>()) : std::nullopt;
    if (!named) fail("'{}' must be one of {}, got {}", name, fmt::join(names_of<E>(), ", "), format_json(*given));
    value = *named;
  }
  template <Nested T>
  void operator()(const char* name, T& value) {
    if (const Json* given = found(name)) read(*given, name, value);
  }

  template <class T>
  static void read(const Json& object, const std::string& where, T& value, std::vector<std::string> known = {}) {
    if (!object.is_object()) fail("'{}' must be an object, got {}", where, format_json(object));
    T::for_each_field(value, FieldReader{object, known});
    for (const auto& [name, given] : object.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        fail("'{}': unknown field '{}'{}", where, name, did_you_mean(name, known));
      }
    }
  }
};

// Returns the description of a model of version 0.1 in today's form.
Json from_version_1(const Json& old) {
  const Json& a = old.at("attention");
  const auto value = [](const Json& object, const char* name, Json usual) { return object.value(name, usual); };
  const bool is_decoder = value(old, "predicts", "answer") == "next", chooses = value(old, "answer", "word") != "word";
  const bool is_rms = value(old, "norm", "layer") == "rms", has_output_bias = a.at("output_bias");
  const Json norm = {{"kind", is_rms ? "rms" : "layer"}, {"epsilon", is_rms ? 1e-6 : 1e-5}};
  Json attention = a;
  attention.erase("normalised_heads");
  attention["query_key_norm"] = value(a, "normalised_heads", "no") == "yes" ? "heads" : "none";
  Json transformer = {
      {"max_length", old.at("max_length")},
      {"segments", old.at("sentences")},
      {"layers", old.at("layers")},
      {"causal", is_decoder},
      {"embedding_scale", is_decoder ? 1.0 : std::sqrt(a.at("d_model").get<double>())},
      {"positions", old.at("positions")},
      {"block",
       {{"attention", attention},
        {"mlp",
         {{"width", old.at("mlp")}, {"activation", value(old, "activation", "gelu")}, {"bias", has_output_bias}}},
        {"norm", norm}}},
      {"last_residual", is_decoder}};
  if (chooses) {
    return {{"kind", name_of(HeadKind::candidate)},
            {"transformer", transformer},
            {"or_none", old.at("answer") == "candidate_or_none"}};
  }
  return {{"kind", name_of(is_decoder ? HeadKind::next_token : HeadKind::word)},
          {"transformer", transformer},
          {"logits", {{"tied", value(old, "logits", "tied") == "tied"}, {"bias", !is_decoder}}}};
}

// Gives an older description today's names: it named gated activations, and wrote a flag as "yes" or "no".
void rename_values(Json& description) {
  const Json::json_pointer activation("/transformer/block/mlp/activation"), residual("/transformer/last_residual");
  if (description.contains(residual) && description[residual].is_string()) {
    description[residual] = description[residual] == "yes";
  }
  if (!description.contains(activation) || !description[activation].is_string()) return;
  if (const auto gate = gate_named(description[activation].get<std::string>())) {
    description[activation] = name_of(*gate);
    description["/transformer/block/mlp/gated"_json_pointer] = true;
  }
}

}  // namespace

Json to_json(const ModelConfig& config) {
  Json object = {{"kind", name_of(config.head)}};
  ModelConfig::for_each_field(config, FieldWriter{object});
  if (config.adapter.layers.empty()) object.erase("adapter");
  return object;
}

ModelConfig model_config(const Json& description, int vocabulary) {
  if (!description.is_object()) fail("expected an object, got {}", format_json(description));
  Json json = description;
  rename_values(json);
  if (json.contains("kind")) {
    const Json& given = json.at("kind");
    const std::string kind = given.is_string() ? given.get<std::string>() : format_json(given);
    const auto head = value_named<HeadKind>(kind);
    if (!head) fail("'kind' must be one of {}, got '{}'", fmt::join(names_of<HeadKind>(), ", "), kind);
    ModelConfig config = ModelConfig::of(*head);
    FieldReader::read(json, kind, config, {"kind"});
    config.transformer.vocabulary = vocabulary;
    return config;
  }
  try {
    return model_config(from_version_1(json), vocabulary);
  } catch (const Json::exception& error) {
    fail("'kind' is missing, and it is not a description of version 0.1: {}", message_of(error));
  }
}

}  // namespace heed
