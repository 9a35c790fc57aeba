#include "formats/hugging_face/family.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heed {
namespace {

// Magnitude of cosines and sines that YaRN derives from its factor (Peng et al. 2023, arXiv:2309.00071, section 3.4).
double yarn_amplitude(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

// Returns the divisor of each pair's frequency (section 3.2): 1 for pairs that rotate more than `fast` times within
// `length`, `factor` for those that rotate less than `slow` times. Between them the frequencies are interpolated
// linearly.
std::vector<double> yarn_divisors(double base, int rotated, double factor, double length, double fast, double slow,
                                  bool truncated) {
  const auto pair_with_turns = [&](double turns) {
    return rotated * std::log(length / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
  };
  double low = pair_with_turns(fast), high = pair_with_turns(slow);
  if (truncated) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, rotated - 1.0);
  if (low == high) high += 0.001;
  std::vector<double> divisors;
  for (int pair = 0; pair < rotated / 2; ++pair) {
    const double ramp = std::clamp((pair - low) / (high - low), 0.0, 1.0);
    divisors.push_back(1 / (ramp / factor + 1 - ramp));
  }
  return divisors;
}

std::vector<double> numbers(ConfigReader& json, const std::string& key, std::size_t count) {
  std::vector<double> result;
  const Json* given = json.find(key);
  if (given && given->is_array()) {
    for (const Json& number : *given) {
      if (number.is_number() && number.get<double>() > 0) result.push_back(number);
    }
  }
  if (result.size() != count || (given && given->size() != count)) {
    json.note(fmt::format("'{}' must be a list of {} numbers above 0, one per rotated pair", key, count));
  }
  return result;
}

void read_fraction(ConfigReader& json, RotaryConfig& rotary, const RotaryKind& kind) {
  if (!kind.is_partial) json.expect("partial_rotary_factor", 1);
  if (kind.is_partial) rotary.fraction = json.positive("partial_rotary_factor", rotary.fraction);
}

// Reads one object: rope_scaling, rope_parameters, or an entry of it per kind of layer.
void read_scaling(ConfigReader& json, TransformerConfig& config, std::optional<int> original, const RotaryKind& kind) {
  RotaryConfig& rotary = config.rotary;
  std::string type = json.text("rope_type", json.text("type", "default"));
  if (type == "su" || (type == "yarn" && kind.yarn_is_longrope)) type = "longrope";
  rotary.base = json.positive("rope_theta", rotary.base);
  read_fraction(json, rotary, kind);
  json.ignore({"finetuned", "attn_factor"});  // transformers does not read them
  if (type == "default") {
    json.ignore({"factor", "original_max_position_embeddings", "attention_factor"});
    return;
  }
  const int d_k = config.block.attention.complete().d_k;
  const int rotated = 2 * static_cast<int>(rotary.fraction * d_k / 2);
  const auto length = [&] {
    return original ? *original : json.integer("original_max_position_embeddings", 1, config.max_length);
  };
  if (original) json.ignore({"original_max_position_embeddings"});
  if (type == "linear") {
    rotary.scaling = RotaryScaling::linear;
    json.ignore({"original_max_position_embeddings"});
    rotary.factor = json.positive("factor");
  } else if (type == "dynamic") {  // texts up to max_length keep their frequencies; heed reads no longer ones
    json.positive("factor");
    config.max_length = std::min(config.max_length, length());
  } else if (type == "llama3") {
    rotary.scaling = RotaryScaling::llama3;
    rotary.factor = json.positive("factor");
    rotary.low_frequency = json.positive("low_freq_factor");
    rotary.high_frequency = json.positive("high_freq_factor");
    rotary.original_length = length();
  } else if (type == "yarn") {
    if (kind.by_layer_type) json.expect("truncate", true);  // some versions of transformers ignore it in an entry
    const double factor = json.positive("factor", static_cast<double>(config.max_length) / length(), Null::missing);
    const double mscale = json.positive_or_none("mscale", 0), of_all = json.positive_or_none("mscale_all_dim", 0);
    const bool has_both = mscale > 0 && of_all > 0;
    rotary.amplitude = json.positive(
        "attention_factor",
        has_both ? yarn_amplitude(factor, mscale) / yarn_amplitude(factor, of_all) : yarn_amplitude(factor, 1),
        Null::missing);
    rotary.divisors =
        yarn_divisors(rotary.base, rotated, factor, length(), json.positive("beta_fast", 32, Null::missing),
                      json.positive("beta_slow", 1, Null::missing), json.flag("truncate", true));
  } else if (type == "longrope") {
    const int short_length = length();
    const double factor = json.positive("factor", static_cast<double>(config.max_length) / short_length, Null::missing);
    const double usual = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(short_length));
    rotary.amplitude = json.positive("attention_factor", usual, Null::missing);
    rotary.divisors = numbers(json, "short_factor", static_cast<std::size_t>(rotated) / 2);
    json.ignore({"long_factor", "short_mscale", "long_mscale"});
    config.max_length = std::min(config.max_length, short_length);  // beyond it all frequencies would change
  } else {
    json.note(fmt::format("rope_type must be one of default, linear, dynamic, yarn, longrope, llama3, got '{}'",
                          excerpt(type)));
  }
}

// The object `key` with the reader of its own.
template <class Read>
void read_object(ConfigReader& json, const std::string& key, const Json& object, Read read) {
  if (!object.is_object()) {
    json.note(fmt::format("'{}' must be an object, got {}", key, excerpt(format_json(object))));
    return;
  }
  ConfigReader inner(object, json.source());
  read(inner);
  json.absorb(key, inner);
}

}  // namespace

