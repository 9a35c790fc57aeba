#include "formats/gguf/gguf_config.h"

#include <heed/files/utf8.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace heed {
namespace {

constexpr const char* llama3_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* tekken_words =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

class TokenizerValues {
 public:
  explicit TokenizerValues(const GgufFile& file) : file_(file) {}

  const LargeJson* find(const std::string& key) const {
    const auto found = file_.metadata().find("tokenizer.ggml." + key);
    return found == file_.metadata().end() ? nullptr : &found->second;
  }
  std::string text(const std::string& key) const { return file_.text("tokenizer.ggml." + key); }
  bool flag(const std::string& key, bool otherwise) const {
    const LargeJson* value = find(key);
    return value && value->is_boolean() ? value->get<bool>() : otherwise;
  }
  // Returns the list of a key, which has one value per token.
  const LargeJson& list(const std::string& key, bool (LargeJson::*is_of_kind)() const noexcept,
                        std::size_t count) const {
    const LargeJson* value = find(key);
    if (!value) wrong("'tokenizer.ggml.{}', a list, is missing", key);
    if (!value->is_array() || !std::ranges::all_of(*value, [&](const LargeJson& v) { return (v.*is_of_kind)(); })) {
      wrong("'tokenizer.ggml.{}' must be a list of {}", key,
            is_of_kind == &LargeJson::is_string ? "strings" : "numbers");
    }
    if (count > 0 && value->size() != count) {
      wrong("'tokenizer.ggml.{}' has {} for {}", key, counted(std::ssize(*value), "value"),
            counted(static_cast<std::int64_t>(count), "token"));
    }
    return *value;
  }
  // Returns the pre-tokenizer of all models of the architecture, for files of converters that did not write its name.
  std::string words_of_architecture() const {
    const std::string architecture = file_.text("general.architecture");
    if (architecture == "gpt2") return "gpt-2";
    if (architecture == "qwen2" || architecture == "qwen3") return "qwen2";
    wrong(
        "'tokenizer.ggml.pre' is missing, and models of the architecture '{}' cut words in different ways; convert the "
        "model with a newer llama.cpp",
        excerpt(architecture));
  }
  const LargeJson& tokens() const { return list("tokens", &LargeJson::is_string, 0); }

  template <class... T>
  [[noreturn]] void wrong(fmt::format_string<T...> format, T&&... values) const {
    fail("{}: {}", file_.path(), fmt::format(format, std::forward<T>(values)...));
  }

 private:
  const GgufFile& file_;
};

// Returns the kind of each token; null where the file does not say.
LargeJson kinds_of(const TokenizerValues& values, const LargeJson& tokens) {
  return values.find("token_type") ? values.list("token_type", &LargeJson::is_number_integer, tokens.size())
                                   : LargeJson();
}

int kind_of_token(const LargeJson& kinds, std::size_t id) { return kinds.is_array() ? kinds[id].get<int>() : 1; }

LargeJson added_tokens(const TokenizerValues& values, const LargeJson& tokens, bool with_unknown) {
  LargeJson result = LargeJson::array();
  const LargeJson kinds = kinds_of(values, tokens);
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const int kind = kind_of_token(kinds, id);
    const bool is_special = kind == control_token || (kind == unknown_token && with_unknown);
    if (!is_special && kind != user_defined_token) continue;
    result.push_back({{"id", id},
                      {"content", tokens[id]},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", is_special}});
  }
  return result;
}

// Returns the post-processor that adds tokens in front of a text and behind it; null without any.
LargeJson post_processor(const TokenizerValues& values, const LargeJson& tokens, bool begins, bool ends) {
  LargeJson single = LargeJson::array(), special = LargeJson::object();
  const auto add = [&](const char* key) {
    const LargeJson* id = values.find(key);
    if (!id || !id->is_number_unsigned() || id->get<std::uint64_t>() >= tokens.size()) {
      values.wrong("'tokenizer.ggml.{}' must be the id of a token", key);
    }
    const LargeJson& name = tokens[id->get<std::size_t>()];
    single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    special[name.get<std::string>()] = {
        {"id", name}, {"ids", LargeJson::array({*id})}, {"tokens", LargeJson::array({name})}};
  };
  if (begins) add("bos_token_id");
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (ends) add("eos_token_id");
  if (single.size() == 1) return {};
  return {
      {"type", "TemplateProcessing"}, {"single", single}, {"pair", LargeJson::array()}, {"special_tokens", special}};
}

// Returns the ids of all tokens, except those with which llama.cpp's converter fills up a vocabulary: "[PAD310]".
LargeJson vocabulary(const TokenizerValues& values, const LargeJson& tokens) {
  LargeJson result = LargeJson::object();
  const LargeJson kinds = kinds_of(values, tokens);
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const auto& name = tokens[id].get_ref<const std::string&>();
    if (kind_of_token(kinds, id) == unused_token && name == fmt::format("[PAD{}]", id)) continue;
    if (!result.emplace(name, id).second) values.wrong("token '{}' occurs twice", excerpt(name));
  }
  return result;
}

// Returns byte-level BPE.
LargeJson gpt2_tokenizer(const TokenizerValues& values) {
  const LargeJson& tokens = values.tokens();
  std::string words = values.find("pre") ? values.text("pre") : values.words_of_architecture();
  for (const char* other : {"llama3", "llama-v3", "falcon3", "pixtral"}) {
    if (words == other) words = "llama-bpe";  // llama.cpp cuts all of them in one way
  }
  const LargeJson pre_tokenizer = words_of_gguf(words);
  if (pre_tokenizer.is_null()) {
    values.wrong(
        "'tokenizer.ggml.pre' is '{}'; heed knows gpt-2, smollm, starcoder, llama-bpe, tekken, qwen2, "
        "deepseek-r1-qwen, deepseek-coder",
        excerpt(words));
  }
  const bool is_whole = words == "llama-bpe" || words == "tekken", is_qwen = words.find("qwen") != words.npos;
  return {
      {"added_tokens", added_tokens(values, tokens, false)},
      {"normalizer", is_qwen ? LargeJson{{"type", "NFC"}} : LargeJson()},
      {"pre_tokenizer", pre_tokenizer},
      {"post_processor",
       post_processor(values, tokens, values.flag("add_bos_token", is_whole), values.flag("add_eos_token", false))},
      {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}}},
      {"model",
       {{"type", "BPE"},
        {"ignore_merges", is_whole},
        {"vocab", vocabulary(values, tokens)},
        {"merges", values.list("merges", &LargeJson::is_string, 0)}}}};
}

