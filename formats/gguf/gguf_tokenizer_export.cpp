#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_writer.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/pretrained_tokenizer.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace heed {
namespace {

template <class... T>
[[noreturn]] void refuse(fmt::format_string<T...> format, T&&... values) {
  fail("export: GGUF cannot express the tokenizer: {}", fmt::format(format, std::forward<T>(values)...));
}

LargeJson get(const LargeJson& object, const char* key) {
  return object.is_object() && object.contains(key) ? object.at(key) : LargeJson();
}

// Returns the parts of a pre-tokenizer one after the other, as texts that can be compared.
std::vector<std::string> steps_of(const LargeJson& json) {
  const LargeJson type = get(json, "type");
  std::vector<std::string> steps;
  if (type == "Sequence") {
    for (const LargeJson& part : get(json, "pretokenizers")) {
      for (std::string& step : steps_of(part)) steps.push_back(std::move(step));
    }
  } else if (type == "ByteLevel") {
    const bool has_prefix = get(json, "add_prefix_space") == true, has_words = get(json, "use_regex") != false;
    steps.push_back(fmt::format("bytes{}{}", has_words ? " of words" : "", has_prefix ? " behind a space" : ""));
  } else if (type == "Digits") {
    steps.push_back(get(json, "individual_digits") == true ? "single digits" : "numbers");
  } else if (type == "Split") {
    steps.push_back(fmt::format("split {} {} {}", format_json(get(json, "behavior")), format_json(get(json, "invert")),
                                format_json(get(json, "pattern"))));
  } else if (!json.is_null()) {
    steps.push_back(format_json(json));
  }
  return steps;
}

// Returns llama.cpp's name of a pre-tokenizer.
std::string name_of_words(const LargeJson& pre_tokenizer) {
  const std::vector<std::string> steps = steps_of(pre_tokenizer);
  for (const char* name : {"gpt-2", "smollm", "llama-bpe", "tekken", "qwen2", "deepseek-coder"}) {
    if (steps_of(words_of_gguf(name)) == steps) return name;
  }
  refuse("llama.cpp has no name for its pre-tokenizer {}", excerpt(format_json(pre_tokenizer)));
}

// Names, kinds and added tokens of a tokenizer.json by id.
struct Tokens {
  std::vector<std::string> names;
  std::vector<std::int32_t> kinds;
};

Tokens tokens_of(const LargeJson& json, int vocabulary) {
  Tokens tokens{{}, std::vector<std::int32_t>(static_cast<std::size_t>(vocabulary), unused_token)};
  for (int id = 0; id < vocabulary; ++id) tokens.names.push_back(fmt::format("[PAD{}]", id));
  const auto set = [&](const std::string& name, std::int64_t id, TokenKind kind) {
    if (id < 0 || id >= vocabulary) return;  // the model has no embedding for it
    tokens.names[static_cast<std::size_t>(id)] = name;
    tokens.kinds[static_cast<std::size_t>(id)] = kind;
  };
  const LargeJson model = get(json, "model");
  const bool has_bytes = get(model, "byte_fallback") == true;
  const LargeJson words = get(model, "vocab"), unknown_name = get(model, "unk_token");
  const auto unknown = unknown_name.is_string() ? std::optional(unknown_name.get<std::string>()) : std::nullopt;
  for (const auto& [name, id] : words.items()) {
    const bool is_byte = has_bytes && name.size() == 6 && name.starts_with("<0x") && name.ends_with('>');
    set(name, id.get<std::int64_t>(), is_byte ? byte_token : name == unknown ? unknown_token : normal_token);
  }
  for (const LargeJson& added : get(json, "added_tokens")) {
    const std::string name = added.at("content");
    for (const char* key : {"lstrip", "rstrip", "single_word"}) {
      if (get(added, key) == true) refuse("the token '{}' has '{}'", excerpt(name), key);
    }
    const bool is_unknown = has_bytes && name == unknown;
    set(name, added.at("id").get<std::int64_t>(),
        is_unknown                      ? unknown_token
        : get(added, "special") == true ? control_token
                                        : user_defined_token);
  }
  return tokens;
}

// Returns merges as texts of two tokens with a space between them.
std::vector<std::string> merges_of(const LargeJson& model) {
  std::vector<std::string> merges;
  for (const LargeJson& merge : get(model, "merges")) {
    merges.push_back(merge.is_string() ? merge.get<std::string>()
                                       : merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>());
  }
  return merges;
}

// Returns scores by which llama.cpp merges in the order of the merges: minus the rank of the first that makes a token.
std::vector<float> scores_of(const Tokens& tokens, const std::vector<std::string>& merges) {
  std::unordered_map<std::string, float> ranks;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    std::string whole = merges[rank];
    whole.erase(whole.find(' ', 1), 1);
    ranks.emplace(std::move(whole), -static_cast<float>(rank));
  }
  std::vector<float> scores;
  for (const std::string& name : tokens.names) {
    const auto found = ranks.find(name);
    scores.push_back(found == ranks.end() ? -1e9F : found->second);
  }
  return scores;
}