void read_rotary(ConfigReader& json, TransformerConfig& config, double default_base, const RotaryKind& kind) {
  config.positions = Positions::rotary;
  config.rotary.base = default_base;
  config.rotary.fraction = kind.fraction;
  if (kind.is_named_apart) {
    json.ignore({"rope_theta", "partial_rotary_factor"});
  } else {
    config.rotary.base = json.positive("rope_theta", default_base);
    read_fraction(json, config.rotary, kind);
  }
  std::optional<int> original = kind.original_length;
  if (json.has("original_max_position_embeddings", original ? Null::wrong : Null::missing)) {
    original = json.integer("original_max_position_embeddings", 1);
  }
  const auto scaling = [&](ConfigReader& inner) { read_scaling(inner, config, original, kind); };
  const Json* const older = json.find("rope_scaling");
  if (older) read_object(json, "rope_scaling", *older, scaling);
  if (older && !older->empty()) {
    json.ignore({"rope_parameters"});  // as transformers does
  } else if (const Json* given = json.find("rope_parameters")) {
    if (kind.by_layer_type && given->is_object()) {
      read_object(json, "rope_parameters", *given, [&](ConfigReader& kinds) {
        kinds.ignore({"full_attention"});
        if (!given->contains("full_attention")) return kinds.note("'full_attention' is missing");
        read_object(kinds, "full_attention", given->at("full_attention"), scaling);
        const Json* sliding = kinds.find("sliding_attention");
        if (!sliding) return;
        read_object(kinds, "sliding_attention", *sliding, [&](ConfigReader& inner) {
          inner.expect("rope_type", "default");
          inner.expect("partial_rotary_factor", 1.0);
          config.window_rotary_base = inner.positive("rope_theta", config.window_rotary_base);
        });
      });
    } else {
      read_object(json, "rope_parameters", *given, scaling);
    }
  }
  const double rotated = config.rotary.fraction * config.block.attention.complete().d_k;
  if (rotated > config.block.attention.complete().d_k || static_cast<int>(rotated) % 2 != 0 || rotated < 2) {
    json.note(fmt::format("an even number of features from 2 to head_dim must be rotated, got {}", rotated));
  }
}

}  // namespace heed