// Returns the pairs of tokens that merge into another token, the best score first.
LargeJson merges_by_score(const LargeJson& tokens, const LargeJson& scores) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < tokens.size(); ++id) ids.emplace(tokens[id].get_ref<const std::string&>(), id);
  struct Merge {
    double score;
    std::size_t left, right;
  };
  std::vector<Merge> merges;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view token = tokens[id].get_ref<const std::string&>();
    for (std::size_t at = 1; at < std::min<std::size_t>(token.size(), 1000); ++at) {
      const auto left = ids.find(token.substr(0, at)), right = ids.find(token.substr(at));
      if (left != ids.end() && right != ids.end())
        merges.push_back({scores[id].get<double>(), left->second, right->second});
    }
  }
  std::ranges::stable_sort(merges, [&](const Merge& a, const Merge& b) { return a.score > b.score; });
  LargeJson result = LargeJson::array();
  for (const Merge& merge : merges) result.push_back(LargeJson::array({tokens[merge.left], tokens[merge.right]}));
  return result;
}

// Returns SentencePiece's BPE.
LargeJson llama_tokenizer(const TokenizerValues& values) {
  const LargeJson& tokens = values.tokens();
  const LargeJson& scores = values.list("scores", &LargeJson::is_number, tokens.size());
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (!std::isfinite(scores[id].get<double>()))
      values.wrong("'tokenizer.ggml.scores': that of token {} is not finite", id);
  }
  const auto replaced = [](const char* from, const char* to) {
    return LargeJson{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
  };
  LargeJson normalizer = replaced(" ", "\u2581"),
            decoders = LargeJson::array({replaced("\u2581", " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (values.flag("add_space_prefix", true)) {
    const LargeJson prefix{{"type", "Prepend"}, {"prepend", "\u2581"}};
    normalizer = {{"type", "Sequence"}, {"normalizers", LargeJson::array({prefix, normalizer})}};
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  LargeJson unknown;
  if (const LargeJson* id = values.find("unknown_token_id");
      id && id->is_number_unsigned() && id->get<std::uint64_t>() < tokens.size()) {
    unknown = tokens[id->get<std::size_t>()];
  }
  return {{"added_tokens", added_tokens(values, tokens, true)},
          {"normalizer", normalizer},
          {"post_processor",
           post_processor(values, tokens, values.flag("add_bos_token", true), values.flag("add_eos_token", false))},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", unknown},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", vocabulary(values, tokens)},
            {"merges", merges_by_score(tokens, scores)}}}};
}

}  // namespace

LargeJson words_of_gguf(const std::string& name) {
  const auto byte_level = [](bool with_words) {
    return LargeJson{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", with_words}};
  };
  const auto in_turn = [](std::initializer_list<LargeJson> parts) {
    return LargeJson{{"type", "Sequence"}, {"pretokenizers", std::vector<LargeJson>(parts)}};
  };
  const LargeJson single_digits{{"type", "Digits"}, {"individual_digits", true}};
  const auto split = [](const char* pattern) {
    return LargeJson{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  };
  if (name == "gpt-2") return byte_level(true);
  if (name == "smollm" || name == "starcoder") {
    return in_turn({single_digits, byte_level(true)});
  }
  if (name == "llama-bpe") return in_turn({split(llama3_words), byte_level(false)});
  if (name == "tekken") return in_turn({split(tekken_words), byte_level(false)});
  if (name == "qwen2" || name == "deepseek-r1-qwen") return in_turn({split(qwen2_words), byte_level(false)});
  if (name == "deepseek-coder") {
    return in_turn({split(R"([\r\n])"), split(R"(\s?\p{L}+)"), split(R"(\s?\p{P}+)"),
                    split(R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)"), single_digits,
                    byte_level(false)});
  }
  return {};
}

std::string tokenizer_of_gguf(const GgufFile& file) {
  const TokenizerValues values(file);
  if (!values.find("model")) return "";
  const std::string model = values.text("model");
  if (model == "no_vocab" || model == "none") return "";
  if (model != "gpt2" && model != "llama") {
    values.wrong("'tokenizer.ggml.model' is '{}'; heed reads gpt2 and llama", excerpt(model));
  }
  try {
    return (model == "gpt2" ? gpt2_tokenizer(values) : llama_tokenizer(values)).dump();
  } catch (const LargeJson::exception&) {
    values.wrong("a token is not UTF-8");
  }
}

}  // namespace heed