// Returns whether a tokenizer of SentencePiece puts a space before a text. Refuses other normalizers than heed reads from GGUF.
bool adds_space(const LargeJson& json) {
  const LargeJson normalizer = get(json, "normalizer"), words = get(json, "pre_tokenizer");
  const auto replaces = [](const LargeJson& part) {
    return get(part, "type") == "Replace" && get(get(part, "pattern"), "String") == " " &&
           get(part, "content") == "\u2581";
  };
  if (normalizer.is_null() && get(words, "type") == "Metaspace" && get(words, "replacement") == "\u2581") {
    const LargeJson scheme = get(words, "prepend_scheme");
    if (get(words, "split") != true && (scheme == "always" || scheme == "never")) return scheme == "always";
  } else if (words.is_null() && replaces(normalizer)) {
    return false;
  } else if (const LargeJson parts = get(normalizer, "normalizers"); words.is_null() && parts.size() == 2) {
    if (get(parts[0], "type") == "Prepend" && get(parts[0], "prepend") == "\u2581" && replaces(parts[1])) return true;
  }
  refuse("its normalizer is {} and its pre-tokenizer {}", excerpt(format_json(normalizer)),
         excerpt(format_json(words)));
}

}  // namespace

void write_tokenizer(GgufWriter& writer, const PretrainedTokenizer& tokenizer, int vocabulary,
                     const std::vector<std::int32_t>& end_tokens) {
  const LargeJson json = parse_large_json(tokenizer.json(), 64), model = get(json, "model");
  if (get(model, "type") != "BPE" && !get(model, "merges").is_array()) {
    refuse("it is {}, and llama.cpp's files of these models have BPE", format_json(get(model, "type")));
  }
  const bool is_sentence_piece = get(model, "byte_fallback") == true;
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const LargeJson value = get(model, key);
    if (!value.is_null() && value != "") refuse("its model has '{}'", key);
  }
  const Tokens tokens = tokens_of(json, vocabulary);
  const std::vector<std::string> merges = merges_of(model);
  const auto key = [](const char* name) { return std::string("tokenizer.ggml.") + name; };
  writer.text(key("model"), is_sentence_piece ? "llama" : "gpt2");
  if (is_sentence_piece) {
    writer.text(key("pre"), "default");
    writer.flag(key("add_space_prefix"), adds_space(json));
  } else {
    const std::string words = name_of_words(get(json, "pre_tokenizer"));
    const bool is_whole = words == "llama-bpe" || words == "tekken";
    if ((get(model, "ignore_merges") == true) != is_whole)
      refuse("its 'ignore_merges' is {} with the words of {}", !is_whole, words);
    const LargeJson normalizer = get(json, "normalizer");
    if (words == "qwen2" ? get(normalizer, "type") != "NFC" : !normalizer.is_null()) {
      refuse("its normalizer is {} with the words of {}", excerpt(format_json(normalizer)), words);
    }
    writer.text(key("pre"), words);
  }
  writer.texts(key("tokens"), tokens.names);
  writer.numbers(key("token_type"), tokens.kinds);
  if (is_sentence_piece) {
    writer.reals(key("scores"), scores_of(tokens, merges));
  } else {
    writer.texts(key("merges"), merges);
  }

  const std::vector<int>&before = tokenizer.before(), &behind = tokenizer.behind();
  const std::optional<int> begin = before.empty() ? tokenizer.special().bos : before[0];
  const bool ends_differ = !behind.empty() && (end_tokens.empty() || behind[0] != end_tokens[0]);
  if (before.size() > 1 || behind.size() > 1 || ends_differ) {
    refuse("its template adds other tokens than one before a text and the end token behind it");
  }
  constexpr std::array<const char*, 3> end_keys{"eos_token_id", "eot_token_id", "eom_token_id"};
  if (end_tokens.size() > end_keys.size())
    refuse("the model has {} end tokens, and GGUF has keys for 3", end_tokens.size());
  if (begin) writer.number(key("bos_token_id"), *begin);
  for (std::size_t i = 0; i < end_tokens.size(); ++i) writer.number(key(end_keys[i]), end_tokens[i]);
  if (const auto unknown = tokenizer.special().unk) writer.number(key("unknown_token_id"), *unknown);
  if (const auto pad = tokenizer.special().pad) writer.number(key("padding_token_id"), *pad);
  writer.flag(key("add_bos_token"), !before.empty());
  writer.flag(key("add_eos_token"), !behind.empty());
}

}  // namespace heed
