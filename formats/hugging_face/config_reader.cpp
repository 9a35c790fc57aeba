#include "formats/hugging_face/config_reader.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr int largest_integer = 1 << 24;

// Keys that every model may have and that do not change what it computes: names, training, generation and ids of tokens.
const char* const harmless[] = {
    // names and files
    "antemplate", "architectures", "author", "auto_map", "cell", "created_date", "custom_pipelines", "generator_size",
    "id2label", "label2id", "language", "layers_to_keep", "license", "model_type", "name", "num_labels", "pre_trained",
    "sbert_ce_default_activation_function", "sentence_transformers", "structure", "tokenizer_class", "tokenizer_type",
    "training", "transformers_version", "transformers.js_config", "unsloth_fixed", "unsloth_version", "welcome",
    // of other families, which read them; transformers ignores them here
    "activation", "activation_function", "emb_size", "embed_dim", "embedding_size", "hidden_act", "intermediate_size",
    "n_ctx", "num_choices", "position_embedding_type", "scale_attn_weights", "sparse_prediction", "summary_activation",
    "summary_first_dropout", "summary_last_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
    "type_vocab_size", "use_unpad",
    // roles in a pair of encoder and decoder; a model with these parts is refused where it matters
    "add_cross_attention", "cross_attention_hidden_size", "is_decoder", "is_encoder_decoder", "tie_encoder_decoder",
    // how it is run
    "attn_implementation", "cache_implementation", "chunk_size_feed_forward", "dtype", "gradient_checkpointing",
    "output_attentions", "output_hidden_states", "output_past", "pretraining_tp", "pruned_heads", "return_dict",
    "torch_dtype", "torchscript", "use_bfloat16", "use_cache",
    // training
    "attention_dropout", "attention_probs_dropout_prob", "attn_pdrop", "classifier_dropout", "dropout", "embd_pdrop",
    "finetuning_task", "hidden_dropout", "hidden_dropout_prob", "initializer_cutoff_factor", "initializer_range",
    "n_special", "neftune_noise_alpha", "predict_special_tokens", "problem_type", "resid_pdrop", "tf_legacy_loss",
    // generation and ids of tokens
    "bad_words_ids", "badwordsids", "begin_suppress_tokens", "bos_token_id", "cls_token_id", "decoder_start_token_id",
    "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size", "eos_token_id",
    "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id", "length_penalty", "mask_token_id",
    "max_length", "max_new_tokens", "max_sequence_length", "min_length", "min_new_tokens", "model_max_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences", "output_scores", "pad_token_id",
    "prefix", "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "sep_token_id",
    "suppress_tokens", "task_specific_params", "temperature", "top_k", "top_p", "typical_p", "unk_token_id"};

// Keys of objects in Python that are not part of a configuration, such as _name_or_path, begin so; transformers computes with one.
bool is_private(const std::string& key) { return key.starts_with('_') && key != "_sliding_window_pattern"; }

}  // namespace

ConfigReader::ConfigReader(const std::string& text, const std::string& source)
    : ConfigReader(parse_json_of(source, text, deepest_config), source) {}

ConfigReader::ConfigReader(const Json& object, std::string source) : json_(object), source_(std::move(source)) {
  if (!json_.is_object()) fail("{}: expected an object, got {}", source_, excerpt(format_json(json_)));
  known_.insert(std::begin(harmless), std::end(harmless));
}

const Json* ConfigReader::find(const std::string& key) { return find(key, Null::missing); }

const Json* ConfigReader::find(const std::string& key, Null null) {
  known_.insert(key);
  return has(key, null) ? &json_.at(key) : nullptr;
}

int ConfigReader::integer(const std::string& key, int least, std::optional<int> fallback, Null null) {
  const Json* given = find(key, null);
  if (given && given->is_number_integer() && *given >= least && *given <= largest_integer) return *given;
  if (given) {
    note(fmt::format("'{}' must be an integer from {} to {}, got {}", key, least, largest_integer,
                     excerpt(format_json(*given))));
  } else if (!fallback) {
    note(fmt::format("'{}' is missing", key));
  }
  return fallback.value_or(std::max(least, 1));
}

double ConfigReader::positive(const std::string& key, std::optional<double> fallback, Null null) {
  const Json* given = find(key, null);
  if (given && given->is_number() && given->get<double>() > 0 && std::isfinite(given->get<double>())) return *given;
  if (given) {
    note(fmt::format("'{}' must be a number above 0, got {}", key, excerpt(format_json(*given))));
  } else if (!fallback) {
    note(fmt::format("'{}' is missing", key));
  }
  return fallback.value_or(1);
}

double ConfigReader::positive_or_none(const std::string& key, double otherwise) {
  if (find(key)) return positive(key);
  return has(key) ? 0 : otherwise;
}

bool ConfigReader::flag(const std::string& key, bool fallback) {
  const Json* given = find(key, Null::wrong);
  if (given && given->is_boolean()) return *given;
  if (given) note(fmt::format("'{}' must be true or false, got {}", key, excerpt(format_json(*given))));
  return fallback;
}

std::string ConfigReader::text(const std::string& key, const std::string& fallback) {
  const Json* given = find(key);
  if (given && given->is_string()) return *given;
  if (given) note(fmt::format("'{}' must be a string, got {}", key, excerpt(format_json(*given))));
  return fallback;
}

Activation ConfigReader::activation(const std::string& key, const std::string& fallback) {
  const bool is_null = has(key) && !find(key);
  const std::string name = is_null ? "" : text(key, fallback);
  std::vector<std::string> names;
  for (const ActivationFunction& function : activation_functions()) {
    for (const std::string_view known : function.in_config_json) {
      if (known == name) return function.activation;
      names.emplace_back(known);
    }
  }
  note(fmt::format("'{}' must be one of {}, got {}", key, fmt::join(names, ", "),
                   is_null ? "null" : fmt::format("'{}'", excerpt(name))));
  return Activation::gelu;
}

void ConfigReader::expect(const std::string& key, const Json& value) {
  const Json* given = find(key);
  if (!given || *given == value) return;
  note(fmt::format("'{}': heed supports only {}, got {}", key, format_json(value), excerpt(format_json(*given))));
}

void ConfigReader::expect_integer(const std::string& key, int value) {
  if (find(key) && integer(key, 1, value) != value) expect(key, value);
}

void ConfigReader::absorb(const std::string& key, const ConfigReader& inner) {
  for (const std::string& problem : inner.problems()) note(fmt::format("'{}': {}", key, problem));
}

std::vector<std::string> ConfigReader::problems() const {
  std::vector<std::string> problems = problems_;
  for (const auto& [key, value] : json_.items()) {
    if (known_.contains(key) || is_private(key) || value.is_null()) continue;
    const bool is_quantised = key == "quantization_config" || key == "quantization";
    problems.push_back(
        is_quantised
            ? fmt::format(
                  "'{}': heed does not read weights in this quantisation; use the original model or a GGUF file", key)
            : fmt::format(
                  "unknown key '{}': {}. heed cannot tell whether it changes the results; remove it if transformers "
                  "ignores it",
                  excerpt(key), excerpt(format_json(value))));
  }
  return problems;
}

void ConfigReader::refuse(const std::vector<std::string>& found) const {
  if (found.empty()) return;
  fail("{}: heed cannot compute this model as it is configured\n  {}", source_, listed(found, "\n  ", 10));
}

}  // namespace heed
